"""The terminal board: the finding first, failing gates, items to fix, where to look; the verdict again at the end."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import IO, TextIO

import msgspec

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..core.gates import Outcome, state_in_words
from ..core.metrics import Measure
from ..text import first_few, inert, plural, visible
from . import views, words

LONGEST = 2000  # characters of one remark
STYLES = {
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

BAR = 24
LONG_NAME = 56  # characters of a gate that others still line up with
ALSO = 3  # lines of other metrics in plain words; more would hide the rest
_STYLES = {"✓": "good", "✗": "bad", "?": "odd", "–": "dim"}
ALL_SUITES = 10  # failing items of all suites together
_CARD_LINES = 3  # of a question or an answer
_COLOUR = rf"(\x1b\[(?:0|{'|'.join(STYLES.values())})m)"


class Paint:
    """Styles, or nothing where there is no colour."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self._colour and text else text


class Layout(msgspec.Struct, frozen=True):
    """How the board is laid out: its styles, its width, and whether passing gates and definitions are shown."""

    paint: Paint
    width: int
    verbose: bool = False


def wrapped(text: str, indent: str, width: int, bullet: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent + bullet,
        subsequent_indent=indent + " " * len(bullet),
        break_long_words=True,
        break_on_hyphens=False,
    ) or [""]


def render(shown: Decision | Board, colour: bool = False, width: int = 100, verbose: bool = False) -> str:
    """A decision or a board as text."""
    layout = Layout(Paint(colour), width, verbose)
    lines = _suites(shown, layout) if isinstance(shown, Board) else _whole(shown, layout)
    return inert("\n".join(_line(line, colour) for line in lines)) + "\n"


def _line(text: str, colour: bool) -> str:
    """One line, whatever stands in it: only the colours that were asked for are obeyed."""
    if not colour:
        return visible(text)
    return "".join(part if re.fullmatch(_COLOUR, part) else visible(part) for part in re.split(_COLOUR, text))


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


# --- several suites ---


def _suites(board: Board, layout: Layout) -> Iterator[str]:
    """The finding, one line a suite, then the details of those that do not ship; the verdict again at the end."""
    headline = _finding(board)
    yield from _headline(board.verdict, headline, layout)
    yield from _questions(board, layout)
    yield ""
    names = [*(decision.suite for decision in board.decisions), *board.failures]
    size = max((len(name) for name in names), default=0)
    for decision in sorted(board.decisions, key=lambda decision: decision.ships):
        yield from _suite(decision, size, layout, headline)
    for suite, why in board.failures.items():
        yield from _row("NO VERDICT", views.failed(suite), suite.ljust(size), visible(why, LONGEST), layout)
    yield from _list("Notes", board.notes, layout)
    for decision in board.decisions:
        if layout.verbose or not (decision.ships or _all_said(decision, headline)):
            yield ""
            yield layout.paint("dim", "─" * layout.width)
            yield from _board(decision, layout, headline)
    yield from _failing(board, [one for one in board.decisions if layout.verbose or not one.ships], layout)
    yield ""
    yield from _headline(board.verdict, views.scope(board), layout)


def _all_said(decision: Decision, headline: str) -> bool:
    """Whether no question was judged, and the headline says why: there is nothing to show."""
    return decision.nothing_judged and all(reason in headline for reason in views.reasons(decision))


def _questions(shown: Decision | Board, layout: Layout) -> Iterator[str]:
    """Questions lost and gained since the baseline, and those that fail, by name."""
    for one in views.questions(shown):
        yield from wrapped(str(one), "  ", layout.width, "- ")


def _finding(board: Board) -> str:
    """What stops the board, in words: the first reason of the first suite that stops it."""
    stopping = [decision for decision in board.decisions if decision.verdict == board.verdict]
    unrun = [suite for suite in board.failures if suite != "controls"]
    if unrun and not stopping:
        return f"{', '.join(unrun)} could not be run; {views.scope(board)}"
    if board.verdict == "SHIP" or not stopping:
        return views.scope(board)
    stops = [one for one in stopping[0].reasons if "as declared" not in one]  # what is declared stops nothing
    reasons = stops or stopping[0].reasons or [views.worst_gate(stopping[0])]
    suites = ", ".join(one.suite for one in stopping if one is stopping[0] or one.reasons[:1] == reasons[:1])
    return f"{suites}: {_ended(visible(reasons[0], LONGEST))} {views.scope(board)}"


def _ended(text: str) -> str:
    """A clause with a semicolon, sentences with a full stop."""
    return f"{text}." if ". " in text else f"{text};"


def _suite(decision: Decision, size: int, layout: Layout, headline: str) -> Iterator[str]:
    held, among = views.gates_held(decision)
    name = f"{decision.suite.ljust(size)}  {held}/{among} gates"
    worst = views.worst_gate(decision)
    worst = "" if worst in headline else worst  # said there
    if len(name) + len(worst) + 16 > layout.width:
        worst = views.worst_gate(decision, brief=True)
    yield from _row(decision.verdict, views.word(decision.verdict), name, worst, layout)


def _row(verdict: str, word: str, name: str, rest: str, layout: Layout) -> Iterator[str]:
    """One line, or several where the terminal is narrow."""
    head = f"  {layout.paint(verdict, word.ljust(10))}  {layout.paint('bold', name)}"
    taken = 14 + len(name) + 2
    if taken + len(rest) <= layout.width:
        yield f"{head}  {rest}".rstrip()
    else:
        yield head
        yield from wrapped(rest, " " * 14, layout.width)


# --- one suite ---


def _whole(decision: Decision, layout: Layout) -> Iterator[str]:
    yield from _board(decision, layout)
    yield ""
    yield from _headline(decision.verdict, _summary(decision), layout)


def _summary(decision: Decision) -> str:
    held, among = views.gates_held(decision)
    every = all(outcome.gate.severity == "block" for outcome in decision.outcomes)
    kind = "gate" if every else "blocking gate"
    gates = f"{held} of {plural(among, kind)} pass{'es' if among == 1 else ''}" if among else "no gate applies"
    return f"{decision.suite}: {gates if decision.outcomes else 'no gate was set'}"


def _headline(verdict: str, finding: str, layout: Layout) -> Iterator[str]:
    """The verdict with its finding beside it, and below where it is long."""
    indent = " " * (len(verdict) + 2)
    first, *more = wrapped(finding, indent, layout.width)
    yield f"{layout.paint(verdict, verdict)}  {first[len(indent) :]}".rstrip()
    yield from more


def _board(decision: Decision, layout: Layout, headline: str = "") -> Iterator[str]:
    """Everything about one suite; `headline` is what was said already."""
    paint, width = layout.paint, layout.width
    reasons = [reason for reason in views.reasons(decision) if reason not in headline]
    first, *others = reasons or [""]
    if first or not headline:
        yield from _headline(decision.verdict, first, layout)
        yield f"  {_scope(decision, paint)}"
    else:
        yield f"{paint(decision.verdict, decision.verdict)}  {_scope(decision, paint)}"
    yield from _questions(decision, layout) if not headline else ()
    for reason in others:
        yield from wrapped(reason, "  ", width, "- ")
    yield from _fixes(decision, layout)
    yield ""
    yield from _gates(decision, layout)
    yield from _other_metrics(decision, layout)
    for line in decision.sections.get("details", ()):  # tables that a suite lays out itself
        yield from _fitted(visible(line), width)
    yield from _failing(decision, [] if headline else [decision], layout)
    yield from _list("Where to look", decision.diagnosis, layout)
    yield from _list("Warnings", views.problems(decision), layout)
    if layout.verbose:
        yield from _small_print(decision, layout)


def _scope(decision: Decision, paint: Paint) -> str:
    counts, display = decision.counts, decision.display
    parts = [paint("bold", decision.suite)]
    if "items" in counts:
        parts.append(plural(counts["items"], display.item))
        parts += [f"{counts[name]} {word}" for name, word in display.counts.items() if counts.get(name)]
    elif decision.profile != "strict":
        parts.append(f"{decision.profile} profile")
    if decision.partial:
        parts.append(paint("odd", "partial data: bad lines were skipped"))
    return " · ".join(parts)


def _fixes(decision: Decision, layout: Layout) -> Iterator[str]:
    """How many items to fix for each gate that fails, and those closest to passing."""
    told = {turn["gate"] for turn in decision.sections.get("turns", ())}
    for outcome in decision.outcomes:
        if not outcome.turn or str(outcome.gate) not in told:
            continue
        names = words.near(decision, outcome)
        closest = f" Closest to passing: {', '.join(names)}." if names else ""
        fix = f"To pass {outcome.gate}, {views.to_fix(outcome)}.{closest}"
        yield from (layout.paint("dim", line) for line in wrapped(visible(fix, LONGEST), "  ", layout.width))


def _fitted(line: str, width: int) -> list[str]:
    return [line] if len(line) <= width else wrapped(line, "", width)


def _small_print(decision: Decision, layout: Layout) -> Iterator[str]:
    lines = [*_compat(decision)]
    if decision.outcomes and not decision.display.production:
        lines.append("Intervals are 95 % and describe questions like those in the gold set, not production traffic.")
    for line in lines:
        yield ""
        yield from (layout.paint("dim", part) for part in wrapped(line, "", layout.width))


def _failing(shown: Decision | Board, decisions: list[Decision], layout: Layout) -> Iterator[str]:
    """The worst items of these suites, as one list; on a board each says in which suite it fails."""
    listed = [one for one in decisions if one.offenders and not one.nothing_judged]
    if not listed:
        return
    most = max(ALL_SUITES, *(len(decision.offenders) for decision in listed))
    found = views.in_one_list(((one, one.offenders) for one in listed), name=lambda offender: str(offender["qid"]))
    failing = views.failing_total(found)
    named = " of all suites" if views.several(shown) else ""
    yield ""
    yield layout.paint("bold", f"Failing items{named}, worst first ({min(most, len(found))} of {failing})")
    for decision, offender in found[:most]:
        yield from _offender(offender, decision, f"{decision.suite}  " if named else "", layout)


def _offender(offender: Row, decision: Decision, suite: str, layout: Layout) -> Iterator[str]:
    paint, width = layout.paint, layout.width
    qid, told = visible(offender["qid"], 40), visible(offender["says"], 300)
    reason = words.reason(offender["reason"], decision)
    told = "" if reason.startswith(f"{told} (") else told
    since = views.since(decision, str(offender["qid"]))
    head = f"  {paint('bold', qid)}  {suite}{paint('bad', reason)}"
    head += f"  {paint('odd', since)}" if since else ""
    if len(qid) + len(suite) + len(reason) + len(told) + len(since) + 8 <= width:
        yield f"{head}  {told}".rstrip()
    else:
        yield head
        yield from wrapped(told, "      ", width)
    lines = [
        ("question", offender.get("question")),
        ("answer", offender.get("claim")),
        ("expected", " | ".join(offender.get("gold_claim_substr") or [])),
        ("cited", _cited(offender)),
        ("retrieved", _retrieved(offender)),
    ]
    for label, text in lines:
        first, *more = wrapped(visible(str(text or ""), _CARD_LINES * (width - 20)), " " * 16, width) or [""]
        if first:
            yield f"      {paint('dim', label.ljust(9))} {first[16:]}"
            yield from more


def _cited(offender: Row) -> str:
    if "citations" not in offender or not (offender.get("claim") or offender["citations"]):
        return ""
    cited = ", ".join(offender["citations"]) or "nothing"
    wanted = ", ".join(offender.get("gold_citations") or [])
    rank = offender.get("gold_rank")
    if not wanted:
        return cited
    unknown = "not retrieved" if offender.get("retrieved_ids") else "nothing retrieved is logged"
    return f"{cited} (expected {wanted}, {f'retrieved at rank {rank}' if rank else unknown})"


def _retrieved(offender: Row) -> str:
    """The ids in their order; what is expected too, unless what is cited has it already."""
    retrieved = offender.get("retrieved_ids")
    if not retrieved:
        return ""
    wanted = "" if _cited(offender) else ", ".join(offender.get("gold_citations") or [])
    return first_few(retrieved) + (f" (expected {wanted})" if wanted else "")


def _list(title: str, lines: list[str], layout: Layout) -> Iterator[str]:
    if lines:
        yield ""
        yield layout.paint("bold", title)
    for line in lines:
        yield from wrapped(visible(line, LONGEST), "  ", layout.width, "- ")


def _compat(decision: Decision) -> Iterator[str]:
    reference = (decision.compat or {}).get("reference", {})
    differs = [name for name in (decision.compat or {}).get("differs", ()) if decision.headline.get(name) is not None]
    if differs:
        numbers = ", ".join(f"{name} {reference[name]}" for name in differs)
        yield f"The reference scripts would print other numbers here: {numbers} (--profile reference)."


# --- gates: failing ones first, passing ones in a line; the other metrics below ---


def _gates(decision: Decision, layout: Layout) -> Iterator[str]:
    """Failing gates first, each on a line; those that pass on one line together unless all are asked for."""
    ordered = views.worst_first(decision.outcomes)
    shown = [outcome for outcome in ordered if layout.verbose or not outcome.holds or outcome.waived]
    rows = [_gate_cells(outcome) for outcome in shown]
    aligned = [row for row in rows if len(row[0]) <= LONG_NAME]
    sizes = [max((len(row[column]) for row in aligned), default=0) for column in range(3)]
    for outcome, cells in zip(shown, rows, strict=True):
        yield from _gate(outcome, cells, sizes, layout)
        if layout.verbose:
            yield from _definition(outcome.measure, layout)
    passing = [outcome for outcome in ordered if outcome not in shown and outcome.state != "NOT-APPLICABLE"]
    if passing:
        yield from _passing(passing, layout)


def _passing(outcomes: list[Outcome], layout: Layout) -> Iterator[str]:
    # A metric may have two gates, by a number and against the baseline.
    figures = ", ".join(dict.fromkeys(f"{_name(outcome)} {views.value(outcome)}" for outcome in outcomes))
    verb = "passes" if len(outcomes) == 1 else "pass"
    first, *more = wrapped(visible(f"{plural(len(outcomes), 'gate')} {verb}: {figures} (-v)"), "    ", layout.width)
    yield f"  {layout.paint('good', '✓')} {first[4:]}"
    yield from more


def _name(outcome: Outcome) -> str:
    measure, key = outcome.measure, outcome.gate.key
    return measure.words.title(key) if words.other_name(measure) else key


def _definition(measure: Measure, layout: Layout) -> Iterator[str]:
    if text := words.definition(measure):
        yield from (layout.paint("dim", line) for line in wrapped(text, "      ", layout.width))


def _gate(outcome: Outcome, cells: tuple[str, str, str], sizes: list[int], layout: Layout) -> Iterator[str]:
    """The gate, its value and counts, the interval where there is room, and the state in words."""
    paint, width = layout.paint, layout.width
    mark = "w" if outcome.waived else views.MARKS[outcome.state]
    style = _STYLES.get(mark, "odd")
    gate, value, counts = (cell.ljust(size) for cell, size in zip(cells, sizes, strict=True))
    told = visible(f"waived: {outcome.waived}" if outcome.waived else state_in_words(outcome), LONGEST)
    if outcome.gate.severity != "block" and not outcome.holds:
        told = f"{told[:-1]}, does not block)" if told.endswith(")") else f"{told} (does not block)"
    word, _, rest = told.partition(" (")
    taken = len(gate) + len(value) + len(counts) + 10
    fits = taken + len(told) <= width
    end = paint(style, told if fits or outcome.waived else word)
    if taken + len(word) > width:  # a long name: its numbers come below
        yield f"  {paint(style, mark)} {cells[0]}"
        yield from wrapped(f"{cells[1]}  {cells[2]}  {told}", "      ", width)
        return
    room = width - taken - (len(told) if fits else len(word))
    bar = f"  {_bar(outcome, paint)}" if room >= BAR + 2 else ""
    yield f"  {paint(style, mark)} {gate}  {paint('bold', value)}  {counts}{bar}  {end}"
    if rest and not fits:
        yield from (paint("dim", line) for line in wrapped(rest.removesuffix(")"), "      ", width))


def _gate_cells(outcome: Outcome) -> tuple[str, str, str]:
    counts = "" if outcome.measure.value is None else views.counts(outcome.measure)
    return words.gate_text(outcome), views.value(outcome), counts


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


def _other_metrics(decision: Decision, layout: Layout) -> Iterator[str]:
    """The metrics without a gate."""
    others = views.numbers(decision)
    if not decision.outcomes or (layout.verbose and others):
        yield from [""] if decision.outcomes else []
        yield from _measured(others, layout)
    elif others:
        plain = " · ".join(f"{words.plain_name(measure)} {measure}" for measure in others.values())
        lines = wrapped(f"also: {plain}", "  ", layout.width)
        if len(lines) > ALSO:
            short = " · ".join(f"{name} {measure}" for name, measure in others.items())
            lines = wrapped(f"also: {short} (-v says what they mean)", "  ", layout.width)
        yield ""
        yield from (layout.paint("dim", line) for line in lines)


def _measured(measures: Mapping[str, Measure], layout: Layout) -> Iterator[str]:
    """Each number with its n and its interval, or why there is none."""
    paint, width = layout.paint, layout.width
    titles = {name: visible(words.plain_name(measure)) for name, measure in measures.items()}
    size = max(map(len, titles.values()), default=0)
    cells = {
        name: (str(one), "" if one.kind == "rate" else views.counts(one))
        for name, one in measures.items()
        if one.value is not None
    }
    sizes = [max((len(pair[column]) for pair in cells.values()), default=0) for column in range(2)]
    for name, measure in measures.items():
        title = titles[name].ljust(size)
        if name in cells:
            value, counts = (cell.ljust(room) for cell, room in zip(cells[name], sizes, strict=True))
            counts = f"{counts}  " if counts else ""
            line = f"  {title}  {paint('bold', value)}  {counts}{paint('dim', views.interval(measure))}"
            yield line.rstrip()
        else:
            first, *more = wrapped(f"n/a: {measure.missing}", " " * (size + 4), width)
            yield f"  {title}  {paint('dim', first.lstrip())}"
            yield from (paint("dim", line) for line in more)
        if layout.verbose:
            yield from _definition(measure, layout)
