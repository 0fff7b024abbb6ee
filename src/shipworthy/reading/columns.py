"""Columns: Parquet files into records, column by column, if no row needs individual attention.

A column is checked as a whole by the type of its field, and only the columns that the record has are read. Whatever
does not fit is left to the rows: this decides how long reading takes, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count, pairwise
from typing import Any, get_args, get_type_hints

import msgspec

from .keys import Keys
from .quick import lean_type


class NotPlain(Exception):
    """A column that is better read row by row."""


class Packed:
    """Records of some fields as bytes and back."""

    def __init__(self, record: type[msgspec.Struct], names: tuple[str, ...]) -> None:
        self._made_of = record, names
        self.kind = lean_type(record, names)
        self.encode = msgspec.msgpack.Encoder().encode
        self.decode = msgspec.msgpack.Decoder(self.kind).decode

    def __reduce__(self) -> tuple[object, ...]:
        return packed_of, self._made_of


@lru_cache(maxsize=64)  # a type is made each time, and rows come back from disk in thousands of pieces
def packed_of(record: type[msgspec.Struct], names: tuple[str, ...]) -> Packed:
    return Packed(record, names)


class Columns:
    """How the columns of a file become records of one type."""

    def __init__(self, names: Sequence[str], record: type[msgspec.Struct]) -> None:
        self.names, self.packed = list(names), packed_of(record, tuple(names))
        self._hints = get_type_hints(record)
        self._defaults = dict(zip(record.__struct_fields__, record.__struct_defaults__, strict=True))

    def read(self, batch: Any) -> list[Any] | None:
        """The records of a batch; None if rows must be read one by one."""
        try:
            columns = [self._column(name, batch.column(name)) for name in self.names]
        except (NotPlain, msgspec.ValidationError):
            return None
        return None if "" in columns[self.names.index("qid")] else list(map(self.packed.kind, *columns))

    def checked(self, first: int, batch: Any) -> Rows | None:
        """The batch with the names of its rows, after checking every column; None if rows must be read one by one."""
        try:
            for name in self.names:
                column = batch.column(name)
                check_column(column)
                self._column(name, _first_value(column))  # of one type, so one is enough
            names = self._column("qid", batch.column("qid"))
        except (NotPlain, msgspec.ValidationError):
            return None
        return None if "" in names else Rows(first, batch, names, self)

    def _column(self, name: str, column: Any) -> list[Any]:
        """The values of a column, each checked; a null is an absent field."""
        default = self._defaults[name]
        if column.null_count == len(column):
            return [default] * len(column)
        values = checked_values(column, self._hints[name])
        return [default if value is None else value for value in values] if column.null_count else values


def columns_of(schema: Any, record: type[Any], keys: Keys, moved: Collection[str]) -> Columns | None:
    """How a file's columns become records; None if rows must be read one by one."""
    import pyarrow.types as kinds

    sample: dict[str, object] = {
        field.name: {part.name: "" for part in field.type} if kinds.is_struct(field.type) else "" for field in schema
    }
    names = [name for name in schema.names if name in record.__struct_fields__]
    if len(sample) < len(schema.names) or keys.suspect([sample]) or not sample.keys().isdisjoint(moved):
        return None
    if "__lean__" not in vars(record) or record.__lean__(sample) is None:
        return None
    return Columns(names, record)


def _first_value(column: Any) -> Any:
    """The column from its first value that is no null, with nothing behind it."""
    nulls_first = column.null_count and column.null_count < len(column)
    return column.slice(column.is_valid().index(True).as_py() if nulls_first else 0, 1)


def check_column(column: Any) -> None:
    """Refuse what the column type allows but a record does not: non-finite numbers, nulls in lists, missing fields."""
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_floating(kind):
        plain_values(column)
    elif kinds.is_list(kind) or kinds.is_large_list(kind):
        edges = column.offsets
        if column.values.slice(edges[0].as_py(), edges[-1].as_py() - edges[0].as_py()).null_count:
            raise NotPlain
    elif kinds.is_struct(kind):
        for part in column.flatten():
            if part.null_count > column.null_count:
                raise NotPlain
            check_column(part)


def checked_values(column: Any, hint: Any) -> list[Any]:
    """The values of a column as a field of this type has them, None where it is null."""
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_struct(kind):
        return _objects(column, hint)
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        lists = _lists(column)
        msgspec.convert([next(filter(None, lists), None) or []], list[hint])  # of one type, so one is enough
        return lists
    values: list[object] = plain_values(column)
    found: list[object] = msgspec.convert(values, list[hint | None])
    return found


def plain_values(column: Any) -> list[Any]:
    """Texts, numbers or truth values."""
    import pyarrow.types as kinds

    kind = column.type
    text = kinds.is_string(kind) or kinds.is_large_string(kind)
    if not (text or kinds.is_integer(kind) or kinds.is_boolean(kind) or kinds.is_floating(kind)):
        raise NotPlain
    values: list[Any] = column.to_pylist()
    if kinds.is_floating(kind) and not all(map(math.isfinite, filter(None, values))):
        raise NotPlain
    return values


def _lists(column: Any) -> list[Any]:
    """Lists of texts, cut out of all texts at once."""
    import pyarrow.types as kinds

    inner, edges = column.type.value_type, column.offsets.to_pylist()
    first = edges[0]
    texts = column.values.slice(first, edges[-1] - first)
    if texts.null_count or not (kinds.is_string(inner) or kinds.is_large_string(inner)):
        raise NotPlain
    values = texts.to_pylist()
    return _or_none(column, [values[start - first : end - first] for start, end in pairwise(edges)])


def _or_none(column: Any, values: list[Any]) -> list[Any]:
    """The values, None where the column is null."""
    if not column.null_count:
        return values
    return [value if valid else None for value, valid in zip(values, column.is_valid().to_pylist(), strict=True)]


def _objects(column: Any, hint: Any) -> list[Any]:
    """Objects of the field's own type; only its first fields are present."""
    records = [kind for kind in get_args(hint) if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    parts = dict(zip([field.name for field in column.type], column.flatten(), strict=True))
    names = [name for name in records[0].__struct_fields__ if name in parts] if records else []
    if not names or tuple(names) != records[0].__struct_fields__[: len(names)]:
        raise NotPlain
    if any(parts[name].null_count > column.null_count for name in names):  # an object that lacks one of them
        raise NotPlain
    hints = get_type_hints(records[0])
    columns = (checked_values(parts[name], hints[name]) for name in names)
    return _or_none(column, list(map(records[0], *columns)))


class Rows:
    """A batch of rows that were checked by column, with their names; records are made on demand."""

    def __init__(self, first: int, batch: Any, names: list[str], columns: Columns) -> None:
        self.first, self.names = first, names
        self._batch, self._columns = batch, columns
        self.planned = "sweep_id" in columns.names  # whether they are runs of a plan

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[int, object]]:
        return zip(range(self.first, self.first + len(self)), self._columns.read(self._batch) or (), strict=True)

    def latest(self) -> dict[str, tuple[int, bytes, Packed]]:
        """The last record of each name with its position, as bytes to save memory; only these are made."""
        places = dict(zip(self.names, count(), strict=False))
        every = len(places) == len(self)
        picked = self._batch if every else self._batch.take(list(places.values()))
        return dict(zip(places, self._packed(picked, places.values()), strict=True))

    def packed(self) -> Iterator[tuple[int, bytes, Packed]]:
        """The same for every record."""
        return self._packed(self._batch, range(len(self)))

    def _packed(self, batch: object, places: Iterable[int]) -> Iterator[tuple[int, bytes, Packed]]:
        packed, records = self._columns.packed, self._columns.read(batch) or ()
        for place, record in zip(places, records, strict=True):
            yield self.first + place, packed.encode(record), packed

    def moved(self, by: int) -> Rows:
        """The same rows at later positions."""
        return Rows(self.first + by, self._batch, self.names, self._columns) if by else self
