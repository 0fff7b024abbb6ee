"""Cases: a board as tests, one a gate and one an item, each passed, failed, in error or excused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..core.gates import Outcome, sentence
from ..reading.reports import reason_of
from ..text import visible
from . import views, words

_TEXT = 4000  # characters of one claim or question
_FIRST = {
    "question": "question",
    "claim": "answer",
    "says": "what is wrong",
    "gold_claim_substr": "expected",
    "citations": "cited",
    "gold_citations": "expected evidence",
}
_LEFT_OUT = ("qid", "status")  # the case's name; how an answer is counted reads like a verdict
MOST_NAME = 200  # characters of a case's name


class ReportedCase(msgspec.Struct, frozen=True):
    """One test: `kind` is empty where it passes, else failure, error or skipped."""

    suite: str
    group: str  # gates, items
    name: str
    kind: str = ""
    message: str = ""
    text: str = ""
    sort: str = ""  # what kind of failure


def cases(shown: views.Shown) -> Iterator[ReportedCase]:
    """Every gate and every item of every suite; what could not be run is an error.

    Whoever runs them as tests fails exactly where the decision does not ship.
    """
    listed = [case for decision in views.decisions(shown) for case in (*gate_cases(decision), *item_cases(decision))]
    if isinstance(shown, Board):
        listed += [
            ReportedCase(name, "gates", "run", "error", views.failed(name), why) for name, why in shown.failures.items()
        ]
    yield from listed
    if shown.exit_code and not any(case.kind in ("failure", "error") for case in listed):
        for decision in views.decisions(shown):
            if decision.exit_code:
                reasons = "\n".join(views.reasons(decision))
                yield ReportedCase(decision.suite, "gates", "verdict", "error", decision.verdict, reasons)


def gate_cases(decision: Decision) -> Iterator[ReportedCase]:
    for outcome in decision.outcomes:
        kind = gate_kind(outcome)
        told = words.finding(outcome) if kind else sentence(outcome)
        text = "\n".join(filter(None, (told, words.state(outcome), words.described(outcome.measure), _bounds(outcome))))
        if kind == "skipped":
            excuse = f"waived: {outcome.waived}" if outcome.waived else outcome.gate.severity
            told = told if outcome.state == "NOT-APPLICABLE" else f"{excuse}: {told}"
        yield ReportedCase(decision.suite, "gates", str(outcome.gate), kind, told, text, outcome.state)


def gate_kind(outcome: Outcome) -> str:
    """What stops the release is a failure, what could not be judged an error, what is excused is skipped."""
    if outcome.state == "NOT-APPLICABLE":
        return "skipped"
    if outcome.holds:
        return ""
    if outcome.waived or outcome.gate.severity != "block":
        return "skipped"
    return "error" if outcome.state == "NO-DATA" else "failure"


def _bounds(outcome: Outcome) -> str:
    interval = views.interval(outcome.measure)
    return f"95 % interval {interval}" if interval else ""


def item_cases(decision: Decision) -> Iterator[ReportedCase]:
    """Every item. Failing ones of a decision that stops nothing are skipped, so that no reader stops either."""
    told = views.cards_by_name(decision)
    for item in decision.items:
        name = views.name_of(item)
        if not decision.display.passes(item):
            yield item_case(decision, item, told.get(name, {}))
        else:
            yield ReportedCase(decision.suite, "items", name)


def item_case(decision: Decision, item: Row, offender: Row) -> ReportedCase:
    """A failing item, with everything that is known about it: question and answer first."""
    facts = {key: value for key, value in {**item, **offender}.items() if value not in (None, "", [], {})}
    reason = reason_of(facts) or "fails"
    message = str(facts.get("says") or reason)
    since = views.since(decision, views.name_of(item))
    message = f"{since}: {message}" if since else message
    named = {label: facts[key] for key, label in _FIRST.items() if key in facts}
    told = offender or item  # a row has the same as marks, which say less
    rest = {key: facts[key] for key in told if key in facts and key not in _FIRST and key not in _LEFT_OUT}
    lines = {**named, **({"failing": since} if since else {}), **rest}
    text = "\n".join(f"{key}: {_value(value)}" for key, value in lines.items())
    broken = item.get("status") in ("missing", "error")
    kind = "skipped" if decision.exit_code == 0 else "error" if broken else "failure"
    message = f"within the gates: {message}" if decision.ships else message
    return ReportedCase(decision.suite, "items", views.name_of(item), kind, message, text, reason)


def _value(value: object) -> str:
    text = " | ".join(map(_part, value)) if isinstance(value, list) else _part(value)
    return views.legible(text, _TEXT)


def _part(value: object) -> str:
    """A text, or a mapping such as a block of evidence: `d1: the text of it`."""
    if isinstance(value, Mapping):
        pairs = [("", value["text"])] if set(value) == {"id", "text"} else list(value.items())
        named = f"{value['id']}: " if set(value) == {"id", "text"} else ""
        return named + ", ".join(f"{key}: {part}" if key else str(part) for key, part in pairs)
    return str(value)


def name_of(case: ReportedCase) -> str:
    return visible(case.name, MOST_NAME)
