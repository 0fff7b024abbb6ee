"""Frames: tables of pandas, Polars, pyarrow and Hugging Face as rows, and rows as such a table.

None of these libraries is imported unless a table of it came in, or is asked for.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ..errors import DataError, UsageError
from ..text import first_few, visible
from .values import KINDS, MapError, convert

LIBRARIES = ("pandas", "polars", "pyarrow", "datasets")
_NAMES = ("qid", "q_id", "id")
_TEXTS = ("text", "any")
_NOTHING = ("NAType", "NaTType")


def library_of(source: object) -> str:
    """The library that a table is from; nothing for what is no table."""
    if isinstance(source, (str, bytes, os.PathLike, list, tuple)) or (
        isinstance(source, Mapping) and not _splits(source)
    ):
        return ""
    top = type(source).__module__.partition(".")[0]
    if top in LIBRARIES:
        return top
    tabular = hasattr(source, "__arrow_c_stream__") or hasattr(source, "to_dicts")
    return "pandas" if hasattr(source, "iloc") and hasattr(source, "to_dict") else "pyarrow" if tabular else ""


def rows_of(source: Any, name: str) -> list[dict[str, Any]]:
    """The rows of a table as plain values. NaN, NA and null are absent fields, as in every other format.

    A text in a column that takes a list, a number or a flag is read as the cell of a table is.
    """
    kind = "gold" if name == "gold" else "trace"
    return [_row(row, number, name, kind) for number, row in enumerate(_raw(source, name), 1)]


def _raw(source: Any, name: str) -> Iterable[Mapping[Any, Any]]:
    if _splits(source):
        raise _refusal(name, f"has several splits: {first_few(list(map(str, source)))}", "Choose one: data['train'].")
    if hasattr(source, "collect") and not hasattr(source, "to_dicts"):
        raise _refusal(name, "is a lazy frame, which holds no rows yet", "Call .collect() on it.")
    if hasattr(source, "iloc") and hasattr(source, "to_dict"):
        return _pandas(source, name)
    if hasattr(source, "to_dicts"):  # Polars, whose frames can't have a name twice
        return source.to_dicts()  # type: ignore[no-any-return]
    if hasattr(source, "read_all"):
        source = source.read_all()
    if not hasattr(source, "to_pylist"):
        if not hasattr(source, "__arrow_c_stream__"):
            return source  # type: ignore[no-any-return]  # a dataset of Hugging Face gives its rows one by one
        source = _imported("pyarrow").table(source)
    if not hasattr(source, "schema"):
        raise _refusal(name, "is a single column", "Give a table.")
    _refuse_repeated(source.schema.names, name)
    return source.to_pylist()  # type: ignore[no-any-return]


def _pandas(frame: Any, name: str) -> list[dict[Any, Any]]:
    if not hasattr(frame, "columns"):
        raise _refusal(name, "is a single column", "Give a DataFrame.")
    if any(label is not None for label in frame.index.names):  # such as qid, after set_index
        if repeated := set(frame.index.names) & set(frame.columns):
            what = f"has an index and a column named {visible(str(next(iter(repeated))), 60)!r}"
            raise _refusal(name, what, "Drop one of the two.")
        frame = frame.reset_index()
    _refuse_repeated(list(frame.columns), name)
    return frame.to_dict("records")  # type: ignore[no-any-return]


def _refuse_repeated(names: Sequence[object], name: str) -> None:
    for label in names:
        if not isinstance(label, str):
            what = f"has a column named {visible(repr(label), 60)}, which is no text"
            raise _refusal(name, what, "Rename the columns, one text each.")
    if repeated := next((label for at, label in enumerate(names) if label in names[:at]), None):
        raise _refusal(name, f"has two columns named {visible(str(repeated), 60)!r}", "Keep one of the two.")


def _row(row: Mapping[Any, Any], number: int, name: str, kind: str) -> dict[str, Any]:
    where, fields = f"<{name}>:{number}", KINDS[kind]
    if not isinstance(row, Mapping):
        raise DataError(f"expected a row, found {type(row).__name__}", where=where, code="frame")
    found: dict[str, Any] = {}
    try:
        for label, value in row.items():
            plain = None if _is_absent(value) else _plain(value, str(label))
            whole = label in _NAMES or fields.get(label) == "whole"
            if isinstance(plain, float) and whole and plain.is_integer():
                plain = int(plain)  # pandas makes floats of whole numbers where one is absent
            if isinstance(plain, str) and fields.get(label, "text") not in _TEXTS:
                taken = fields[label]
                plain = convert(plain, "list" if taken == "ids" else taken, label, True)
            if plain is not None:
                found[str(label)] = plain
    except MapError as error:
        raise DataError(str(error), where=where, hint="Check the column.", code="frame") from None
    return found


def _is_absent(value: object) -> bool:
    return value is None or type(value).__name__ in _NOTHING or (isinstance(value, float) and math.isnan(value))


def _plain(value: Any, label: str) -> Any:
    """A value as JSON has it: arrays as lists, times as texts, decimals as numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        raise MapError(f"{label}: a number is not finite")
    if value is None or isinstance(value, (str, bool, int, float)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return {str(key): _plain(part, label) for key, part in value.items() if not _is_absent(part)}
    for method in ("tolist", "to_list"):
        if hasattr(value, method):  # arrays and scalars of NumPy, series
            listed = getattr(value, method)()
            return _plain(listed, label) if type(listed) is not type(value) else str(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return [_plain(part, label) for part in parts]
    if isinstance(value, Decimal):
        return float(value)
    if hasattr(value, "isoformat"):
        return str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise MapError(f"{label}: bytes that are no text") from None
    raise MapError(f"{label}: a {type(value).__name__} has no place in a record")


def _splits(source: object) -> bool:
    """A dataset of Hugging Face that is a dict of datasets."""
    return isinstance(source, Mapping) and type(source).__module__.partition(".")[0] == "datasets"


def _refusal(name: str, what: str, hint: str) -> DataError:
    return DataError(what, where=f"<{name}>", hint=hint, code="frame")


def _imported(library: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError:
        hint = f"pip install {library}"
        raise UsageError(f"this needs the package {library}", hint=hint, code="needs-extra") from None


def frame_of(rows: Iterator[dict[str, Any]], library: str) -> Any:
    """Rows as a table of a library; every row has every column, in the order in which they first come."""
    if library not in LIBRARIES:
        hint = f"Use one of {', '.join(LIBRARIES)}."
        raise UsageError(f"there is no library {visible(library, 60)!r} to give rows in", hint=hint, code="frame")
    module = _imported(library)
    listed = list(rows)
    names = list(dict.fromkeys(name for row in listed for name in row))
    columns = {name: _alike([row.get(name) for row in listed]) for name in names}
    if library == "pandas":
        return module.DataFrame(columns)
    if library == "polars":
        return module.DataFrame(columns, strict=False)
    table = _imported("pyarrow").table(columns)
    return table if library == "pyarrow" else module.Dataset(table)


def _alike(column: list[Any]) -> list[Any]:
    """A column of values that one type can hold; else their JSON."""
    import json

    kinds = {type(value) for value in column if value is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        return [value if value is None or type(value) is str else json.dumps(value) for value in column]
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in column]
    return column
