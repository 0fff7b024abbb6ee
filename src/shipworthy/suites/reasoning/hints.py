"""Diagnosis: which way to look, from the gates that failed and the kinds of failure behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shipworthy.gates import Outcome
from shipworthy.metrics import Measure, decimal
from shipworthy.suites.reasoning.judge import Judged
from shipworthy.tally import Tally
from shipworthy.text import plural

_DIMENSIONS = {
    "actionability": "Answers say little that can be done: ask for a next step with an owner and a time, taken from the "
    "evidence.",
    "factual_grounding": "Values stand without the source that says them, or beside the wrong one: ask for a citation "
    "behind each value.",
    "contradiction_handling": "Where sources disagree the answers take no side or the wrong one: ask which source holds, "
    "and which is out of date.",
    "usefulness": "Answers miss the values that were asked for, or bury them: look at what retrieval hands over, and at "
    "the length.",
}  # fmt: skip


def diagnose(outcomes: Iterable[Outcome], measures: Mapping[str, Measure], tally: Tally, judged: Judged) -> list[str]:
    failed = {outcome.gate.metric for outcome in outcomes if not outcome.met and outcome.state != "NO-DATA"}
    hints = [words for name, words in _DIMENSIONS.items() if name in failed]
    if "answer_overlap" in failed and (overlap := measures["answer_overlap"].value) is not None:
        hints.append(
            f"The answers are a template: any two share {decimal(overlap)} of their runs of five words on average."
        )
    return hints + _kinds(judged, tally) + _refusals(tally, failed) + _errors(judged, tally)


def _kinds(judged: Judged, tally: Tally) -> list[str]:
    kinds = [kind for verdict in judged.verdicts for kind in verdict.hard_failures]
    among = f"of {plural(tally['items'], 'case')}"
    words = {
        "fabrication": "cite, quote or tag what the evidence does not have: the reasoner makes sources up.",
        "misbound": "give a value as another source's word, or deny it with its own source in hand.",
        "misattributed": "cite a source for a number that stands in another one: values are exchanged, or citations are.",
        "turned": "deny what the evidence says, or exchange who and what in it.",
        "invented": "have a number that neither the evidence nor the question has, nor a sum of theirs.",
        "forbidden": "affirm what the case forbids: the older or weaker source won.",
        "evidence_dump": "hand the evidence on unread.",
    }
    return [f"{kinds.count(kind)} {among} {says}" for kind, says in words.items() if kind in kinds]


def _refusals(tally: Tally, failed: set[str]) -> list[str]:
    hints = []
    if tally["under_refused"]:
        hints.append(f"{tally['under_refused']} of {plural(tally['unanswerable'], 'unanswerable case')} got an answer: "
                     "the reasoner does not say when its notes are silent.")  # fmt: skip
    if tally["over_refused"] and (failed or 5 * tally["over_refused"] > tally["answerable"]):
        hints.append(f"{tally['over_refused']} of {plural(tally['answerable'], 'answerable case')} were refused: the "
                     "evidence is not found, or the refusal rule is too strict.")  # fmt: skip
    return hints


def _errors(judged: Judged, tally: Tally) -> list[str]:
    if not tally["error"]:
        return []
    first = min((v for v in judged.verdicts if v.status == "error"), key=lambda verdict: verdict.case_id)
    why = judged.answer(first.case_id).what_came
    return [f"{tally['error']} of {plural(tally['items'], 'case')} ended in an error, such as {first.case_id}: {why}."]
