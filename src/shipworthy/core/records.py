"""Records: those of a file, of a part of one, or of an iterable, each checked by its contract."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..reading.jsonl import Problem, Problems, Reader, Refused
from ..reading.keys import Keys
from ..reading.parts import Part
from ..reading.strict import as_record
from .inputs import Batch, Input, Key

if TYPE_CHECKING:
    from ..reading.tables import ParquetRows


def typed_records(
    source: object,
    record: type[object],
    problems: Problems,
    read: Input,
    keys: Keys,
    mapping: tuple[str, Iterable[str]] = ("trace", ()),
) -> Iterator[tuple[int, Any]]:
    """Records of a file, of a part of one, or of an iterable, each checked by its contract."""
    return chain.from_iterable(typed_batches(source, record, problems, read, keys, (), False, mapping))


def typed_batches(
    source: Any,
    record: type[Any],
    problems: Problems,
    read: Input,
    keys: Keys,
    fields: Iterable[str],
    unnamed: bool,
    mapping: tuple[str, Iterable[str]],
    key: Key | None = None,
    with_records: bool = False,
) -> Iterator[Batch]:
    """The same in batches.

    With a key they come as checked lines where that is possible, with or without the records that are made of them.
    """
    kind, pairs = mapping[0], tuple(mapping[1])
    if is_path(source):
        read.path = os.fspath(source)
    rows = _rows_of(source, problems)
    if rows is None and not (fields or unnamed or pairs):
        amend = partial(_name_as_text, read)
        typed = Reader(source, record, problems, keys=keys, warn=read.warn, amend=amend)
        yield from typed.batches(key, with_records=with_records)
        read.learn(typed)
        read.records = typed.records
        return
    if kind == "trace" and hasattr(rows, "typed") and not (fields or unnamed or pairs):
        yield from _column_batches(rows, record, problems, read, keys, key is not None)
        read.digest = rows.digest
        return
    reader = Reader(source, dict, problems, warn=read.warn) if rows is None else None
    plain = rows if reader is None else reader
    if pairs or (is_path(source) and reader is None):
        from .mapped import mapped_rows

        plain = mapped_rows(plain, kind, pairs, read, problems)
    yield _converted(plain or (), record, problems, read, keys, fields, unnamed)
    if reader is not None:
        read.learn(reader)
    elif is_path(source):
        read.digest = getattr(rows, "digest", "")


def _column_batches(
    table: ParquetRows, record: type[object], problems: Problems, read: Input, keys: Keys, lazy: bool
) -> Iterator[Batch]:
    """Records of a Parquet file by column; batches with a row that needs a look of its own, row by row."""
    from ..reading.mapping import MOVED
    from .mapped import mapped_rows

    for checked, rows in table.typed(record, keys, MOVED):
        if checked is not None:
            read.records += len(checked)
            yield checked if lazy else iter(checked)
            continue
        mapped, read.mapped = read.mapped, None
        yield _converted(mapped_rows(rows, "trace", (), read, problems), record, problems, read, keys, (), False)
        if mapped is not None and read.mapped is not None:
            mapped += read.mapped
        read.mapped = mapped or read.mapped


def is_other_format(path: str | os.PathLike[str]) -> bool:
    """Whether a file is no JSON lines, by its name."""
    return os.fspath(path).lower().endswith(_OTHER_FORMATS)


def _rows_of(source: Any, problems: Problems) -> Any:
    """Numbered rows of what is not a file of JSON lines; None where it is one."""
    if not is_path(source):
        return enumerate(source, 1)
    if not is_other_format(source):
        return None
    from ..reading.formats import open_rows

    return open_rows(source if isinstance(source, Part) else os.fspath(source), problems)


_OTHER_FORMATS = tuple(
    f"{name}{packed}" for name in (".json", ".csv", ".tsv", ".parquet") for packed in ("", ".gz", ".zst")
)


def _converted(
    numbered: Iterable[tuple[int, Any]],
    record: type[Any],
    problems: Problems,
    read: Input,
    keys: Keys,
    fields: Iterable[str],
    unnamed: bool,
) -> Iterator[tuple[int, object]]:
    """Records of an iterable, or of a file whose further fields are wanted."""
    for number, value in numbered:
        read.records += 1
        if isinstance(value, record):
            yield number, value
            continue
        if unnamed and isinstance(value, Mapping) and not (value.get("qid") or value.get("q_id")):
            continue
        try:
            if isinstance(value, Mapping):
                value = dict(value)
                keys.check(value)
                _name_as_text(read, number, value)
            found = as_record(value, record)
        except Refused as refusal:
            problems.add(Problem(read.path, number, refusal.what, refusal.hint, refusal.code))
            continue
        if fields:
            found.fields = {name: str(value[name]) for name in fields if value.get(name) is not None}
        yield number, found


def _name_as_text(read: Input, number: int, value: dict[str, object]) -> None:
    """A number for a qid is read as its decimal string, with a warning."""
    for key in ("qid", "q_id", "id"):
        name = value.get(key)
        if type(name) is int:
            value[key] = str(name)
            read.warn(number, f"the {key} {name} is a number; it was read as a string", "qid-number")


def path_of(source: object, name: str) -> str:
    """Where it lies; what is no file is named by the input."""
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else f"<{name}>"


def is_path(source: object) -> bool:
    return isinstance(source, (str, os.PathLike))
