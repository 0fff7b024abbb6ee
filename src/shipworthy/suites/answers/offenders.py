"""Offenders: the worst items first, each with what was asked, said, cited and expected, and the one reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...contracts import Gold, ids_of
from .judge import Verdict

SEVERITY = {
    name: rank
    for rank, name in enumerate(
        ("leak", "constraint", "out-of-scope", "wrong-citation", "containment", "over-refusal", "empty", "missing")
    )
}

_WORDS = {
    "leak": "answered although it should have refused",
    "constraint": "a locked constraint was broken",
    "out-of-scope": "cites something that was not retrieved",
    "wrong-citation": "cites none of the gold evidence",
    "containment": "the claim has none of the gold substrings",
    "over-refusal": "refused although it is answerable",
    "empty": "there is no claim",
    "missing": "there is no trace",
}


def worst(verdicts: Iterable[Verdict], most: int | None = None) -> list[Verdict]:
    """Failing verdicts, most severe first, ties by qid."""
    failing = [verdict for verdict in verdicts if verdict.reason]
    failing.sort(key=lambda verdict: (SEVERITY[verdict.reason], verdict.qid))
    return failing if most is None else failing[:most]


def offenders(verdicts: Iterable[Verdict], gold: Mapping[str, Gold], most: int) -> list[dict[str, Any]]:
    return [offender(verdict, gold[verdict.qid]) for verdict in worst(verdicts, most)]


def offender(verdict: Verdict, gold: Gold) -> dict[str, Any]:
    answer = verdict.trace.answer if verdict.trace else None
    return {
        "qid": verdict.qid,
        "reason": verdict.reason,
        "says": says(verdict),
        "question": gold.question or (verdict.trace.asked if verdict.trace else ""),
        "claim": answer.claim if answer else None,
        "citations": ids_of(answer.citations) if answer else [],
        "retrieved_ids": verdict.trace.retrieved if verdict.trace else [],
        "gold_rank": verdict.any_rank,
        "gold_claim_substr": gold.substrings,
        "gold_citations": gold.citations,
        "constraints": gold.constraints,
        "evidence": _evidence(verdict),
    }


def _evidence(verdict: Verdict) -> list[dict[str, str]]:
    """What the answerer was shown, where the trace says so."""
    shown = verdict.trace.evidence if verdict.trace else None
    return [{"id": block.id, "text": block.text} for block in shown or ()]


def says(verdict: Verdict) -> str:
    """The one reason in words, with what is particular to the item."""
    if verdict.status == "error":
        return f"the run failed: {verdict.why}"
    words = _WORDS.get(verdict.reason, "")
    return f"{words} ({verdict.why})" if verdict.reason == "constraint" and verdict.why else words
