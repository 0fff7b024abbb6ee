"""Per-item verdicts as tab-separated values, safe to open in a spreadsheet and to print in a CI log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..core.board import Board
from ..core.decision import Decision
from ..text import visible
from .views import inert

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'", "::")


def render(shown: Decision | Board) -> str:
    """One line an item; a board's lines begin with the suite, and have the columns of all suites."""
    items: Sequence[dict[str, Any]]
    if isinstance(shown, Board):
        items = [{"suite": decision.suite, **item} for decision in shown.decisions for item in decision.items]
    else:
        items = shown.items
    return table(items)


def table(items: Sequence[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(column for item in items for column in item))
    rows: list[list[Any]] = [columns, *([item.get(column) for column in columns] for item in items)]
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
    text = inert(visible(str(value)))
    return f"'{text}" if text.startswith(_FORMULA) else text
