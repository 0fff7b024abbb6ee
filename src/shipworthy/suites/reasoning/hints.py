"""Diagnosis: which way to look, from the gates that failed and the kinds of failure behind them."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.evidence import Row
from ...core.metrics import decimal
from ...core.suite import Findings
from ...core.tally import Tally
from ...text import plural
from .metrics import failure
from .verdict import what_came

_DIMENSIONS = {
    "actionability": "Answers say little that can be done: ask for a next step with an owner and a time, taken from "
    "the evidence.",
    "factual_grounding": "Values stand without the source that says them, or beside the wrong one: ask for a citation "
    "behind each value.",
    "contradiction_handling": "Where sources disagree the answers take no side or the wrong one: ask which source "
    "holds, and which is out of date.",
    "usefulness": "Answers miss the values that were asked for, or bury them: look at what retrieval hands over, and "
    "at the length.",
}
_KINDS = {
    "fabrication": "cite, quote or tag what the evidence does not have: the reasoner makes sources up.",
    "misbound": "give a value as another source's word, or deny it with its own source in hand.",
    "misattributed": "cite a source for a number that stands in another one: values are exchanged, or citations are.",
    "turned": "deny what the evidence says, or exchange who and what in it.",
    "invented": "have a number that neither the evidence nor the question has, nor a sum of theirs.",
    "forbidden": "affirm what the case forbids: the older or weaker source won.",
    "evidence_dump": "hand the evidence on unread.",
}


def diagnose(findings: Findings, results: Iterable[Row]) -> list[str]:
    """Hints from the gates that failed; `results` are in the order of their ids."""
    tally, overlap = findings.tally, findings.measures["answer_overlap"].value
    failed = {outcome.gate.metric for outcome in findings.outcomes if not outcome.met and outcome.state != "NO-DATA"}
    hints = [words for name, words in _DIMENSIONS.items() if name in failed]
    if "answer_overlap" in failed and overlap is not None:
        hints.append(
            f"The answers are a template: any two share {decimal(overlap)} of their runs of five words on average."
        )
    return hints + _kinds(tally) + _refusals(tally, failed) + _errors(tally, results)


def _kinds(tally: Tally) -> list[str]:
    among = f"of {plural(tally['items'], 'case')}"
    counts = {kind: tally[failure(kind)] for kind in _KINDS}
    return [f"{count} {among} {_KINDS[kind]}" for kind, count in counts.items() if count]


def _refusals(tally: Tally, failed: set[str]) -> list[str]:
    hints = []
    if tally["under_refused"]:
        hints.append(
            f"{tally['under_refused']} of {plural(tally['unanswerable'], 'unanswerable case')} got an answer: "
            "the reasoner does not say when its notes are silent."
        )
    if tally["over_refused"] and (failed or 5 * tally["over_refused"] > tally["answerable"]):
        hints.append(
            f"{tally['over_refused']} of {plural(tally['answerable'], 'answerable case')} were refused: the "
            "evidence is not found, or the refusal rule is too strict."
        )
    return hints


def _errors(tally: Tally, results: Iterable[Row]) -> list[str]:
    first = next((result for result in results if result["status"] == "error"), None)
    if first is None:
        return []
    why = what_came(first["error"], first["seen"])
    return [f"{tally['error']} of {plural(tally['items'], 'case')} ended in an error, such as {first['id']}: {why}."]
