"""Drafts: candidates for a gold set from what an export says about right answers. A person completes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .assemble import Assembled
from .spans import ExpectedAnswer, RelevantDocument

LONGEST = 8  # words of a reference that can still be a substring that answers contain


class Drafts(msgspec.Struct):
    """Gold candidates by qid. `answerable` is never guessed: a missing reference does not mean unanswerable."""

    items: dict[str, dict[str, Any]] = {}

    def add(self, assembled: Assembled) -> None:
        qid, question = assembled.trace["qid"], assembled.trace.get("q", "")
        if not qid:
            return
        item = self.items.setdefault(qid, {"qid": qid, "question": question, "answerable": None})
        if assembled.expected is not None:
            _describe(item, assembled.expected)
        if material := material_of(assembled.trace):
            item |= {"provenance": "trace", "draft": material}

    def ask(self, qid: str, question: str) -> None:
        self.items.setdefault(qid, {"qid": qid, "question": question, "answerable": None})["question"] = question

    def judge(self, judgement: RelevantDocument, question: str) -> None:
        qid = judgement.qid
        item = self.items.setdefault(qid, {"qid": qid, "question": question, "answerable": None})
        if judgement.grade > 0 and judgement.id not in item.setdefault("relevant", []):
            item["relevant"].append(judgement.id)

    @property
    def unfinished(self) -> int:
        """Items that still need a substring."""
        return sum("gold_claim_substr" not in item and item["answerable"] is not False for item in self.items.values())

    @property
    def undecided(self) -> int:
        return sum(item["answerable"] is None for item in self.items.values())


def material_of(trace: Mapping[str, Any]) -> dict[str, Any]:
    """What a reviewer needs besides the question: what was retrieved, what the system said, and what it cited."""
    answer = trace.get("answer_json") or {}
    blocks = trace.get("topk") or trace.get("retrieved_ids") or ()
    retrieved = [
        {"id": one} if isinstance(one, str) else {"id": one["id"], "text": one.get("text") or ""} for one in blocks
    ]
    texts = {one["id"]: one.get("text", "") for one in trace.get("evidence") or ()}
    for one in retrieved:
        one["text"] = one.get("text") or texts.get(one["id"], "")
    found = {
        "answer": answer.get("claim"),
        "cited": [one if isinstance(one, str) else one["id"] for one in answer.get("citations") or ()],
        "retrieved": retrieved,
    }
    return {name: value for name, value in found.items() if value}


def _describe(item: dict[str, Any], expected: ExpectedAnswer) -> None:
    notes = [item["notes"]] if item.get("notes") else []
    substrings = list(expected.substrings)
    if not substrings and expected.reference:
        if len(expected.reference.split()) <= LONGEST:
            substrings = [expected.reference]
        else:
            notes.append(f"needs a substring; reference: {expected.reference}")
    notes += [note for note in expected.notes if note not in notes]
    if substrings:
        item["gold_claim_substr"] = substrings
        if expected.match and (expected.match != "all" or len(substrings) > 1):
            item["match"] = expected.match
    if expected.answerable is not None:
        item["answerable"] = expected.answerable
    if expected.forbidden:
        item["forbidden"] = expected.forbidden
    if expected.citations:
        item["gold_citations"] = expected.citations
    if notes:
        item["notes"] = "; ".join(dict.fromkeys(notes))
