"""HTML: one file without network or framework, complete without its script, that says why and shows it."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from ..._version import __version__
from ...core.decision import Decision
from ...core.gates import Outcome
from ...core.metrics import Measure
from ...reading.reports import row_name
from ...text import inert, visible
from .. import svg, views, words
from ..json import digest_of
from .cards import BUDGET, Card, anchor, failing_cards
from .items import NO_ROWS, STATIC, STATIC_CARDS, ItemRows, against, embedded, item_name, item_rows, reasons_of
from .pictures import blocks, explaining, trends
from .rich import Grid, long
from .rich import parts as rich_parts
from .tables import Block, Table, TableCell, figure, spoken

if TYPE_CHECKING:
    from jinja2 import Environment, Template


_ORDER = {"NO-SHIP": 0, "NO VERDICT": 0, "MEASURED": 2, "SHIP": 3}  # failing suites first
_MARKS = {"good": "✓", "bad": "✗", "odd": "?", "dim": "="}


class MetricName(NamedTuple):
    """A metric, its plain name and what it counts."""

    anchor: str
    name: str
    definition: str
    plainly: str  # the definition behind the name in plain words


class GateView(NamedTuple):
    """A gate as the page shows it."""

    mark: str
    mood: str
    state: str
    doubt: str  # why a gate is not certain, and what would prove it
    term: MetricName
    text: str
    severity: str
    value: str
    counts: str
    interval: str
    waived: str
    svg: str
    link: str = ""  # to the gate over time, where there is such a page


class FindingView(NamedTuple):
    """What stops the release, in a sentence; the items behind it and those closest to passing."""

    text: str
    link: str  # the filter that shows its items
    near: list[tuple[str, str]]  # name and link


class SuiteView(NamedTuple):
    """A decision with everything that the page shows of it."""

    decision: Decision
    prefix: str
    mood: str
    held: tuple[int, int]
    worst: str
    findings: list[FindingView]
    gates: list[GateView]
    terms: list[MetricName]
    cards: list[Card]
    failing: int
    shown: list[Block]  # the picture of what fails
    blocks: list[Block]  # everything else
    others: list[GateView]  # gates for information
    measures: Table | None
    rows: ItemRows
    problems: list[str]
    facts: list[tuple[str, str]]


class Room(NamedTuple):
    """How much of a report a page shows, and what it links to."""

    rows: bool = True  # the table of the questions that have no card, and the glossary
    blocks: bool = True  # pictures and tables of what only this suite has
    texts: int = 0  # bytes of cards in the page; 0: a number of them, and all others as data for its script
    item: Callable[[str], str] = lambda name: ""  # the address of a question over time
    gate: Callable[[str], str] = lambda key: ""  # that of a gate
    notes: str = ""  # HTML below the verdict


WHOLE = Room()


class Content(NamedTuple):
    """A report without the page around it."""

    html: str
    data: str  # for the script, as JSON
    parts: Mapping[str, Any]  # what the page around it may name


def render(shown: views.Shown) -> str:
    """A decision or a board as one self-contained page."""
    style, script = source("style.css"), source("script.js")
    made = content(shown)
    return _template("page.html.j2").render(
        made.parts,
        content=made.html,
        data=made.data,
        style=style,
        script=script,
        version=__version__,
        policy=policy_of(style=style, script=script),
        digest=digest_of(shown),
    )


def content(shown: views.Shown, room: Room = WHOLE) -> Content:
    """What a page says of a decision or a board; files and pages of a history have the same."""
    board = None if isinstance(shown, Decision) else shown
    decisions = sorted(views.decisions(shown), key=lambda decision: _ORDER.get(decision.verdict, 1))
    deciding = {_measured(one) for decision in decisions for one in decision.outcomes if one.gate.severity != "info"}
    suites = [_suite(one, f"{one.suite}-" if board else "", len(decisions), room, deciding) for one in decisions]
    failing = views.in_one_list(((suite.decision, suite.cards) for suite in suites), name=lambda card: card.name)
    cards = [card for _, card in failing]
    static = _fitting(cards, room.texts) if room.texts else STATIC_CARDS
    reasons = reasons_of(decisions)
    parts = {
        "shown": shown,
        "board": board,
        "suites": suites,
        "cards": cards,
        "trends": trends(board) if board else [],
    }
    html = _template("content.html.j2").render(
        parts,
        failing_count=sum(suite.failing for suite in suites if suite.cards),
        static=STATIC,
        static_cards=static,
        size=STATIC_CARDS,
        build=views.build(shown.run),
        links=views.links(shown.run),
        mood=views.style(shown.verdict),
        word=views.word,
        failed=views.failed,
        scope=views.scope(board) if board else "",
        marks=_MARKS,
        visible=visible,
        reasons=reasons,
        several=views.several(shown),
        questions=[str(one) for one in views.questions(shown)],
        notes=room.notes,
        others=cards[static:] if room.texts else [],
        figure=figure,
        long=long,
        parts=rich_parts,
    )
    rest = [] if room.texts else cards[static:]
    data = embedded(((suite.prefix, suite.decision, suite.rows) for suite in suites), rest, reasons)
    return Content(html, data, parts)


def _fitting(cards: Sequence[Card], room: int) -> int:
    """How many of them fit."""
    for place, card in enumerate(cards):
        room -= 600 + len(escape(str(tuple(card))).encode("utf-8", "replace"))
        if room < 0:
            return place
    return len(cards)


def _measured(outcome: Outcome) -> tuple[str, object]:
    return outcome.gate.key, outcome.measure.value


def _suite(decision: Decision, prefix: str, share: int, room: Room, told: Collection[tuple[str, object]]) -> SuiteView:
    """What the page shows of a decision; a gate for information that says what another one decides is left out."""
    shown = failing_cards(decision, prefix, share, room.texts or BUDGET, room.item)
    rows = item_rows(decision, prefix, shown) if room.rows else NO_ROWS
    drawn = blocks(decision) if room.blocks else []
    first = explaining(drawn, decision) if decision.exit_code else []
    ordered = views.worst_first(decision.outcomes)
    deciding = [one for one in ordered if one.gate.severity != "info"] or ordered
    return SuiteView(
        decision,
        prefix,
        views.style(decision.verdict),
        views.gates_held(decision),
        words.in_short(decision),
        _findings(decision, prefix, bool(shown)),
        [_gate(outcome, prefix, room) for outcome in deciding],
        [_term(one, prefix) for one in decision.measures.values() if one.words.definition] if room.rows else [],
        shown,
        max(views.failing_count(decision), len(shown)),
        first,
        [block for block in drawn if block not in first],
        [_gate(one, prefix, room) for one in ordered if one not in deciding and _measured(one) not in told],
        _measures(decision),
        rows,
        [visible(line, 2000) for line in views.problems(decision)],
        _facts(decision),
    )


def _findings(decision: Decision, prefix: str, has_cards: bool) -> list[FindingView]:
    stopping = views.stopping(decision)
    counted = against(decision)
    wanted = {name for outcome in stopping for name in words.near(decision, outcome)}
    near_rows = (item for item in decision.items if row_name(item) in wanted) if wanted else ()
    links = {row_name(item): f"#{anchor(item_name(item), prefix)}" for item in near_rows}
    found = []
    for outcome in stopping:
        metric = outcome.gate.metric
        chosen = {"suite": visible(decision.suite, 60)} if prefix else {}
        chosen |= {"reason": f"gate:{metric}"} if metric in counted else {}
        chosen |= {"slice": outcome.gate.slice} if outcome.gate.slice else {}
        link = "#view-offenders" + (f"?{urlencode(chosen)}" if chosen else "") if has_cards else ""
        near = [(visible(name, 60), links[name]) for name in words.near(decision, outcome) if name in links]
        found.append(FindingView(visible(words.finding(outcome), 2000), link, near))
    first, others = (
        [FindingView(reason, "", []) for reason in reasons]
        for reasons in (words.first_reasons(decision), words.other_reasons(decision))
    )
    return [*first, *found, *others]


def _term(measure: Measure, prefix: str, has_glossary: bool = True) -> MetricName:
    slug = re.sub(r"[^\w-]", "_", measure.name, flags=re.ASCII)
    anchor_name = f"term-{prefix}{slug}" if measure.words.definition and has_glossary else ""
    return MetricName(anchor_name, visible(measure.name, 120), words.definition(measure), words.described(measure))


def _gate(outcome: Outcome, prefix: str, room: Room) -> GateView:
    mark = "w" if outcome.waived else views.MARKS[outcome.state]
    severity = "" if outcome.gate.severity == "block" else outcome.gate.severity
    return GateView(
        mark,
        views.mood(outcome),
        *_state(outcome),
        _term(outcome.measure, prefix, room.rows),
        words.gate_text(outcome),
        severity,
        views.value(outcome),
        views.counts(outcome.measure),
        views.interval(outcome.measure),
        visible(outcome.waived, 500),
        svg.gate_bar(outcome),
        room.gate(outcome.gate.key),
    )


def _state(outcome: Outcome) -> tuple[str, str]:
    """The state in a word or two, and the doubt that goes with it."""
    word, _, doubt = words.state(outcome).partition(" (")
    return word, doubt.removesuffix(")")


def _measures(decision: Decision) -> Table | None:
    """Every metric that has no gate, and why where it is undefined."""
    gated = {outcome.gate.metric for outcome in decision.outcomes if not outcome.gate.slice}
    rows = []
    for name, measure in decision.measures.items():
        if name in gated or (measure.kind == "count" and not measure.value):
            continue
        note = f"n/a: {measure.missing}" if measure.value is None else words.definition(measure)
        rows.append(
            [
                TableCell(visible(words.plain_name(measure))),
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


def policy_of(**own: str) -> str:
    """Nothing from anywhere, and only our own style and script, known by their digests."""
    hashes = {name: b64encode(hashlib.sha256(text.encode()).digest()).decode() for name, text in own.items()}
    allowed = "".join(f"{name}-src 'sha256-{known}'; " for name, known in hashes.items())
    return f"default-src 'none'; {allowed}img-src data:; base-uri 'none'; form-action 'none'"


def _inert(value: object) -> object:
    """Text of the page as it would stand in a CI log: the same to a browser, no command to the CI system."""
    from markupsafe import Markup, escape

    if type(value) is not str or ("::" not in value and "##" not in value):
        return value
    return Markup(inert(str(escape(value)), "&#58;", "&#35;"))  # escaped just before


@cache
def source(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8").strip()


@cache
def environment() -> Environment:
    """The settings of every page: whatever is not ours is escaped."""
    from jinja2 import Environment, StrictUndefined

    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_inert
    )
    made.tests["grid"] = lambda part: isinstance(part, Grid)
    return made


@cache
def _template(name: str) -> Template:
    return environment().from_string(source(name))
