"""Compare: two runs side by side as one page. Gates, metrics, and the answers of the questions that changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..._version import __version__
from ...core.gates import short_state
from ...history.items import side_by_side
from ...reading.reports import Passing, reason_of, row_name
from ...suites import SUITES, load_suite, passing_rule
from ...text import visible
from .. import views
from . import environment, policy_of, source
from .cards import anchor
from .tables import figure

MOST = 200  # questions of one kind
_TEXT = 8000  # characters of an answer
_MOODS = {"regressed": "bad", "improved": "good", "inconclusive": "odd"}
_KINDS = {
    "lost": "Passed before, fail now",
    "gained": "Failed before, pass now",
    "absent": "In BASE but not in HEAD",
    "new": "Only in HEAD",
}


class SideView(NamedTuple):
    """One question in one of the runs."""

    passed: str  # in a word; blank where the run does not have it
    reason: str
    words: list[tuple[str, str]]  # same, gone or come, and the text


class PairView(NamedTuple):
    """A question in both runs."""

    anchor: str
    name: str
    question: str
    sides: list[SideView]


class RunView(NamedTuple):
    """A run as the head of a column: what it is called, its verdict, and what is known of its build."""

    title: str
    verdict: str
    build: list[tuple[str, str, str]]  # what, value, address


def render(comparison: Mapping[str, Any], reports: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """The comparison as plain values, the two reports, and what they are called."""
    base, head = reports
    style = source("style.css")
    wanted = {name for kind in _KINDS for name in comparison[kind][:MOST]}
    rows = [_rows(report, wanted) for report in (base, head)]
    rules = [passing_rule(report) for report in (base, head)]
    known = str(comparison["suite"])
    reasons = load_suite(known).display.reasons if known in SUITES else {}
    groups = [
        (kind, title, len(comparison[kind]), [_pair(name, rows, rules) for name in comparison[kind][:MOST]])
        for kind, title in _KINDS.items()
        if comparison[kind]
    ]
    return (
        environment()
        .from_string(source("compare.html.j2"))
        .render(
            comparison=comparison,
            mood=_MOODS.get(comparison["verdict"], "dim"),
            runs=[_run(name, report) for name, report in zip(names, (base, head), strict=True)],
            gates=_gates(base, head),
            changes=[one for one in comparison["changes"] if one["old"] != one["new"] or one["lost"] or one["gained"]],
            moods=_MOODS,
            groups=groups,
            most=MOST,
            style=style,
            policy=policy_of(style=style),
            version=__version__,
            visible=visible,
            reasons={name: words.title(name) for name, words in reasons.items()},
        )
    )


def _run(name: str, report: Mapping[str, Any]) -> RunView:
    links = views.links(report.get("run"))
    shown = [(what, text[:60], links.get(what, "")) for what, text in views.build(report.get("run"))]
    return RunView(visible(name, 120), visible(str(report.get("decision", "")), 40), shown)


def _gates(base: Mapping[str, Any], head: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Each gate with its value and state before and now; those whose state changed first."""
    sides = [{str(one.get("gate")): one for one in report.get("outcomes", ())} for report in (base, head)]
    found = []
    for gate in dict.fromkeys(name for side in reversed(sides) for name in side):
        cells = []
        for outcome in (side.get(gate, {}) for side in sides):
            tone = "" if not outcome else "good" if outcome.get("holds") else "bad"
            value = outcome.get("value")
            shown = figure(round(value, 3) if isinstance(value, float) else value)
            cells.append((visible(short_state(str(outcome.get("state", "–"))), 40), shown, tone))
        found.append((visible(gate, 120), cells))
    return sorted(found, key=lambda one: (one[1][0][2] == one[1][1][2], one[1][1][2] != "bad"))


def _rows(report: Mapping[str, Any], wanted: set[str]) -> dict[str, Mapping[str, Any]]:
    items: Iterable[Mapping[str, Any]] = report.get("items") or ()
    return {name: row for row in items if (name := row_name(row)) in wanted}


def _pair(name: str, rows: Sequence[Mapping[str, Mapping[str, Any]]], rules: Sequence[Passing]) -> PairView:
    found = [side.get(name) for side in rows]
    old, new = (visible(str((row or {}).get("claim") or ""), _TEXT) for row in found)
    sides = [
        SideView(*_state(row, passes), words)
        for row, passes, words in zip(found, rules, side_by_side(old, new), strict=True)
    ]
    question = next((str(row["question"]) for row in reversed(found) if row and row.get("question")), "")
    return PairView(anchor(name), visible(name, 120), visible(question, 2000), sides)


def _state(row: Mapping[str, Any] | None, passes: Passing) -> tuple[str, str]:
    """Whether it passed, in words, and why not."""
    if row is None or passes(row):
        return ("not in this run" if row is None else "passed"), ""
    return "failed", visible(reason_of(row), 120)
