"""Pictures as inline SVG: themed by the page's classes, with a title and a description that say the same in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

from ..core.gates import Outcome, sentence, state_in_words
from ..text import inert, visible
from . import views

_WIDTH, _HEIGHT = 440, 288
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 24, 26, 44


class Mark(NamedTuple):
    """A point of a chart, and what is written in it."""

    x: float
    y: float
    label: str = ""
    filled: bool = True
    reach: float | None = None  # how far a line goes on to the right of it, such as to a higher percentile


class Guide(NamedTuple):
    """A limit drawn across a chart: `x` or `y` is its place, the other one is None."""

    x: float | None
    y: float | None
    label: str


def picture(body: str, width: float, height: float, title: str, words: str, kind: str) -> str:
    """The frame that every picture has."""
    return (
        f'<svg class="{kind}" role="img" viewBox="0 0 {figure(width)} {figure(height)}" '
        f'aria-label="{_text(title)}: {_text(words)}">'
        f"<title>{_text(title)}</title><desc>{_text(words)}</desc>{body}</svg>"
    )


def gate_bar(outcome: Outcome) -> str:
    """The value with its interval on a scale, the bound, and the side on which the gate holds."""
    measure, bound = outcome.measure, outcome.bound
    if measure.value is None or bound is None or measure.kind == "count":
        return ""
    edges = [float(measure.value), float(bound), *(measure.interval or ())]
    low, high = (0.0, 1.0) if measure.kind == "rate" or 0 <= min(edges) <= max(edges) <= 1 else _span(edges)

    def at(value: float) -> float:
        return 6 + 248 * (min(max(value, low), high) - low) / ((high - low) or 1)

    limit, mood = at(float(bound)), views.mood(outcome)
    start, end = (limit, 254.0) if outcome.gate.op == ">=" else (6.0, limit)
    body = f'<rect class="track" x="6" y="19" width="248" height="8" rx="4"/>{_rect("zone", start, 19, end - start, 8)}'
    if measure.interval:
        left, right = (at(edge) for edge in measure.interval)
        body += _rect(f"interval {mood}", left, 17, max(right - left, 2), 12, 3)
    body += f'<path class="bound" d="M{figure(limit)} 13V33"/>' + _label(limit, 9, outcome.gate.bound.text, 260)
    body += f'<circle class="value {mood}" cx="{figure(at(float(measure.value)))}" cy="23" r="5.5"/>'
    interval = views.interval(measure)
    words = f"{sentence(outcome)}{f', 95 % interval {interval}' if interval else ''}"
    return picture(body, 260, 36, f"{outcome.gate}, {state_in_words(outcome)}", words, "gate")


def chart(
    points: Sequence[Mark],
    title: str,
    words: str,
    axes: tuple[str, str],
    *,
    joined: bool = True,
    path: Sequence[Mark] = (),
    limits: Iterable[Guide] = (),
) -> str:
    """Points on two axes; `path` is a line of its own, such as a frontier; limits are drawn across."""
    limits = list(limits)
    tails = [(point.x, point.reach, point.y) for point in points if point.reach is not None]
    spans = (
        _range([*(point.x for point in points), *(reach for _, reach, _ in tails)], [line.x for line in limits]),
        _range([point.y for point in points], [line.y for line in limits]),
    )

    def place(x: float, y: float) -> tuple[float, float]:
        (left, right), (low, high) = spans
        across = (x - left) / ((right - left) or 1)
        up = (y - low) / ((high - low) or 1)
        return _LEFT + across * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM)

    body = _axes(spans, axes, place(spans[0][0], spans[1][0]), place(spans[0][1], spans[1][1]))
    body += "".join(_limit(line, place, spans, order > 0) for order, line in enumerate(limits))
    drawn = path or (points if joined else ())
    if drawn:
        body += f'<path class="line" d="M{" L".join(_pair(place(point.x, point.y)) for point in drawn)}"/>'
    for x, reach, y in tails:
        start, end = place(x, y), place(reach, y)
        body += f'<path class="tail" d="M{_pair(start)}H{figure(end[0])}m0 -4v8"/>'
    for point in points:
        body += _dot(place(point.x, point.y), point.label, point.filled, len(points))
    return picture(body, _WIDTH, _HEIGHT, title, words, "chart")


def bars(rows: Sequence[tuple[str, float | None, float | None]], title: str, words: str) -> str:
    """A bar from 0 to 1 for each label, with a mark where its minimum is."""
    body = ""
    for place, (label, value, least) in enumerate(rows):
        y = place * 44
        body += f'<text x="0" y="{y + 14}">{_text(label)}</text>'
        body += f'<text class="end" x="440" y="{y + 14}">{"undefined" if value is None else f"{value:.3f}"}</text>'
        body += _rect("track", 0, y + 20, 440, 10, 3)
        if value is not None:
            mood = "accent" if least is None else "good" if value >= least else "bad"
            body += _rect(f"bar {mood}", 0, y + 20, 440 * min(max(value, 0.0), 1.0), 10, 3)
        if least is not None:
            body += f'<path class="bound" d="M{figure(440 * least)} {y + 16}V{y + 34}"/>'
    return picture(body, 440, max(len(rows) * 44, 1), title, words, "chart")


def pairs(rows: Sequence[tuple[str, float | None, float | None]], title: str, words: str) -> str:
    """Before (hollow) and after (filled) for each label, on a scale from 0 to 1."""
    body = ""
    for place, (label, before, after) in enumerate(rows):
        y = place * 40
        told = " → ".join("–" if value is None else f"{value:.3f}" for value in (before, after))
        body += f'<text x="0" y="{y + 14}">{_text(label)}</text><text class="end" x="440" y="{y + 14}">{told}</text>'
        body += _rect("track", 0, y + 24, 440, 4, 2)
        if before is not None and after is not None:
            mood = "good" if after >= before else "bad"
            body += _rect(f"bar {mood}", 6 + 428 * min(before, after), y + 24, 428 * abs(after - before), 4)
        for value, kind in ((before, "hollow"), (after, "accent")):
            if value is not None:
                body += f'<circle class="value {kind}" cx="{figure(6 + 428 * value)}" cy="{y + 26}" r="5.5"/>'
    return picture(body, 440, max(len(rows) * 40, 1), title, words, "chart")


def _axes(
    spans: tuple[tuple[float, float], tuple[float, float]],
    names: tuple[str, str],
    start: tuple[float, float],
    end: tuple[float, float],
) -> str:
    body = f'<path class="axis" d="M{figure(start[0])} {figure(end[1])}V{figure(start[1])}H{figure(end[0])}"/>'
    wide, tall = (high - low for low, high in spans)
    for share in (0, 0.25, 0.5, 0.75, 1):
        x, y = (start[0] + share * (end[0] - start[0])), (start[1] + share * (end[1] - start[1]))
        across, up = (low + share * (high - low) for low, high in spans)
        body += f'<text class="tick middle" x="{figure(x)}" y="{figure(start[1] + 16)}">{_short(across, wide)}</text>'
        body += f'<text class="tick end" x="{figure(start[0] - 6)}" y="{figure(y + 4)}">{_short(up, tall)}</text>'
        if share:
            body += f'<path class="grid" d="M{figure(start[0])} {figure(y)}H{figure(end[0])}"/>'
    body += f'<text class="middle" x="{figure((start[0] + end[0]) / 2)}" y="{_HEIGHT - 8}">{_text(names[0])}</text>'
    return body + f'<text x="4" y="11">{_text(names[1])}</text>'


def _limit(
    line: Guide,
    at: Callable[[float, float], tuple[float, float]],
    spans: tuple[tuple[float, float], tuple[float, float]],
    right_of: bool,
) -> str:
    """A limit with its label: to the left of the first line and to the right of others, so that they stay apart."""
    (left, right), (low, high) = spans
    if line.x is not None:
        x, bottom = at(line.x, low)
        _, top = at(line.x, high)
        end = "" if right_of or x < _LEFT + 60 else " end"
        place = f'x="{figure(x + (-5 if end else 5))}" y="{figure(bottom - 6)}"'
        return f'<path class="bound" d="M{figure(x)} {figure(top)}V{figure(bottom)}"/>' + (
            f'<text class="limit{end}" {place}>{_text(line.label)}</text>'
        )
    height = low if line.y is None else line.y
    start, y = at(left, height)
    finish, _ = at(right, height)
    words = f'<text class="limit" x="{figure(start + 5)}" y="{figure(y - 5)}">{_text(line.label)}</text>'
    return f'<path class="bound" d="M{figure(start)} {figure(y)}H{figure(finish)}"/>{words}'


def _dot(place: tuple[float, float], text: str, filled: bool, among: int) -> str:
    x, y = map(figure, place)
    mood = "accent" if filled else "hollow"
    if not text:
        return f'<circle class="value {mood}" cx="{x}" cy="{y}" r="{3.5 if among <= 40 else 1.5}"/>'
    number = f'<text class="inside middle {mood}" x="{x}" y="{figure(place[1] + 4)}">{text}</text>'
    return f'<circle class="value {mood}" cx="{x}" cy="{y}" r="9"/>{number}'


def _label(x: float, y: float, text: str, width: float) -> str:
    """A label at x that stays inside the picture."""
    side = " end" if x > width - 40 else " middle" if x > 40 else ""
    return f'<text class="limit{side}" x="{figure(min(max(x, 2), width - 2))}" y="{figure(y)}">{_text(text)}</text>'


def _rect(kind: str, x: float, y: float, width: float, height: float, round_: float = 0) -> str:
    corner = f' rx="{figure(round_)}"' if round_ else ""
    place = f'x="{figure(x)}" y="{figure(y)}" width="{figure(max(width, 0))}" height="{figure(height)}"'
    return f'<rect class="{kind}" {place}{corner}/>'


def _range(values: Sequence[float], limits: Iterable[float | None]) -> tuple[float, float]:
    edges = [*values, *(limit for limit in limits if limit is not None)] or [0.0, 1.0]
    low, high = min(0.0, *edges), max(edges)
    step = _step((high - low) / 4)
    return low, low + 4 * step


def _step(least: float) -> float:
    """The smallest round number that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least)) if least > 0 else 1.0
    return next(part * power for part in (1, 1.25, 1.5, 2, 2.5, 5, 10) if part * power >= least * (1 - 1e-9))


def _span(edges: Sequence[float]) -> tuple[float, float]:
    """From zero, or below the least, to a little beyond the greatest."""
    low, high = min(0.0, *edges), max(edges)
    return low - 0.05 * abs(low), high + 0.12 * (high - low)


def figure(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _short(value: float, span: float) -> str:
    """A tick's number with the digits that tell it from its neighbours on an axis of that length."""
    if span >= 40:
        return f"{value:,.0f}"
    digits = max(2 - math.floor(math.log10(span)), 0) if span > 0 else 2
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") or "0"


def _pair(place: tuple[float, float]) -> str:
    return f"{figure(place[0])} {figure(place[1])}"


def _text(text: str) -> str:
    return inert(escape(visible(text, 300)), "&#58;", "&#35;")
