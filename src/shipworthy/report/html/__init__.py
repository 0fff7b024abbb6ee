"""HTML: one file without network or framework, complete without its script, that says why and shows it."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from ..._version import __version__
from ...core.board import Board
from ...core.decision import Decision
from ...core.gates import Outcome, certainty
from ...text import inert, visible
from .. import svg, views
from .cards import STATIC, Card, ItemRows, embedded, item_rows, offender_cards
from .highlight import long
from .pictures import blocks
from .tables import Block, Table, TableCell, figure, spoken
from .trends import trends

if TYPE_CHECKING:
    from jinja2 import Template


_MARKS = {"good": "✓", "bad": "✗", "odd": "?", "dim": "="}


class GateView(NamedTuple):
    """A gate as the page shows it."""

    mark: str
    mood: str
    state: str
    text: str
    severity: str
    value: str
    counts: str
    interval: str
    sure: str
    waived: str
    svg: str


class SuiteView(NamedTuple):
    """A decision with everything that the page shows of it."""

    decision: Decision
    prefix: str
    mood: str
    held: tuple[int, int]
    worst: str
    reasons: list[str]
    turning: list[str]
    gates: list[GateView]
    cards: list[Card]
    failing: int
    blocks: list[Block]
    measures: Table | None
    rows: ItemRows
    problems: list[str]
    facts: list[tuple[str, str]]


def render(shown: views.Shown) -> str:
    """A decision or a board as one self-contained page."""
    alone = isinstance(shown, Decision)
    suites = [_suite(decision, "" if alone else f"{decision.suite}-") for decision in views.decisions(shown)]
    style, script = _source("style.css"), _source("script.js")
    board = None if alone else shown
    return _template().render(
        shown=shown,
        board=board,
        suites=suites,
        style=style,
        script=script,
        static=STATIC,
        version=__version__,
        policy=_policy(style, script),
        mood=views.style(shown.verdict),
        word=views.word,
        failed=views.failed,
        scope=views.scope(board) if isinstance(board, Board) else "",
        marks=_MARKS,
        trends=trends(board) if isinstance(board, Board) else [],
        digest=shown.report()["digest"],
        data=embedded((suite.prefix, suite.rows, suite.cards) for suite in suites),
        visible=visible,
        figure=figure,
        long=long,
    )


def _suite(decision: Decision, prefix: str) -> SuiteView:
    shown = offender_cards(decision, prefix)
    rows = item_rows(decision, prefix)
    return SuiteView(
        decision,
        prefix,
        views.style(decision.verdict),
        views.gates_held(decision),
        views.worst_gate(decision),
        views.reasons(decision),
        views.turning(decision) if not decision.ships else [],
        [_gate(outcome) for outcome in decision.outcomes],
        shown,
        max(rows.failing, len(shown)),
        blocks(decision),
        _measures(decision),
        rows,
        [visible(line, 2000) for line in views.problems(decision)],
        _facts(decision),
    )


def _gate(outcome: Outcome) -> GateView:
    mark = "w" if outcome.waived else views.MARKS[outcome.state]
    severity = "" if outcome.gate.severity == "block" else outcome.gate.severity
    return GateView(
        mark,
        views.mood(outcome),
        outcome.state,
        visible(str(outcome.gate), 200),
        severity,
        views.value(outcome),
        views.counts(outcome.measure),
        views.interval(outcome.measure),
        visible(certainty(outcome)),
        visible(outcome.waived, 500),
        svg.gate_bar(outcome),
    )


def _measures(decision: Decision) -> Table | None:
    """Every metric that has no gate, and why where it is undefined."""
    gated = {outcome.gate.metric for outcome in decision.outcomes if not outcome.gate.slice}
    rows = []
    for name, measure in decision.measures.items():
        if name in gated or (measure.kind == "count" and not measure.value):
            continue
        note = f"undefined: {measure.missing}" if measure.value is None else ""
        rows.append(
            [
                TableCell(visible(name)),
                TableCell(views.number(measure)),
                TableCell(views.counts(measure)),
                TableCell(views.interval(measure)),
                TableCell(visible(note)),
            ]
        )
    return Table("Also measured", ["metric", "value", "counts", "95 % interval", ""], rows) if rows else None


def _facts(decision: Decision) -> list[tuple[str, str]]:
    """What the decision was based on."""
    read = [
        (
            f"{spoken(name)} sha256",
            f"{source.get('sha256') or 'not a file'} ({figure(source.get('records'))} records, "
            f"{figure(source.get('bad'))} bad)",
        )
        for name, source in decision.inputs.items()
    ]
    paths = [(spoken(name), figure(value)) for name, value in decision.run.items() if isinstance(value, str) and value]
    options = [(spoken(name), figure(value)) for name, value in decision.options.items()]
    named = [(spoken(name), figure(value)) for name, value in decision.named.items()]
    return [("profile", visible(decision.profile)), *paths, *read, *options, *named]


def _policy(style: str, script: str) -> str:
    """Nothing from anywhere, and only our own style and script, known by their digests."""
    hashes = {
        name: b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for name, text in (("style", style), ("script", script))
    }
    return (
        f"default-src 'none'; style-src 'sha256-{hashes['style']}'; script-src 'sha256-{hashes['script']}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _inert(value: object) -> object:
    """Text of the page as it would stand in a CI log: the same to a browser, no command to the CI system."""
    from markupsafe import Markup, escape

    if type(value) is not str or ("::" not in value and "##" not in value):
        return value
    return Markup(inert(str(escape(value)), "&#58;", "&#35;"))  # escaped just before


@cache
def _source(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8").strip()


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_inert
    )
    return environment.from_string(_source("page.html.j2"))
