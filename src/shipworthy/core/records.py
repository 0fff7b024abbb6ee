"""Records: those of a file, of a part of one, or of an iterable, each checked by its contract."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..reading.jsonl import Problem, Problems, Reader, Refused
from ..reading.keys import Keys
from ..reading.mapping import FLAT, MOVED, shaped
from ..reading.parts import Part
from ..reading.plans import note_runs
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
        typed = reader_of(source, record, problems, read, keys, kind)
        yield from typed.batches(key, with_records=with_records)
        read.learn(typed)
        read.records = typed.records
        return
    if kind == "trace" and hasattr(rows, "typed") and not (fields or unnamed or pairs):
        yield from _column_batches(rows, record, problems, read, keys, key is not None)
        read.digest = rows.digest
        return
    from .mapped import mapped_rows

    reader = Reader(source, dict, problems, warn=read.warn) if rows is None else None
    plain = mapped_rows(rows if reader is None else reader, kind, pairs, read, problems)
    yield _converted(plain, record, problems, read, keys, fields, unnamed)
    if reader is not None:
        read.learn(reader)
    elif is_path(source):
        read.digest = getattr(rows, "digest", "")


def reader_of(source: Any, record: type[Any], problems: Problems, read: Input, keys: Keys, kind: str) -> Reader[Any]:
    """JSON lines as records of a gold set or a trace file; a line that the fast path refuses is brought into shape."""
    return Reader(
        source,
        record,
        problems,
        keys=keys,
        warn=read.warn,
        amend=partial(_name_as_text, read),
        shaped=partial(shaped, kind=kind),
        flat=FLAT if kind == "trace" else frozenset(),
    )


def _column_batches(
    table: ParquetRows, record: type[object], problems: Problems, read: Input, keys: Keys, lazy: bool
) -> Iterator[Batch]:
    """Records of a Parquet file by column; batches with a row that needs a look of its own, row by row."""
    from .mapped import mapped_rows

    for checked, rows in table.typed(record, keys, MOVED):
        if checked is None:
            yield _converted(mapped_rows(rows, "trace", (), read, problems), record, problems, read, keys, (), False)
        else:
            read.records += len(checked)
            if checked.planned:
                note_runs(read.plans, (record for _, record in checked))
            yield checked if lazy else iter(checked)


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
            note_runs(read.plans, [value])
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
            found.fields = {name: text for name in fields if (text := _text_of(value.get(name)))}
        note_runs(read.plans, [found])
        yield number, found


def _text_of(value: object) -> str:
    """A value as a cell of a table has it, so that a slice has the same name in every format."""
    text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
    return text if text.strip() else ""


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
