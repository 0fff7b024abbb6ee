"""The terminal board: decision first, then gates, offenders and where to look; plain when piped."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TextIO

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..core.gates import Outcome, certainty
from ..core.metrics import Measure, decimal
from ..text import inert, plural, visible
from . import views

BAR = 24
_LONGEST = 2000  # characters of one remark
# counts that stand in the first line
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


def render(shown: Decision | Board, colour: bool = False, width: int = 100) -> str:
    """A decision or a board as text."""
    lines = _suites(shown, Paint(colour), width) if isinstance(shown, Board) else _board(shown, Paint(colour), width)
    return inert("\n".join(_line(line, colour) for line in lines)) + "\n"


def _line(text: str, colour: bool) -> str:
    """One line, whatever stands in it: only the colours that were asked for are obeyed."""
    if not colour:
        return visible(text)
    return "".join(part if _COLOUR.fullmatch(part) else visible(part) for part in _COLOUR.split(text))


def for_stream(shown: Decision | Board, stream: TextIO) -> str:
    """The text as the stream wants it: coloured or not, as wide as the terminal."""
    return render(shown, wants_colour(stream), _width() if stream.isatty() else 100)


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


def _suites(board: Board, paint: Paint, width: int) -> Iterator[str]:
    """One line a suite, then the details of those that do not ship."""
    yield f"{paint(board.verdict, board.verdict)}  {views.scope(board)}"
    yield ""
    names = [*(decision.suite for decision in board.decisions), *board.failures]
    size = max((len(name) for name in names), default=0)
    for decision in board.decisions:
        yield from _suite(decision, size, paint, width)
    for suite, why in board.failures.items():
        yield from _row("NO VERDICT", views.failed(suite), suite.ljust(size), visible(why, _LONGEST), paint, width)
    yield from _list("Notes", board.notes, paint, width)
    for decision in board.decisions:
        if not decision.ships:
            yield ""
            yield paint("dim", "─" * width)
            yield from _board(decision, paint, width)


def _suite(decision: Decision, size: int, paint: Paint, width: int) -> Iterator[str]:
    held, among = views.gates_held(decision)
    name = f"{decision.suite.ljust(size)}  {held}/{among} gates"
    worst = views.worst_gate(decision)
    if len(name) + len(worst) + 16 > width:
        worst = views.worst_gate(decision, brief=True)
    yield from _row(decision.verdict, views.word(decision.verdict), name, worst, paint, width)


def _row(verdict: str, word: str, name: str, rest: str, paint: Paint, width: int) -> Iterator[str]:
    """One line, or two where the terminal is narrow."""
    head = f"  {paint(verdict, word.ljust(10))}  {paint('bold', name)}"
    taken = 14 + len(name) + 2
    if taken + len(rest) <= width:
        yield f"{head}  {rest}"
    else:
        yield head
        yield from _wrapped(rest, " " * 14, width)


def _board(decision: Decision, paint: Paint, width: int) -> Iterator[str]:
    partial = paint("odd", "  partial data") if decision.partial else ""
    head = f"{paint(decision.verdict, decision.verdict)}  {paint('bold', decision.suite)}  {_scope(decision)}{partial}"
    yield head.rstrip()
    for reason in decision.reasons:
        yield from _wrapped(visible(reason, _LONGEST), "  ", width)
    for turn in decision.sections.get("turns", ()):
        if not turn["nearest"]:
            continue
        near = f"nearest to {turn['gate']}: {', '.join(turn['nearest'])}"
        yield from (paint("dim", line) for line in _wrapped(visible(near, _LONGEST), "  ", width))
    yield ""
    yield from _gates(decision.outcomes, paint, width)
    yield from _counts(decision, paint, width)
    yield from (visible(line) for line in decision.sections.get("details", ()))  # tables that a suite lays out itself
    yield from _offenders(decision, paint, width)
    yield from _list("Where to look", decision.diagnosis, paint, width)
    yield from _list("Noticed while reading", views.problems(decision), paint, width)
    yield from _compat(decision, paint, width)
    if decision.outcomes and decision.suite != "outcomes":  # outcomes are production traffic
        yield ""
        yield from (
            paint("dim", line)
            for line in _wrapped(
                "Intervals are 95 % and describe questions like those in the gold set, not production traffic.",
                "",
                width,
            )
        )


def _scope(decision: Decision) -> str:
    counts = decision.counts
    if "items" not in counts:
        return f"({decision.profile} profile)" if decision.profile != "strict" else ""
    parts = [plural(counts["items"], "item" if "raters" in counts else "question")]
    parts += [f"{counts[name]} {name.replace('_', ' ')}" for name in _SCOPE if counts.get(name)]
    return " · ".join(parts)


def _gates(outcomes: Iterable[Outcome], paint: Paint, width: int) -> Iterator[str]:
    rows = [_gate_cells(outcome) for outcome in outcomes]
    if not rows:
        return
    sizes = [max(len(row[column]) for row in rows) for column in range(3)]
    for outcome, cells in zip(outcomes, rows, strict=True):
        mark, style = _MARKS[outcome.state]
        if outcome.waived:
            mark, style = "w", "odd"
        gate, value, counts = (cell.ljust(size) for cell, size in zip(cells[:3], sizes, strict=True))
        line = f"  {paint(style, mark)} {gate}  {paint('bold', value)}  {counts}"
        state = paint(style, outcome.state) if outcome.state != "PASS" else paint("dim", "PASS")
        words = certainty(outcome)
        note = f"{state}  {paint('dim', words)}" if words and words != "proven" else state
        room = width - (sum(sizes) + 8) - len(outcome.state) - 2
        bar = f"  {_bar(outcome, paint)}" if room > BAR + 2 else ""
        fits = room - (BAR + 4 if bar else 0) >= len(words)
        yield f"{line}{bar}  {note if fits else state}"
        if not fits and words:
            yield paint("dim", f"      {words}")


def _gate_cells(outcome: Outcome) -> tuple[str, str, str]:
    measure, bound = outcome.measure, outcome.bound
    if measure.value is None:
        return str(outcome.gate), "–", f"0/{measure.n}" if measure.kind == "rate" else ""
    if measure.kind == "count":
        return str(outcome.gate), str(measure.value), ""
    value = decimal(measure.value, against=bound) + measure.unit
    return str(outcome.gate), value, f"{measure.k}/{measure.n}" if measure.kind == "rate" else f"n={measure.n}"


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


def _counts(decision: Decision, paint: Paint, width: int) -> Iterator[str]:
    found = views.numbers(decision)
    if not decision.outcomes:
        yield from _measured(found, paint, width)
        return
    shown = [f"{name} {measure}" for name, measure in found.items()]
    if shown:
        yield ""
        yield from (paint("dim", line) for line in _wrapped("also: " + " · ".join(shown), "  ", width))


def _measured(found: Mapping[str, Measure], paint: Paint, width: int) -> Iterator[str]:
    """The numbers are all there is to say: each with its n and its interval, or why there is none."""
    size = max(map(len, found), default=0)
    cells = {
        name: (str(one), "" if one.kind == "rate" else views.counts(one))
        for name, one in found.items()
        if one.value is not None
    }
    sizes = [max((len(pair[column]) for pair in cells.values()), default=0) for column in range(2)]
    for name, measure in found.items():
        if name in cells:
            value, counts = (cell.ljust(room) for cell, room in zip(cells[name], sizes, strict=True))
            counts = f"{counts}  " if counts else ""
            line = f"  {name.ljust(size)}  {paint('bold', value)}  {counts}{paint('dim', views.interval(measure))}"
            yield line.rstrip()
        else:
            first, *more = _wrapped(f"undefined: {measure.missing}", " " * (size + 4), width)
            yield f"  {name.ljust(size)}  {paint('dim', first.lstrip())}"
            yield from (paint("dim", line) for line in more)


def _offenders(decision: Decision, paint: Paint, width: int) -> Iterator[str]:
    if not decision.offenders:
        return
    failing = sum(map(views.failing, decision.items)) or len(decision.offenders)
    yield ""
    yield paint("bold", f"Worst first: {len(decision.offenders)} of {failing}")
    for offender in decision.offenders:
        yield from _offender(offender, paint, width)


def _offender(offender: Row, paint: Paint, width: int) -> Iterator[str]:
    qid, reason, says = visible(offender["qid"], 40), visible(offender["reason"], 40), visible(offender["says"], 300)
    head = f"  {paint('bold', qid)}  {paint('bad', reason)}"
    if len(qid) + len(reason) + len(says) + 6 <= width:
        yield f"{head}  {says}"
    else:
        yield head
        yield from _wrapped(says, "      ", width)
    lines = [
        ("asked", offender.get("question")),
        ("said", offender.get("claim")),
        ("wanted", " | ".join(offender.get("gold_claim_substr") or [])),
        ("cited", _cited(offender)),
    ]
    for label, text in lines:
        if text:
            room = width - 14
            yield f"      {paint('dim', label.ljust(6))} {visible(str(text), room)}"


def _cited(offender: Row) -> str:
    if offender.get("claim") is None or "citations" not in offender:
        return ""
    cited = ", ".join(offender["citations"]) or "nothing"
    wanted = ", ".join(offender.get("gold_citations") or [])
    rank = offender.get("gold_rank")
    place = f" (gold {wanted}, {f'first at rank {rank}' if rank else 'not retrieved'})" if wanted else ""
    return cited + place


def _list(title: str, lines: list[str], paint: Paint, width: int) -> Iterator[str]:
    if lines:
        yield ""
        yield paint("bold", title)
    for line in lines:
        yield from _wrapped(visible(line, _LONGEST), "  ", width, "- ")


def _compat(decision: Decision, paint: Paint, width: int) -> Iterator[str]:
    reference = (decision.compat or {}).get("reference", {})
    differs = [name for name in (decision.compat or {}).get("differs", ()) if decision.headline.get(name) is not None]
    if not differs:
        return
    numbers = ", ".join(f"{name} {reference[name]}" for name in differs)
    yield ""
    yield from (
        paint("dim", line)
        for line in _wrapped(
            f"The reference scripts would print other numbers here: {numbers} (--profile reference).", "", width
        )
    )


def _wrapped(text: str, indent: str, width: int, bullet: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent + bullet,
        subsequent_indent=indent + " " * len(bullet),
        break_long_words=True,
        break_on_hyphens=False,
    ) or [""]
