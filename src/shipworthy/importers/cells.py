"""Cells: lists inside the cells of a table, and what must not be taken for a value."""

from __future__ import annotations

import re

from ..errors import DataError
from ..text import visible
from .values import Unreadable, literal, text_of

_FORMULA = re.compile(r"=\s*(?:[A-Z][A-Z0-9.]*\(|\$?[A-Z]{1,3}\$?\d+\b)")


def cell(value: object, where: str) -> object:
    """A cell as a value; reprs that can't be read back and formulas are refused, never scored as an answer."""
    if not isinstance(value, str):
        return value
    refuse_formula(value, where)
    try:
        return literal(value)
    except Unreadable as problem:
        raise DataError(
            f"a cell holds {problem}",
            where=visible(where),
            hint="Write the table as JSON Lines or Parquet.",
            code="import-repr",
        ) from None


def refuse_formula(text: str, where: str) -> None:
    if _FORMULA.match(text):
        raise DataError(
            f"a cell holds a spreadsheet formula: {visible(text, 40)}",
            where=visible(where),
            hint="Export the values, not the formulas.",
            code="import-formula",
        )


def texts_in(value: object, where: str, separator: str = "") -> list[str]:
    """The texts of a cell: a list, JSON, a Python literal, texts with a separator between them, or one text."""
    value = cell(value, where)
    if isinstance(value, (list, tuple)):
        return [text for text in map(text_of, value) if text]
    text = text_of(value)
    if separator and text:
        return [part.strip() for part in text.split(separator) if part.strip()]
    return [text] if text else []
