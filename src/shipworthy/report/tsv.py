"""Per-item verdicts as tab-separated values, safe to open in a spreadsheet and to print in a CI log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..text import one_line

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'", "::")


def render(shown: Decision | Board) -> str:
    """One line an item; a board's lines begin with the suite, and have the columns of all suites."""
    return table(rows_of(shown))


def rows_of(shown: Decision | Board) -> Sequence[Row]:
    if isinstance(shown, Board):
        return [{"suite": decision.suite, **item} for decision in shown.decisions for item in decision.items]
    return shown.items


def table(items: Sequence[Row]) -> str:
    columns = list(dict.fromkeys(column for item in items for column in item))
    rows: list[Sequence[object]] = [columns, *([item.get(column) for column in columns] for item in items)]
    return "".join("\t".join(map(cell, row)) + "\n" for row in rows)


def cell(value: object) -> str:
    """Numbers and booleans as they are; text without tabs and control characters, never a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        value = " ".join(map(str, value))
    text = one_line(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text
