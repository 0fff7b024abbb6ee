"""Per-item verdicts as tab-separated values, safe to open in a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterable

from ..decision import Decision
from ..text import visible

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


def render(decision: Decision) -> str:
    columns = list(decision.items[0]) if decision.items else []
    rows = [columns, *([item[column] for column in columns] for item in decision.items)]
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
    text = visible(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text
