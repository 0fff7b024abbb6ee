"""The terminal board: the finding first, failing gates, items to fix, where to look; the verdict again at the end."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import IO, NamedTuple, TextIO

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..core.gates import Outcome, state_in_words
from ..core.metrics import Measure, decimal
from ..glossary import find_term
from ..text import inert, plural, visible
from . import views

BAR = 24
_LONGEST = 2000  # characters of one remark
# counts that stand below the first line
_SCOPE = ("shipped", "refused", "empty", "missing", "error", "raters", "ratings", "rated_once")
_STYLES = {
    "SHIP": "1;32",
    "NO-SHIP": "1;31",
    "NO VERDICT": "1;33",
    "MEASURED": "1",
    "good": "32",
    "bad": "31",
    "odd": "33",
    "dim": "2",
    "bold": "1",
}
_COLOUR = re.compile(rf"(\x1b\[(?:0|{'|'.join(_STYLES.values())})m)")
_MARKS = {
    "PASS": ("✓", "good"),
    "PASS-BUT-UNPROVEN": ("✓", "good"),
    "FAIL": ("✗", "bad"),
    "FAIL-BUT-CLOSE": ("✗", "bad"),
    "NO-DATA": ("?", "odd"),
    "NOT-APPLICABLE": ("–", "dim"),
}


class Layout(NamedTuple):
    """How the board is laid out: its styles, its width, and whether passing gates and definitions are shown."""

    paint: Paint
    width: int
    verbose: bool = False


def render(shown: Decision | Board, colour: bool = False, width: int = 100, verbose: bool = False) -> str:
    """A decision or a board as text."""
    layout = Layout(Paint(colour), width, verbose)
    lines = _suites(shown, layout) if isinstance(shown, Board) else _whole(shown, layout)
    return inert("\n".join(_line(line, colour) for line in lines)) + "\n"


def _line(text: str, colour: bool) -> str:
    """One line, whatever stands in it: only the colours that were asked for are obeyed."""
    if not colour:
        return visible(text)
    return "".join(part if _COLOUR.fullmatch(part) else visible(part) for part in _COLOUR.split(text))


def for_stream(shown: Decision | Board, stream: TextIO, verbose: bool = False) -> str:
    """The text as the stream wants it: coloured or not, as wide as the terminal."""
    return render(shown, wants_colour(stream), _width() if stream.isatty() else 100, verbose)


def _width() -> int:
    """As wide as the terminal, within what reads well."""
    from shutil import get_terminal_size  # only for people: a pipe starts sooner without it

    return max(min(get_terminal_size((100, 24)).columns, 120), 60)


def wants_colour(stream: IO[str]) -> bool:
    """Colour for people: NO_COLOR switches it off, FORCE_COLOR on, else a terminal decides."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


class Paint:
    """Styles, or nothing where there is no colour."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colour and text else text


# --- several suites ---


def _suites(board: Board, layout: Layout) -> Iterator[str]:
    """The finding, one line a suite, then the details of those that do not ship; the verdict again at the end."""
    yield from _headline(board.verdict, _finding(board), layout)
    yield ""
    names = [*(decision.suite for decision in board.decisions), *board.failures]
    size = max((len(name) for name in names), default=0)
    for decision in sorted(board.decisions, key=lambda decision: decision.ships):
        yield from _suite(decision, size, layout)
    for suite, why in board.failures.items():
        yield from _row("NO VERDICT", views.failed(suite), suite.ljust(size), visible(why, _LONGEST), layout)
    yield from _list("Notes", board.notes, layout)
    for decision in board.decisions:
        if layout.verbose or not decision.ships:
            yield ""
            yield layout.paint("dim", "─" * layout.width)
            yield from _board(decision, layout)
    yield ""
    yield from _headline(board.verdict, views.scope(board), layout)


def _finding(board: Board) -> str:
    """What stops the board, in words: the first reason of the first suite that stops it."""
    stopping = [decision for decision in board.decisions if decision.verdict == board.verdict]
    if board.verdict == "SHIP" or not stopping:
        return views.scope(board)
    reasons = stopping[0].reasons or [views.worst_gate(stopping[0])]
    return f"{stopping[0].suite}: {visible(reasons[0], _LONGEST)}; {views.scope(board)}"


def _suite(decision: Decision, size: int, layout: Layout) -> Iterator[str]:
    held, among = views.gates_held(decision)
    name = f"{decision.suite.ljust(size)}  {held}/{among} gates"
    worst = views.worst_gate(decision)
    if len(name) + len(worst) + 16 > layout.width:
        worst = views.worst_gate(decision, brief=True)
    yield from _row(decision.verdict, views.word(decision.verdict), name, worst, layout)


def _row(verdict: str, word: str, name: str, rest: str, layout: Layout) -> Iterator[str]:
    """One line, or several where the terminal is narrow."""
    head = f"  {layout.paint(verdict, word.ljust(10))}  {layout.paint('bold', name)}"
    taken = 14 + len(name) + 2
    if taken + len(rest) <= layout.width:
        yield f"{head}  {rest}"
    else:
        yield head
        yield from _wrapped(rest, " " * 14, layout.width)


# --- one suite ---


def _whole(decision: Decision, layout: Layout) -> Iterator[str]:
    yield from _board(decision, layout)
    yield ""
    yield from _headline(decision.verdict, _summary(decision), layout)


def _summary(decision: Decision) -> str:
    held, among = views.gates_held(decision)
    gates = f"{held} of {plural(among, 'gate')} pass{'es' if among == 1 else ''}" if among else "no gate applies"
    return f"{decision.suite}: {gates if decision.outcomes else 'no gate was set'}"


def _headline(verdict: str, finding: str, layout: Layout) -> Iterator[str]:
    """The verdict with its finding beside it, and below where it is long."""
    indent = " " * (len(verdict) + 2)
    first, *more = _wrapped(finding, indent, layout.width)
    yield f"{layout.paint(verdict, verdict)}  {first[len(indent) :]}".rstrip()
    yield from more


def _board(decision: Decision, layout: Layout) -> Iterator[str]:
    paint, width = layout.paint, layout.width
    first, *others = views.reasons(decision) or [""]
    yield from _headline(decision.verdict, first, layout)
    yield _scope(decision, paint)
    for reason in others:
        yield from _wrapped(reason, "  ", width, "- ")
    yield from _fixes(decision, layout)
    yield ""
    yield from _gates(decision, layout)
    yield from _counts(decision, layout)
    for line in decision.sections.get("details", ()):  # tables that a suite lays out itself
        yield from _fitted(visible(line), width)
    yield from _offenders(decision, paint, width)
    yield from _list("Where to look", decision.diagnosis, layout)
    yield from _list("Warnings", views.problems(decision), layout)
    if layout.verbose:
        yield from _small_print(decision, layout)


def _scope(decision: Decision, paint: Paint) -> str:
    counts = decision.counts
    parts = [paint("bold", decision.suite)]
    if "items" in counts:
        parts.append(plural(counts["items"], "item" if "raters" in counts else "question"))
        parts += [f"{counts[name]} {_SHOWN.get(name, name.replace('_', ' '))}" for name in _SCOPE if counts.get(name)]
    elif decision.profile != "strict":
        parts.append(f"{decision.profile} profile")
    if decision.partial:
        parts.append(paint("odd", "partial data: bad lines were skipped"))
    return "  " + " · ".join(parts)


_SHOWN = {"shipped": "answered", "error": "failed", "rated_once": "rated only once"}


def _fixes(decision: Decision, layout: Layout) -> Iterator[str]:
    """How many items to fix for each gate that fails, and those closest to passing."""
    near = {turn["gate"]: turn["nearest"] for turn in decision.sections.get("turns", ())}
    for outcome in decision.outcomes:
        if not outcome.turn or str(outcome.gate) not in near:
            continue
        names = near[str(outcome.gate)]
        closest = f" Closest to passing: {', '.join(names)}." if names else ""
        words = f"To pass {outcome.gate}, {views.to_fix(outcome)}.{closest}"
        yield from (layout.paint("dim", line) for line in _wrapped(visible(words, _LONGEST), "  ", layout.width))


def _fitted(line: str, width: int) -> list[str]:
    return [line] if len(line) <= width else _wrapped(line, "", width)


def _small_print(decision: Decision, layout: Layout) -> Iterator[str]:
    lines = [*_compat(decision)]
    if decision.outcomes and decision.suite != "outcomes":  # outcomes are production traffic
        lines.append("Intervals are 95 % and describe questions like those in the gold set, not production traffic.")
    for line in lines:
        yield ""
        yield from (layout.paint("dim", part) for part in _wrapped(line, "", layout.width))


# --- gates ---


def _gates(decision: Decision, layout: Layout) -> Iterator[str]:
    """Failing gates first, each on a line; those that pass on one line together unless all are asked for."""
    ordered = views.worst_first(decision.outcomes)
    shown = [outcome for outcome in ordered if layout.verbose or not outcome.holds or outcome.waived]
    rows = [_gate_cells(outcome) for outcome in shown]
    sizes = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for outcome, cells in zip(shown, rows, strict=True):
        yield from _gate(outcome, cells, sizes, layout)
        if layout.verbose:
            yield from _definition(outcome.gate.metric, decision.suite, layout)
    passing = [outcome for outcome in ordered if outcome not in shown and outcome.state != "NOT-APPLICABLE"]
    if passing:
        yield from _passing(passing, layout)


def _passing(outcomes: list[Outcome], layout: Layout) -> Iterator[str]:
    figures = ", ".join(f"{outcome.gate.key} {views.value(outcome)}" for outcome in outcomes)
    verb = "passes" if len(outcomes) == 1 else "pass"
    first, *more = _wrapped(visible(f"{plural(len(outcomes), 'gate')} {verb}: {figures} (-v)"), "    ", layout.width)
    yield f"  {layout.paint('good', '✓')} {first[4:]}"
    yield from more


def _definition(metric: str, suite: str, layout: Layout) -> Iterator[str]:
    if term := find_term(metric, suite):
        name = f"{term.plain}: " if term.plain != metric else ""
        lines = _wrapped(f"{name}{term.definition}", "      ", layout.width)
        yield from (layout.paint("dim", line) for line in lines)


def _gate(outcome: Outcome, cells: tuple[str, str, str], sizes: list[int], layout: Layout) -> Iterator[str]:
    """The gate, its value and counts, the interval where there is room, and the state in words."""
    paint, width = layout.paint, layout.width
    mark, style = ("w", "odd") if outcome.waived else _MARKS[outcome.state]
    gate, value, counts = (cell.ljust(size) for cell, size in zip(cells, sizes, strict=True))
    words = visible(f"waived: {outcome.waived}" if outcome.waived else state_in_words(outcome), _LONGEST)
    word, _, rest = words.partition(" (")
    taken = sum(sizes) + 10
    fits = taken + len(words) <= width
    end = paint(style, words if fits or outcome.waived else word)
    if taken + len(word) > width:  # a long name: its numbers come below
        yield f"  {paint(style, mark)} {cells[0]}"
        yield from _wrapped(f"{cells[1]}  {cells[2]}  {words}", "      ", width)
        return
    room = width - taken - (len(words) if fits else len(word))
    bar = f"  {_bar(outcome, paint)}" if room >= BAR + 2 else ""
    yield f"  {paint(style, mark)} {gate}  {paint('bold', value)}  {counts}{bar}  {end}"
    if rest and not fits:
        yield from (paint("dim", line) for line in _wrapped(rest.removesuffix(")"), "      ", width))


def _gate_cells(outcome: Outcome) -> tuple[str, str, str]:
    measure, bound = outcome.measure, outcome.bound
    gate = visible(str(outcome.gate))
    if measure.value is None:
        return gate, "–", ""
    if measure.kind == "count":
        return gate, str(measure.value), ""
    value = decimal(measure.value, against=bound) + measure.unit
    return gate, value, f"{measure.k}/{measure.n}" if measure.kind == "rate" else f"n={measure.n}"


def _bar(outcome: Outcome, paint: Paint) -> str:
    """The interval on a scale from 0 to 1, with the value and the bound."""
    measure, bound = outcome.measure, outcome.bound
    if measure.kind != "rate" or measure.value is None or measure.interval is None or bound is None:
        return " " * BAR
    last = BAR - 1
    low, high = (round(edge * last) for edge in measure.interval)
    cells = ["─" if low <= cell <= high else "·" for cell in range(BAR)]
    cells[round(min(max(float(bound), 0.0), 1.0) * last)] = "┃"
    cells[round(float(measure.value) * last)] = "●"
    return "".join(paint("dim", cell) if cell == "·" else cell for cell in cells)


def _counts(decision: Decision, layout: Layout) -> Iterator[str]:
    """The metrics without a gate."""
    others = views.numbers(decision)
    if not decision.outcomes or (layout.verbose and others):
        yield from [""] if decision.outcomes else []
        yield from _measured(others, decision.suite, layout)
    elif others:
        shown = " · ".join(f"{name} {measure}" for name, measure in others.items())
        yield ""
        yield from (layout.paint("dim", line) for line in _wrapped(f"also: {shown}", "  ", layout.width))


def _measured(measures: Mapping[str, Measure], suite: str, layout: Layout) -> Iterator[str]:
    """Each number with its n and its interval, or why there is none."""
    paint, width = layout.paint, layout.width
    size = max(map(len, measures), default=0)
    cells = {
        name: (str(one), "" if one.kind == "rate" else views.counts(one))
        for name, one in measures.items()
        if one.value is not None
    }
    sizes = [max((len(pair[column]) for pair in cells.values()), default=0) for column in range(2)]
    for name, measure in measures.items():
        if name in cells:
            value, counts = (cell.ljust(room) for cell, room in zip(cells[name], sizes, strict=True))
            counts = f"{counts}  " if counts else ""
            line = f"  {name.ljust(size)}  {paint('bold', value)}  {counts}{paint('dim', views.interval(measure))}"
            yield line.rstrip()
        else:
            first, *more = _wrapped(f"n/a: {measure.missing}", " " * (size + 4), width)
            yield f"  {name.ljust(size)}  {paint('dim', first.lstrip())}"
            yield from (paint("dim", line) for line in more)
        if layout.verbose:
            yield from _definition(name, suite, layout)


def _offenders(decision: Decision, paint: Paint, width: int) -> Iterator[str]:
    if not decision.offenders:
        return
    failing = sum(map(views.failing, decision.items)) or len(decision.offenders)
    yield ""
    yield paint("bold", f"Failing items, worst first ({len(decision.offenders)} of {failing})")
    for offender in decision.offenders:
        yield from _offender(offender, paint, width)


def _offender(offender: Row, paint: Paint, width: int) -> Iterator[str]:
    qid, reason, words = visible(offender["qid"], 40), visible(offender["reason"], 40), visible(offender["says"], 300)
    head = f"  {paint('bold', qid)}  {paint('bad', reason)}"
    if len(qid) + len(reason) + len(words) + 6 <= width:
        yield f"{head}  {words}"
    else:
        yield head
        yield from _wrapped(words, "      ", width)
    lines = [
        ("question", offender.get("question")),
        ("answer", offender.get("claim")),
        ("expected", " | ".join(offender.get("gold_claim_substr") or [])),
        ("cited", _cited(offender)),
    ]
    for label, text in lines:
        if text:
            yield f"      {paint('dim', label.ljust(8))}  {visible(str(text), width - 16)}"


def _cited(offender: Row) -> str:
    if offender.get("claim") is None or "citations" not in offender:
        return ""
    cited = ", ".join(offender["citations"]) or "nothing"
    wanted = ", ".join(offender.get("gold_citations") or [])
    rank = offender.get("gold_rank")
    place = f" (expected {wanted}, {f'retrieved at rank {rank}' if rank else 'not retrieved'})" if wanted else ""
    return cited + place


def _list(title: str, lines: list[str], layout: Layout) -> Iterator[str]:
    if lines:
        yield ""
        yield layout.paint("bold", title)
    for line in lines:
        yield from _wrapped(visible(line, _LONGEST), "  ", layout.width, "- ")


def _compat(decision: Decision) -> Iterator[str]:
    reference = (decision.compat or {}).get("reference", {})
    differs = [name for name in (decision.compat or {}).get("differs", ()) if decision.headline.get(name) is not None]
    if differs:
        numbers = ", ".join(f"{name} {reference[name]}" for name in differs)
        yield f"The reference scripts would print other numbers here: {numbers} (--profile reference)."


def _wrapped(text: str, indent: str, width: int, bullet: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent + bullet,
        subsequent_indent=indent + " " * len(bullet),
        break_long_words=True,
        break_on_hyphens=False,
    ) or [""]
