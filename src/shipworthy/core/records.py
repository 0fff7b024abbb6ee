"""Records: what the lines of a gold set or a trace file are.

Lines are skimmed while they are read: each must be JSON in UTF-8 and name one question. A line that counts is checked
in full when its question is judged. Rows of other formats, and mapped ones, are written as lines first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from ..reading.jsonl import JOURNAL, Problem, Reader, Refused, deep, suspicious
from ..reading.keys import Keys
from ..reading.plans import add_plans, note_runs
from ..reading.strict import as_record, strict_object
from ..reading.values import FLAT, shaped
from .contracts import Gold, Trace, gold_keys, trace_keys
from .inputs import Block, Input, Line, Refusal

_TOGETHER = 64  # lines that are checked together where something among many is odd
_ROWS = 256  # rows that are written as lines together


class Contract(msgspec.Struct, frozen=True):
    """How the lines of an input become records. It can be pickled."""

    kind: str  # gold or trace
    record: type[Any]
    map: tuple[str, ...] = ()  # where fields are in another system's record
    fields: tuple[str, ...] = ()  # further fields of a gold item, to slice by
    unnamed: bool = False  # leave out records without a qid, as the original scripts did
    needs: tuple[str, ...] = ()  # at least one record of a file has at least one of these
    check_first: bool = False  # in full before one line replaces another: where bad lines are left out
    check: Callable[[Any], tuple[str, str, str] | None] | None = None  # what else is wrong with a record

    def blocks(self, source: Any, read: Input, decode: bool = False) -> Iterator[Block]:
        """The lines of a file, of a part of one, or the records of an iterable, with their questions.

        With `decode`, lines are the records that they hold, wherever they hold one plainly.
        """
        if not is_path(source):
            yield from self._objects(source, read)
            return
        read.path = os.fspath(source)
        table = open_table(source, read) if is_other_format(source) else None
        strict = Strict(self, read, source, decode)
        if table is None and not self.map:
            for first, text, lines in strict.reader.blocks():
                yield from strict.block(range(first, first + len(lines)), text, lines)
            read.learn(strict.reader)
            return
        from .mapped import mapped_rows

        rows = Reader(source, dict, read.found, warn=read.warn) if table is None else table
        plain = mapped_rows(rows, self.kind, self.map, read, read.found)
        while some := list(islice(plain, _ROWS)):
            lines = [_line_of(row) for _, row in some]
            yield from strict.block([place for place, _ in some], b"\n".join(lines), lines)
        add_plans(read.plans, strict.reader.plans)
        if isinstance(rows, Reader):
            read.learn(rows)
        else:
            read.digest = rows.digest

    def keys(self) -> Keys:
        return gold_keys() if self.kind == "gold" else trace_keys()

    def _objects(self, source: Iterable[Any], read: Input) -> Iterator[Block]:
        """Records of an iterable, which are checked as they come, and stay the objects that they are."""
        from .mapped import mapped_rows

        read.path = read.path or f"<{self.kind}>"
        rows = mapped_rows(enumerate(source, 1), self.kind, self.map, read, read.found)
        records = self._from_objects(rows, read)
        while some := list(islice(records, _ROWS)):
            if self.needs and not read.fits.get(read.path):
                read.fits[read.path] = any(self.fits(record) for _, record in some)
            note_runs(read.plans, (record for _, record in some))
            yield [place for place, _ in some], [record.qid for _, record in some], [record for _, record in some]

    def _from_objects(self, rows: Iterable[tuple[int, Any]], read: Input) -> Iterator[tuple[int, Any]]:
        keys = self.keys()
        for number, value in rows:
            read.records += 1
            if isinstance(value, self.record):
                yield number, value
                continue
            if self.unnamed and isinstance(value, Mapping) and not (value.get("qid") or value.get("q_id")):
                continue
            record = _from_object(number, value, self.record, keys, read)
            if record is not None:
                if self.fields:
                    record.fields = fields_in(value, self.fields)
                yield number, record

    def records(self, lines: Sequence[Line], refuse: Callable[[Refusal], None]) -> list[Any]:
        """A record for each line, checked in full; None for one that is refused."""
        found = [data for _, data in lines]
        if bytes in set(map(type, found)):  # else they were decoded while they were read, or came as records
            found = _strict(self).records(lines, refuse)
        if self.check is not None:
            for at, record in enumerate(found):
                if record is not None and (wrong := self.check(record)) is not None:
                    refuse(Refusal(lines[at][0], *wrong, counted=True))
                    found[at] = None
        return found

    def fits(self, record: Any) -> bool:
        return any(getattr(record, name) not in (UNSET, None, "") for name in self.needs)


class _Named(msgspec.Struct, gc=False):
    qid: str


class _NamedItem(msgspec.Struct, gc=False):
    qid: str
    id: str | UnsetType = UNSET


class _Run(msgspec.Struct, gc=False):
    """What plans ask of a run, whatever it is."""

    qid: Any = None
    sweep_id: Any = None
    planned_runs: Any = None
    run_id: Any = None
    seed: Any = None
    jitter: Any = None
    paraphrase: Any = None
    temperature: Any = None
    arm: Any = None
    load_rps: Any = None


_name_in = msgspec.json.Decoder(_Named).decode
_item_name_in = msgspec.json.Decoder(_NamedItem).decode
_run_in = msgspec.json.Decoder(_Run).decode
_encode = msgspec.json.Encoder().encode


class Strict:
    """The lines of one file while they are read, or of some questions while they are judged."""

    def __init__(self, contract: Contract, read: Input, source: Any = "", decode: bool = False) -> None:
        self._contract, self._read, self._decodes = contract, read, decode
        self._decode = msgspec.json.Decoder(contract.record).decode
        self._typed = contract.record in (Gold, Trace)  # others make keys of keys, which would be miscounted
        self.reader: Reader[Any] = Reader(
            source,
            contract.record,
            read.found,
            keys=contract.keys,
            warn=read.warn,
            amend=partial(_name_as_text, read),
            shaped=partial(shaped, kind=contract.kind),
            flat=FLAT if contract.kind == "trace" else frozenset(),
        )

    # --- while they are read ---

    def block(self, places: Sequence[int], text: bytes, lines: list[bytes]) -> Iterator[Block]:
        """The lines with their questions; where something is odd, one by one, and without those that are refused."""
        contract, read = self._contract, self._read
        records = names = None
        if JOURNAL not in text:
            if self._decodes or contract.check_first:
                records = self._at_once(lines)
                if records is not None and contract.check_first and contract.check is not None:
                    records = None if any(map(contract.check, records)) else records
            if records is not None:
                names = [record.qid for record in records]
            elif self._decodes and len(lines) > _TOGETHER:
                for start in range(0, len(lines), _TOGETHER):
                    some = slice(start, start + _TOGETHER)
                    yield from self.block(places[some], b"".join(lines[some]), lines[some])
                return
            elif not contract.check_first:
                names = self._names(text, lines)
        if names is None:
            for place, line in zip(places, lines, strict=True):
                yield from self._one(place, line)
            return
        if contract.needs and not read.fits.get(read.path):
            some_records = records or _strict(contract).records(list(zip(places, lines, strict=True)), _ignore)
            read.fits[read.path] = any(contract.fits(record) for record in some_records if record is not None)
        if b'"sweep_id"' in text:
            note_runs(read.plans, records or map(_run_in, lines))
        read.records += len(lines)
        yield places, names, records if self._decodes and records is not None else lines

    def _names(self, text: bytes, lines: list[bytes]) -> list[str] | None:
        """The question of each line; None unless each is one JSON object in UTF-8 that names it once, plainly."""
        if text.count(b'"qid"') != len(lines) or b'"q_id"' in text:
            return None
        try:
            if suspicious(text):
                return None
            if self._contract.kind == "gold" and b'"id"' in text:
                items = list(map(_item_name_in, lines))
                names = [item.qid for item in items]
                if any(item.id is not UNSET for item in items):
                    return None
            else:
                names = [named.qid for named in map(_name_in, lines)]
        except (ValueError, RecursionError):
            return None
        return None if "" in names else names

    def _one(self, place: int, line: bytes) -> Iterator[Block]:
        if not line or line.isspace():
            return
        contract, read = self._contract, self._read
        names = None if JOURNAL in line or contract.check_first else self._names(line, [line])
        record = None
        if names is None or (contract.needs and not read.fits.get(read.path)):
            if contract.unnamed and _is_nameless(line):
                read.records += 1
                return
            found = None if JOURNAL in line else self.reader.at_once(line, [line])
            record = found[0] if found else self.reader.slowly(place, line)
            if record is None:
                return
            names = [record.qid]
            if contract.needs:
                read.fits[read.path] = read.fits.get(read.path, False) or contract.fits(record)
            if contract.check is not None and contract.check_first and (wrong := contract.check(record)) is not None:
                read.records += 1
                read.found.add(Problem(read.path, place, *wrong))
                return
        if b'"sweep_id"' in line:
            note_runs(read.plans, [record or _run_in(line)])
        read.records += 1
        yield [place], names, [line.removeprefix(b"\xef\xbb\xbf")]

    # --- while they are judged ---

    def records(self, lines: Sequence[Line], refuse: Callable[[Refusal], None]) -> list[Any]:
        """A record for each line; all at once where nothing is odd, else few at a time, and one by one."""
        found = [data for _, data in lines]
        left = [at for at, data in enumerate(found) if type(data) is bytes]
        records = self._at_once([found[at] for at in left])
        if records is None:
            records = []
            for start in range(0, len(left), _TOGETHER):
                some = left[start : start + _TOGETHER]
                more = self._at_once([found[at] for at in some])
                records += more or [self._record(lines[at], refuse) for at in some]
        for at, record in zip(left, records, strict=True):
            found[at] = record
        return found

    def _at_once(self, lines: list[bytes]) -> list[Any] | None:
        """Typed, and written again with as many colons, so that no key was lost; or by way of plain objects."""
        text = b"\n".join(lines)
        found = None
        if self._typed and b'"q_id"' not in text:
            try:
                if suspicious(text) or deep(lines):
                    return None
                found = list(map(self._decode, lines))
                if _encode(found).count(b":") != text.count(b":"):
                    found = None
            except (ValueError, RecursionError):
                found = None
        if found is None and len(lines) <= _TOGETHER:
            found = self.reader.at_once(text, lines)
        if found is not None and self._contract.fields:
            for record, line in zip(found, lines, strict=True):
                record.fields = fields_in(_object(line), self._contract.fields)
        return found

    def _record(self, line: Line, refuse: Callable[[Refusal], None]) -> Any:
        place, text = line
        if found := self._at_once([text]):
            return found[0]
        problems = self._read.found
        before = problems.total
        record = self.reader.slowly(place, text)
        if problems.total > before:
            last = problems.first[-1]
            refuse(Refusal(place, last.what, last.hint, last.code))
            problems.first.clear()  # of an input that nobody else sees
        elif record is not None and self._contract.fields:
            record.fields = fields_in(_object(text), self._contract.fields)
        return record


@lru_cache(maxsize=16)
def _strict(contract: Contract) -> Strict:
    """One for all questions of a run, so that what it learns of unknown keys is learnt once."""
    return Strict(contract, Input())


def _ignore(refusal: Refusal) -> None: ...


class Table(Protocol):
    @property
    def digest(self) -> str: ...
    def __iter__(self) -> Iterator[tuple[int, dict[str, object]]]: ...


def open_table(source: Any, read: Input) -> Table | None:
    """The rows of a file that is not JSON lines; None where it is."""
    from ..reading.formats import open_rows

    return open_rows(os.fspath(source), read.found)


def mapped_records(
    source: Any, record: type[Any], read: Input, keys: Keys, kind: str, pairs: tuple[str, ...]
) -> Iterator[tuple[int, Any]]:
    """Records of a table, or of a file whose fields are mapped, each checked as it comes."""
    from .mapped import mapped_rows

    read.path = os.fspath(source)
    rows = open_table(source, read) if is_other_format(source) else None
    reader = Reader(source, dict, read.found, warn=read.warn)
    for number, row in mapped_rows(reader if rows is None else rows, kind, pairs, read, read.found):
        read.records += 1
        found = _from_object(number, row, record, keys, read)
        if found is not None:
            note_runs(read.plans, [found])
            yield number, found
    if rows is None:
        read.learn(reader)
    else:
        read.digest = rows.digest


def _from_object(number: int, value: Any, record: type[Any], keys: Keys, read: Input) -> Any:
    """An object as a record; None where it is refused, which is a problem of the input."""
    try:
        if isinstance(value, Mapping):
            value = dict(value)
            keys.check(value)
            _name_as_text(read, number, value)
        return as_record(value, record)
    except Refused as refusal:
        read.found.add(Problem(read.path, number, refusal.what, refusal.hint, refusal.code))
        return None


_OTHER_FORMATS = tuple(
    f"{name}{packed}" for name in (".json", ".csv", ".tsv", ".parquet") for packed in ("", ".gz", ".zst")
)


def is_other_format(path: str | os.PathLike[str]) -> bool:
    """Whether a file is no JSON lines, by its name."""
    return os.fspath(path).lower().endswith(_OTHER_FORMATS)


def _line_of(row: object) -> bytes:
    """A row as a line."""
    try:
        return _encode(row)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, a huge number
        import json

        return json.dumps(row, separators=(",", ":")).encode()


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = msgspec.json.decode(line)
    except ValueError:
        return strict_object(line.strip())
    return found


def _is_nameless(line: bytes) -> bool:
    try:
        value = strict_object(line.removeprefix(b"\xef\xbb\xbf").strip())
    except Refused:
        return False
    return not (value.get("qid") or value.get("q_id"))


def fields_in(value: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Fields as a cell of a table has them, so that a slice has the same name in every format."""
    return {name: text for name in names if (text := _text_of(value.get(name)))}


def _text_of(value: object) -> str:
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
