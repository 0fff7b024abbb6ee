"""Trends: earlier runs from history as a line, with the gate and the numbers beside it."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ...core.board import Board
from ...core.evidence import Row
from ...history.page import trend_svg
from ...text import visible
from .tables import Table, figure, records

MOST_RUNS = 30


class Trend(NamedTuple):
    """A metric over the last runs."""

    name: str
    svg: str
    last: str
    words: str
    table: Table


def trends(board: Board) -> list[Trend]:
    bounds: dict[str, list[tuple[str, float]]] = {}
    for decision in board.decisions:
        for outcome in decision.outcomes:
            if outcome.bound is not None:
                sign = "≥" if outcome.gate.op == ">=" else "≤"
                bounds.setdefault(f"{decision.suite} {outcome.gate.key}", []).append((sign, float(outcome.bound)))
    return [_trend(name, runs[-MOST_RUNS:], bounds.get(name, [])) for name, runs in board.trends.items() if runs]


def _trend(name: str, runs: list[Row], bounds: list[tuple[str, float]]) -> Trend:
    values = [_value(run) for run in runs]
    known = [value for value in values if value is not None]
    span = f"between {figure(min(known))} and {figure(max(known))}" if known else "never defined"
    words = f"{len(runs)} runs, {span}"
    shown = visible(name, 80)
    title = f"Trend of {shown}"
    drawn = trend_svg(title, values, [str(run.get("recorded_at", "")) for run in runs], bounds)
    return Trend(shown, drawn if known else "", figure(values[-1]), words, records(title, runs))


def _value(run: Row) -> float | None:
    value = run.get("value")
    return float(value) if isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) else None
