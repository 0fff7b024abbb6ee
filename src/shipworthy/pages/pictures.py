"""Pictures: strips of runs and gates over time as SVG, styled by the page, and the same in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import groupby, pairwise
from typing import NamedTuple

from ..history.page import short as _short
from ..report.svg import figure as _n
from ..report.svg import picture
from ..text import visible
from .data import Branch, Cell, Point
from .render import brief

CELL, GAP = 8, 1  # width of a run in a strip, and of the gap after it
_TALL, _LOW = 16, 8  # heights of a failing and of a passing run: told apart without colour
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 52, 10, 20


def strip(states: Sequence[str], words: str, marks: Iterable[int] = ()) -> str:
    """Runs as cells, oldest first. A state is `p` passed, `f` failed, `o` odd such as no verdict, or blank for absent.

    `marks` are places before which something else changed, such as the gold set.
    """
    paths = {"p": "", "f": "", "o": ""}
    place = 0
    for state, group in groupby(states):
        count = sum(1 for _ in group)
        if state in paths:  # one line for all of them: the style cuts it into cells
            paths[state] += f"M{place * CELL} {_TALL // 2}h{count * CELL - GAP}"
        place += count
    body = "".join(f'<path class="{state}" d="{drawn}"/>' for state, drawn in paths.items() if drawn)
    drawn = "".join(f"M{max(place * CELL - GAP, 0)} 0v{_TALL}" for place in marks)
    body += f'<path class="g" d="{drawn}"/>' if drawn else ""
    return _frame(body, len(states), words)


def _frame(body: str, cells: int, words: str, kind: str = "strip", role: str = "img") -> str:
    width = max(cells, 1) * CELL
    return (
        f'<svg class="{kind}" role="{role}" preserveAspectRatio="none" viewBox="0 0 {width} {_TALL}" width="{width}" '
        f'aria-label="{escape(visible(words, 500))}">{body}</svg>'
    )


def totals(counts: Sequence[int], most: int, words: str) -> str:
    """How many failed in each run, as bars."""
    bars = "".join(
        f"M{place * CELL} {_TALL}h{CELL - GAP}v{-max(round(_TALL * count / max(most, 1), 1), 1):g}h{GAP - CELL}z"
        for place, count in enumerate(counts)
        if count
    )
    said = f"{words}: {', '.join(map(str, counts))}"
    return _frame(f'<path class="bars" d="{bars}"/>', len(counts), said, "strip totals")


class LinkedCell(NamedTuple):
    """A run of a strip that leads to its page."""

    state: str
    link: str
    words: str


def linked_strip(cells: Sequence[LinkedCell], words: str, marks: Iterable[int] = ()) -> str:
    """The same with a link for each run. They are no stops of the keyboard: a table beside it has the same links."""
    body = ""
    for place, cell in enumerate(cells):
        y, height = (0, _TALL) if cell.state == "f" else ((_TALL - _LOW) // 2, _LOW)
        body += (
            f'<a href="{escape(cell.link)}" tabindex="-1"><title>{escape(visible(cell.words, 200))}</title>'
            f'<rect class="c{cell.state}" x="{place * CELL}" y="{y}" width="{CELL - GAP}" height="{height}"/></a>'
        )
    drawn = "".join(f"M{max(place * CELL - GAP, 0)} 0v{_TALL}" for place in marks)
    body += f'<path class="g" d="{drawn}"/>' if drawn else ""
    return _frame(body, len(cells), words, "strip linked", "group")


def gate_chart(
    title: str,
    points: Sequence[Point],
    op: str,
    link: Callable[[Point], str],
    size: tuple[int, int] = (360, 132),
) -> str:
    """A gate over its runs: the value as a line, its interval as a band, the threshold dashed, stopped runs as dots."""
    width, height = size
    right, bottom = width - _RIGHT, height - _BOTTOM
    known = [float(point.value) for point in points if point.value is not None]
    edges = [*known, *(point.bound for point in points if point.bound is not None)]
    edges += [edge for point in points if point.interval for edge in point.interval]
    low, high = _range(edges or [0.0, 1.0])

    def at(place: float, value: float) -> tuple[float, float]:
        across = place / (len(points) - 1) if len(points) > 1 else 0.5
        return _LEFT + across * (right - _LEFT), bottom - (value - low) / (high - low) * (bottom - _TOP)

    body = "".join(
        f'<path class="grid" d="M{_LEFT} {_n(at(0, edge)[1])}H{right}"/>'
        f'<text class="tick end" x="{_LEFT - 6}" y="{_n(at(0, edge)[1] + 4)}">{_short(edge)}</text>'
        for edge in (low, high)
    )
    body += _band(points, at) + _bound(points, at, op, right)
    body += "".join(
        f'<path class="g" d="M{_n(at(place - 0.5, low)[0])} {_TOP}V{bottom}"/>' for place in gold_changes(points)
    )
    for line in _lines(points, at):
        body += f'<path class="line" d="M{line}"/>'
    last = next((place for place in reversed(range(len(points))) if points[place].value is not None), None)
    for place, point in enumerate(points):
        if point.value is not None and (point.holds is False or place == last):
            x, y = at(place, float(point.value))
            kind = "bad" if point.holds is False else "accent"
            dot = f'<circle class="value {kind}" cx="{_n(x)}" cy="{_n(y)}" r="{3.5 if point.holds is False else 3}"/>'
            told = f"{point.run.label or point.run.where}: {_short(float(point.value))}"
            body += (
                f'<a href="{escape(link(point))}" tabindex="-1"><title>{escape(visible(told, 200))}</title>{dot}</a>'
            )
    if points:
        body += f'<text class="tick" x="{_LEFT}" y="{height - 4}">{escape(points[0].run.recorded_at[:10])}</text>'
        body += f'<text class="tick end" x="{right}" y="{height - 4}">{escape(points[-1].run.recorded_at[:10])}</text>'
    failed = sum(point.holds is False for point in points)
    span = f"{_short(known[0])} to {_short(known[-1])}" if known else "no value"
    words = f"{span} over {len(points)} runs; the gate failed in {failed} of them"
    return picture(body, width, height, title, words, "gates-over-time").replace('role="img"', 'role="group"', 1)


def gold_changes(points: Sequence[Point]) -> list[int]:
    """The places before which the gold set changed."""
    return [place for place in range(1, len(points)) if points[place].run.gold != points[place - 1].run.gold]


def _band(points: Sequence[Point], at: Callable[[float, float], tuple[float, float]]) -> str:
    body = ""
    for known, group in groupby(enumerate(points), key=lambda pair: pair[1].interval is not None):
        places = list(group)
        if known and len(places) > 1:
            upper = [at(place, point.interval[1]) for place, point in places if point.interval]
            lower = [at(place, point.interval[0]) for place, point in reversed(places) if point.interval]
            body += f'<path class="band" d="M{" ".join(f"{_n(x)} {_n(y)}" for x, y in (*upper, *lower))}Z"/>'
    return body


def _bound(points: Sequence[Point], at: Callable[[float, float], tuple[float, float]], op: str, right: int) -> str:
    """The threshold as it was in each run, and what it is now."""
    body, last = "", None
    for bound, group in groupby(enumerate(points), key=lambda pair: pair[1].bound):
        places = [place for place, _ in group]
        if bound is not None:
            start, end = max(places[0] - 0.5, 0), min(places[-1] + 0.5, max(len(points) - 1, 0))
            (left, y), (right_end, _) = at(start, bound), at(end, bound)
            body += f'<path class="bound" d="M{_n(left)} {_n(y)}H{_n(right_end)}"/>'
            last = bound
    if last is not None:
        sign = "≥" if op == ">=" else "≤"
        body += f'<text class="limit" x="{right + 5}" y="{_n(at(0, last)[1] + 4)}">{sign} {_short(last)}</text>'
    return body


def _lines(points: Sequence[Point], at: Callable[[float, float], tuple[float, float]]) -> list[str]:
    """The unbroken stretches of the values."""
    found = []
    for known, group in groupby(enumerate(points), key=lambda pair: pair[1].value is not None):
        if known:
            dots = [at(place, float(point.value or 0)) for place, point in group]
            found.append(" ".join(f"{_n(x)} {_n(y)}" for x, y in dots))
    return found


def _range(edges: Sequence[float]) -> tuple[float, float]:
    """From below the least to above the greatest, both round; within 0 and 1 where all are."""
    low, high = min(edges), max(edges)
    step = 10.0 ** math.floor(math.log10(high - low)) / 2 if high > low else 0.5
    inside = low >= 0 and high <= 1
    low, high = math.floor(low / step - 0.1) * step, math.ceil(high / step + 0.1) * step
    return (max(low, 0.0), min(high, 1.0)) if inside else (low, high)


def strip_of(branch: Branch, suite: str, qid: str, cells: Sequence[Cell | None]) -> str:
    failed = sum(cell is not None and not cell.passed for cell in cells)
    seen = sum(cell is not None for cell in cells)
    runs = branch.full[suite][-len(cells) :]
    marks = [place for place, (one, two) in enumerate(pairwise(runs), 1) if one.gold != two.gold]
    states = ["" if cell is None else "p" if cell.passed else "f" for cell in cells]
    return strip(states, f"{brief(qid, 60)} failed in {failed} of {seen} runs", marks)
