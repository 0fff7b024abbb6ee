"""Trends: earlier runs from history as a line in the size of a word, with the numbers beside it."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ...core.board import Board
from ...core.evidence import Row
from ...text import visible
from .. import svg
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
    return [_trend(name, runs[-MOST_RUNS:]) for name, runs in board.trends.items() if runs]


def _trend(name: str, runs: list[Row]) -> Trend:
    values = [_value(run) for run in runs]
    known = [value for value in values if value is not None]
    span = f"between {figure(min(known))} and {figure(max(known))}" if known else "never defined"
    words = f"{len(runs)} runs, {span}"
    shown = visible(name, 80)
    title = f"Trend of {shown}"
    return Trend(shown, svg.spark(values, title, words), figure(values[-1]), words, records(title, runs))


def _value(run: Row) -> float | None:
    value = run.get("value")
    return float(value) if isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) else None
