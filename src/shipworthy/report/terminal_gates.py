"""Gates on the terminal: failing ones first, passing ones in a line; the other metrics below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..core.decision import Decision
from ..core.gates import Outcome, state_in_words
from ..core.metrics import Measure, decimal
from ..text import plural, visible
from . import views, words
from .terminal_layout import LONGEST, Layout, Paint, wrapped

BAR = 24
LONG_NAME = 56  # characters of a gate that others still line up with
ALSO = 3  # lines of other metrics in plain words; more would hide the rest
_MARKS = {
    "PASS": ("✓", "good"),
    "PASS-BUT-UNPROVEN": ("✓", "good"),
    "FAIL": ("✗", "bad"),
    "FAIL-BUT-CLOSE": ("✗", "bad"),
    "NO-DATA": ("?", "odd"),
    "NOT-APPLICABLE": ("–", "dim"),
}


def gates(decision: Decision, layout: Layout) -> Iterator[str]:
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
    mark, style = ("w", "odd") if outcome.waived else _MARKS[outcome.state]
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
    measure, bound = outcome.measure, outcome.bound
    gate = words.gate_text(outcome)
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


def other_metrics(decision: Decision, layout: Layout) -> Iterator[str]:
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
