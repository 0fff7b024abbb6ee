"""Values: JSON inside texts, the cells of tables, times and numbers in the ways that tools write them."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ..errors import DataError
from ..text import visible

LONGEST_LITERAL = 2_000_000  # characters of a cell that are read as a Python literal
_FORMULA = re.compile(r"=\s*(?:[A-Z][A-Z0-9.]*\(|\$?[A-Z]{1,3}\$?\d+\b)")


class Unreadable(ValueError):
    """Why a cell is neither JSON nor a Python literal."""


def loosened(value: object, times: int = 2) -> object:
    """JSON that stands inside a text, decoded at most twice; anything else as it is."""
    for _ in range(times):
        if not isinstance(value, str) or not value.lstrip()[:1] or value.lstrip()[0] not in '{["':
            break
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            break
    return value


def literal(text: str) -> object:
    """The list or object that a cell holds as JSON or as a Python literal; the text itself where it is neither."""
    stripped = text.strip()
    if not stripped or stripped[0] not in "[{":
        return text
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        pass
    if len(stripped) > LONGEST_LITERAL:
        raise Unreadable("a Python literal that is too long")
    try:
        value = ast.literal_eval(stripped)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        if _looks_like_repr(stripped):
            raise Unreadable("a Python repr that can't be read back") from None
        return text
    if _neighbouring_texts(stripped):
        raise Unreadable("a NumPy array written as text, which has lost its commas")
    return value


def _looks_like_repr(text: str) -> bool:
    return bool(re.match(r"[\[{]\s*(['\"{\[]|\w+\()", text)) and text[-1] in "]}"


def _neighbouring_texts(text: str) -> bool:
    """Python joins texts that stand side by side, so an array without commas would become one document."""
    previous = -1
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING and previous == tokenize.STRING:
                return True
            if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                previous = token.type
    except (tokenize.TokenError, SyntaxError):
        return False
    return False


def nanoseconds(value: object) -> int | None:
    """A time in nanoseconds since 1970, from ISO 8601 or from a number of seconds, milli-, micro- or nanoseconds.

    Whole numbers, because steps of a run may be closer to each other than floats of today can tell.
    """
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(type(part) is int for part in value):
        return int(value[0]) * _SECOND + int(value[1])  # [seconds, nanoseconds], as JavaScript writes it
    if isinstance(value, datetime):
        return _since_1970(value)
    if isinstance(value, str):
        text = value.strip()
        if not re.fullmatch(r"\d{9,20}(\.\d+)?", text):
            return _iso(text)
        value = int(text) if text.isdecimal() else float(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e20:
        return None
    factor = next((factor for least, factor in _UNITS if value > least), _SECOND)
    return value * factor if isinstance(value, int) else round(value * factor)


_SECOND = 1_000_000_000
_UNITS = ((1e17, 1), (1e14, 1_000), (1e11, 1_000_000))  # larger than this is nano-, micro-, milliseconds


def _iso(text: str) -> int | None:
    try:
        return _since_1970(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _since_1970(moment: datetime) -> int:
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000


def number(value: object) -> float | None:
    """A finite number, also where it is written as a text; a boolean is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        try:
            parsed = float(value)
        except ValueError:
            return None
        return parsed if math.isfinite(parsed) else None
    return None


def whole(value: object) -> int | None:
    parsed = number(value)
    return int(parsed) if parsed is not None and parsed == int(parsed) and abs(parsed) < 2**53 else None


def mapping(value: object) -> dict[str, object]:
    """An object, also where it is JSON inside a text; else an empty one."""
    value = loosened(value)
    return dict(value) if isinstance(value, Mapping) else {}


def sequence(value: object) -> list[object]:
    value = loosened(value)
    return list(value) if isinstance(value, (list, tuple)) else []


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list, also where it is JSON inside a text."""
    return [part for part in sequence(value) if isinstance(part, Mapping)]


def given(value: object) -> list[Any]:
    """A value as a list of one; of none where it is null."""
    return [] if value is None else [value]


def text_of(value: object) -> str:
    """A text or a number as a text; nothing for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def first(source: Mapping[str, object], names: Iterable[str]) -> Any:
    """The first of the named values that is there and not null."""
    for name in names:
        if (value := source.get(name)) is not None:
            return value
    return None


def last_line(error: str) -> str:
    """An error without its traceback: the last line, where one is attached."""
    text = error.strip()
    if "Traceback (most recent call last)" in text:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""
    return text


# Cells of tables


def cell(value: object, where: str) -> object:
    """A cell as a value; reprs that can't be read back and formulas are refused, never scored as an answer."""
    refuse_formula(text_of(value), where)
    return column(value, "a cell", where, "Write the table as JSON Lines or Parquet.")


def column(value: object, what: str, where: str, hint: str) -> object:
    """What stands in a column; a list or an object that was written as Python would show it is read back."""
    try:
        return literal(value) if isinstance(value, str) else value
    except Unreadable as problem:
        raise DataError(f"{what} holds {problem}", where=visible(where), hint=hint, code="import-repr") from None


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
