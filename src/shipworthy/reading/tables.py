"""Parquet: the same columns as JSON lines, read row by row in bounded memory."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import count
from typing import Any

from ..errors import DataError, UsageError, needs_extra
from ..text import visible
from .files import is_remote
from .limits import MAX_ROW
from .values import without_nulls

ROWS = 4096  # rows held in memory at a time


class ParquetRows:
    """Rows of a file as dicts with their numbers; a null is an absent field, since columns can't be absent."""

    cells = False

    def __init__(self, path: str) -> None:
        self.path = path
        self.digest = ""

    def __iter__(self) -> Iterator[tuple[int, dict[str, object]]]:
        for first, batch in self._batches():
            with _readable(self.path):
                yield from self._rows(batch, first)

    def _batches(self) -> Iterator[tuple[int, object]]:
        """The batches with the number of the first row of each."""
        with parquet_file(self.path) as table:
            _refuse_repeated(self.path, table.schema_arrow)
            with open_for_reading(self.path) as stream:
                self.digest = hashlib.file_digest(stream, "sha256").hexdigest()
            number = 1
            for batch in table.iter_batches(ROWS):
                batch.validate(full=True)
                if batch.nbytes > MAX_ROW:  # a batch that is small has no row that is large
                    self._measure(batch, number - 1)
                yield number, batch
                number += batch.num_rows

    def _rows(self, batch: Any, first: int) -> Iterator[tuple[int, dict[str, Any]]]:
        rows = _rows_of(batch)
        return enumerate(map(self._checked, batch.to_pylist(), count(first)) if rows is None else rows, first)

    def _measure(self, batch: Any, before: int) -> None:
        for index in range(batch.num_rows):
            if batch.slice(index, 1).nbytes > MAX_ROW:
                what = f"the row is larger than {MAX_ROW // 1_000_000} MB"
                hint = "Split the record, or leave out what is not scored."
                raise DataError(
                    what, where=f"{visible(self.path)}:{before + index + 1}", hint=hint, code="row-too-long"
                )

    def _checked(self, row: dict[str, object], number: int) -> dict[str, object]:
        if not _finite(row):
            where, hint = f"{visible(self.path)}:{number}", "Write null, or leave the field out."
            raise DataError("a number is not finite", where=where, hint=hint, code="nonfinite")
        found: dict[str, object] = without_nulls(_as_json(row))
        return found


def _refuse_repeated(path: str, fields: Iterable[Any], within: str = "") -> None:
    """Two columns, or two fields of an object, of one name: readers would disagree about the value."""
    met: set[str] = set()
    for field in fields:
        name = f"{within}{field.name}"
        if name in met:
            what, hint = f"the column {visible(repr(name), 80)} occurs twice", "Keep one of the two."
            raise DataError(what, where=visible(path), hint=hint, code="repeated-key")
        met.add(name)
        for inner, place in _parts_of(field.type, name):
            _refuse_repeated(path, inner, place)


def _parts_of(kind: Any, name: str) -> Iterator[tuple[Iterable[Any], str]]:
    """The fields of an object, or of the objects in a list."""
    import pyarrow.types as kinds

    while kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        kind, name = kind.value_type, f"{name}[*]"
    if kinds.is_struct(kind):
        yield kind, f"{name}."


def _rows_of(batch: Any) -> list[dict[str, Any]] | None:
    """The rows of a batch without its nulls, column by column; None where a number is not finite, or a type is rare."""
    try:
        columns = [_values(column) for column in batch.columns]
    except _Rare:
        return None
    return _zipped(batch.schema.names, columns)


class _Rare(Exception):
    """A column that is better read row by row."""


def _zipped(names: list[str], columns: list[list[object]]) -> list[dict[str, object]]:
    if not any(None in column for column in columns):
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return [
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in zip(*columns, strict=True)
    ]


def _values(column: Any) -> list[Any]:
    """The values of a column; of an object its fields that are not null, and None where it is null itself."""
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_struct(kind):
        objects = _zipped([field.name for field in kind], [_values(part) for part in column.flatten()])
        if column.null_count:
            return [one if valid else None for one, valid in zip(objects, column.is_valid().to_pylist(), strict=True)]
        return objects
    listed = kinds.is_list(kind) or kinds.is_large_list(kind)
    inner = kind.value_type if listed else kind
    text = kinds.is_string(inner) or kinds.is_large_string(inner)
    if not (text or kinds.is_integer(inner) or kinds.is_boolean(inner) or (kinds.is_floating(inner) and not listed)):
        raise _Rare
    values: list[Any] = column.to_pylist()
    if kinds.is_floating(kind) and not all(map(math.isfinite, filter(None, values))):
        raise _Rare
    return values


@contextmanager
def parquet_file(path: str) -> Iterator[Any]:
    """An open Parquet file; what pyarrow finds wrong with it is bad data."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise needs_extra("Parquet files need the package pyarrow", "parquet", visible(path)) from None
    with _readable(path), open_for_reading(path) as stream, pyarrow.parquet.ParquetFile(stream) as table:
        yield table


@contextmanager
def _readable(path: str) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, ArithmeticError) as error:
        raise DataError(
            f"is not a readable Parquet file: {visible(str(error), 200)}", where=visible(path), code="parquet"
        ) from None


def _finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(_finite, parts))


def _as_json(value: Any) -> Any:
    """A value as JSON lines would have it: times as text, decimals as numbers, bytes as the text that they are."""
    if isinstance(value, dict):
        return {name: _as_json(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_json(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    if value is None or isinstance(value, (str, int, float)):
        return value
    return float(value) if isinstance(value, Decimal) else str(value)


def open_for_reading(path: str) -> Any:
    if is_remote(path) and not os.path.exists(path):
        from .remote import open_remote

        return open_remote(path)
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a path"
        raise UsageError(f"can't be opened: {reason}", where=visible(path), code="no-file") from None
