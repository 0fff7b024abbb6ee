"""Arms: the configurations that are compared; which are worth choosing, and which to choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import msgspec

from ...core.contracts import Trace

ONLY = "default"  # the arm of traces that name none


class ArmPoint(NamedTuple):
    """An arm on the curve of speed against precision."""

    arm: str
    p95: Fraction
    precision: Fraction


class Choice(NamedTuple):
    """The three arms worth naming; None where no arm qualifies."""

    interactive: str | None
    batch: str | None
    knee: str | None


def arm_of(trace: Trace) -> str:
    """The arm's name, or its knobs in canonical form."""
    if trace.arm:
        return trace.arm
    return msgspec.json.encode(trace.knobs, order="sorted").decode() if trace.knobs else ONLY


def frontier(points: Iterable[ArmPoint]) -> list[ArmPoint]:
    """The points that no other one dominates, fastest first; equal points don't dominate each other."""
    every = list(points)
    kept = [point for point in every if not any(_dominates(other, point) for other in every)]
    return sorted(kept, key=lambda point: (point.p95, -point.precision, point.arm))


def _dominates(one: ArmPoint, other: ArmPoint) -> bool:
    """No slower and no less precise, and better in one of the two."""
    no_worse = one.p95 <= other.p95 and one.precision >= other.precision
    return no_worse and (one.p95 < other.p95 or one.precision > other.precision)


def choose(points: Sequence[ArmPoint], accurate: Mapping[str, bool], relaxed_ms: Fraction) -> Choice:
    """interactive: the fastest frontier arm that passes every accuracy gate. batch: the most precise arm within the
    relaxed budget. knee: the frontier point farthest from the chord."""
    front = frontier(points)
    fast = next((point.arm for point in front if accurate[point.arm]), None)
    within = [point for point in points if point.p95 <= relaxed_ms]
    best = min(within, key=lambda point: (-point.precision, point.p95, point.arm), default=None)
    return Choice(fast, best.arm if best else None, _knee(front) if len(front) >= 3 else fast)


def _knee(front: Sequence[ArmPoint]) -> str:
    """Both axes scaled to [0, 1], the chord runs from corner to corner, and the distance grows with |y - x|."""
    first, last = front[0], front[-1]
    width, height = last.p95 - first.p95, last.precision - first.precision
    if not width or not height:
        return first.arm

    def distance(point: ArmPoint) -> Fraction:
        return abs((point.precision - first.precision) / height - (point.p95 - first.p95) / width)

    return max(front, key=lambda point: (distance(point), -point.p95)).arm
