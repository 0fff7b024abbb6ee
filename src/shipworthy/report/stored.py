"""Stored: a decision as its JSON report tells it, so that a recorded run is shown as it was on its day.

A report may come from an earlier version, or from anybody who may upload: whatever has not the shape that it should
have is left out. What was worked out when the run was judged is taken from the report and not worked out again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from ..core.decision import EXIT, Decision, Display
from ..core.evidence import Row
from ..core.gates import Gate, Outcome, as_written, sentence
from ..core.metrics import Measure, Words
from ..errors import ShipworthyError
from ..glossary import find_term
from ..reading.reports import exact_value, reason_of
from ..suites import display_of
from ..text import visible
from . import views

MOST = 100  # gates, and sentences of one kind
LONGEST = 400  # characters of a sentence
_LARGEST = 10**15  # a number beyond it is none that a metric has
# What a report says besides its headline, which comes before the metrics, and its sections, which come after them.
_OWN = {
    *("shipworthy", "decision", "exit_code", "pass", "partial", "reasons", "incomplete", "metrics", "outcomes"),
    *("slices", "counts", "named", "diagnosis", "offenders", "options", "inputs", "compat", "warnings", "items"),
    *("digest", "run"),
}
_ON_CARDS = ("qid", "reason", "also", "question", "claim", "citations", "retrieved_ids")
_REDACTED = ("qid", "reason", "also", "question")


class _Offender(msgspec.Struct):
    """The parts of a failing item that a card reads."""

    qid: str
    reason: str = ""
    also: str = ""
    question: str | None = None
    claim: str | None = None
    citations: list[str] = []
    retrieved_ids: list[str] = []
    gold_rank: int | None = None
    gold_claim_substr: list[str] = []
    gold_citations: list[str] = []
    gold_found: dict[str, Literal["found", "denied", "unclear", "elsewhere", "inside", "missing"]] = {}
    constraints: list[str] = []
    evidence: list[dict[str, Any]] = []


class _StoredOutcome(Outcome, frozen=True):
    """A gate with what would prove it as it was worked out then."""

    stored: tuple[int | None, int | None] = (None, None)

    @property
    def more(self) -> tuple[int | None, int | None]:
        return self.stored


def decision_of(report: Mapping[str, Any], run: Mapping[str, Any], *, redact: bool = False) -> Decision:
    """The decision of one suite. `run` is what is known of its build; with `redact` no answer is in it."""
    head = _mapping(report, "shipworthy")
    name, display = str(head.get("suite", "")), display_of(report)
    measures = {str(key): _measure(str(key), one, name) for key, one in _measures(report, "metrics")}
    slices = {
        visible(str(part), 120): {str(key): _measure(str(key), one, name) for key, one in _measures(found, "")}
        for part, found in list(_mapping(report, "slices").items())[:MOST]
        if isinstance(found, Mapping)
    }
    rows = _rows(report, "outcomes")[:MOST]
    outcomes = [(row, found) for row in rows if (found := _outcome(row, measures, slices, name))]
    others = {str(key): value for key, value in report.items() if key not in _OWN}
    before = set(list(report)[: list(report).index("metrics")]) if "metrics" in report else set()
    items = _rows(report, "items")
    verdict = str(report.get("decision"))
    return Decision(
        suite=visible(name, 60),
        profile=str(head.get("profile", "")),
        verdict=verdict if verdict in EXIT else "NO VERDICT",
        reasons=_as_now(_texts(report, "reasons"), outcomes),
        outcomes=[outcome for _, outcome in outcomes],
        measures=measures,
        slices=slices,
        counts={"items": len(items)},
        named={
            key: list(map(str, names)) for key, names in _mapping(report, "named").items() if isinstance(names, list)
        },
        diagnosis=_texts(report, "diagnosis"),
        cards=_cards(_rows(report, "offenders"), items, display, redact),
        items=items,
        sections={
            key: _turns(value) if key == "turns" else value
            for key, value in others.items()
            if key not in before and (not redact or key in ("turns", *display.pictures))
        },
        headline={key: value for key, value in others.items() if key in before},
        options={visible(str(key), 60): value for key, value in _mapping(report, "options").items()},
        inputs={key: found for key, found in _mapping(report, "inputs").items() if isinstance(found, dict)},
        warnings=_texts(report, "warnings"),
        incomplete=_texts(report, "incomplete"),
        partial=report.get("partial") is True,
        run=dict(run),
        display=display,
    )


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _rows(report: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = report.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _texts(report: Mapping[str, Any], name: str) -> list[str]:
    found = report.get(name)
    return [visible(str(one), LONGEST) for one in found[:20]] if isinstance(found, list) else []


def _measures(report: Mapping[str, Any], name: str) -> list[tuple[str, Mapping[str, Any]]]:
    found = _mapping(report, name) if name else report
    return [(key, one) for key, one in list(found.items())[:MOST] if isinstance(one, Mapping)]


def _measure(name: str, told: Mapping[str, Any], suite: str) -> Measure:
    value = exact_value(told) if told.get("value") is not None else None
    value = value if value is not None and abs(value) < _LARGEST else None
    kind, n, k = str(told.get("kind", "")), _count(told.get("n")), None
    if kind == "rate":
        k = told.get("numerator")
        if not isinstance(k, int) or not 0 <= k <= n:
            kind, k = "coefficient", None
    elif kind == "count" and value is not None:
        k = int(value)
    unit = visible(str(told.get("unit", "")), 20)
    return Measure(
        name,
        kind,
        value,
        n,
        k,
        _edges(told.get("interval95")),
        _bounds(told.get("bounds95")),
        unit=f" {unit}" if unit else "",
        missing=visible(str(told.get("undefined", "")), LONGEST),
        better=str(told.get("better", "")),
        words=_words(name, suite),
    )


def _words(name: str, suite: str) -> Words:
    found = find_term(name, suite)
    return found.words if found else Words()


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < _LARGEST else 0


def _edges(value: object) -> tuple[float, float] | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    numbers = [one for one in value if isinstance(one, (int, float)) and math.isfinite(one) and abs(one) < _LARGEST]
    return (float(numbers[0]), float(numbers[1])) if len(numbers) == 2 else None


def _bounds(value: object) -> tuple[float | None, float | None]:
    low, high = value if isinstance(value, list) and len(value) == 2 else (None, None)
    return tuple(float(one) if isinstance(one, (int, float)) else None for one in (low, high))  # type: ignore[return-value]


def _outcome(
    row: Row, measures: Mapping[str, Measure], slices: Mapping[str, Mapping[str, Measure]], suite: str
) -> _StoredOutcome | None:
    severity, unproven = str(row.get("severity", "block")), str(row.get("on_unproven", "pass"))
    try:
        gate = Gate.parse(
            str(row.get("gate", "")),
            severity=severity if severity in ("block", "warn", "info") else "block",
            on_unproven=unproven if unproven in ("pass", "fail") else "pass",
        )
    except (ShipworthyError, ValueError):
        return None  # of a version whose gates were written otherwise
    state = str(row.get("state"))
    if gate.op not in (">=", "<=") or state not in views.MARKS:
        return None
    known = slices.get(visible(gate.slice, 120), {}) if gate.slice else measures
    measure = known.get(gate.metric) or _measure(gate.metric, {"kind": "coefficient", **row}, suite)
    bound = gate.bound.against(None)
    if bound is None and (written := as_written(row.get("bound"))) is not None:
        bound = written if abs(written) < _LARGEST else None
    if bound is None or measure.value is None:
        state = state if state in ("NO-DATA", "NOT-APPLICABLE") else "NO-DATA"
    turn = row.get("turn")
    return _StoredOutcome(
        gate,
        measure,
        state,  # type: ignore[arg-type]  # one of the states, as was just asked
        bound,
        turn if isinstance(turn, int) and 0 < turn < _LARGEST else None,
        visible(str(row.get("waived") or ""), LONGEST),
        visible(str(row.get("capped") or ""), LONGEST),
        stored=tuple(_count(row.get(name)) or None for name in ("more_best", "more_at_rate")),  # type: ignore[arg-type]
    )


def _as_now(reasons: Sequence[str], outcomes: Sequence[tuple[Row, Outcome]]) -> list[str]:
    """The reasons with a gate's sentence as this version says it, so that none is said twice."""
    told = [(visible(str(row.get("says") or ""), LONGEST), sentence(outcome)) for row, outcome in outcomes]
    found = []
    for reason in reasons:
        said, now = next((pair for pair in told if pair[0] and reason.startswith(pair[0])), ("", ""))
        found.append(now + reason.removeprefix(said))
    return found


def _turns(value: object) -> list[dict[str, Any]]:
    """Which items are closest to passing a gate."""
    found = value if isinstance(value, list) else []
    return [one for one in found if isinstance(one, dict) and "gate" in one and isinstance(one.get("nearest"), list)]


def _cards(offenders: Sequence[Row], items: Sequence[Row], display: Display, redact: bool) -> list[Row]:
    """Every failing item: those that the report has in detail, then the others as their rows tell them."""
    found = [_card(one, display, _REDACTED if redact else ()) for one in offenders if _is_offender(one)]
    told = {card["qid"] for card in found}
    rows = ((views.name_of(row), row) for row in items if not display.passes(row))
    only = _REDACTED if redact else _ON_CARDS
    return [*found, *(_card({**row, "qid": name}, display, only) for name, row in rows if name not in told)]


def _card(row: Row, display: Display, only: Sequence[str]) -> Row:
    """A failing item; with `only`, no more of it than these parts and what its reason means."""
    reason = visible(reason_of(row), 60)
    card: Row = {**row, "reason": reason}
    if not only:
        return card
    if not _is_offender(card):
        card = {key: str(value) for key, value in card.items() if key in ("qid", "reason", "question", "claim")}
    words = display.reasons.get(reason)
    return {key: card[key] for key in only if key in card} | {"says": words.definition if words else ""}


def _is_offender(row: Row) -> bool:
    try:
        msgspec.convert(row, _Offender)
    except msgspec.ValidationError:
        return False
    return True
