"""Containers: JSON values one after the other, arrays, tables and Parquet, record by record in bounded memory."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import msgspec

from ..errors import DataError
from ..reading.archives import open_binary
from ..reading.limits import MAX_VALUE
from ..reading.strict import Refused, strict_json
from ..text import visible
from .packed import inspect_records, yaml_records

BLOCK = 1 << 20
WHOLE = 4 * BLOCK  # a larger object at the beginning of a file is read in pieces
PIECE = 1 << 16  # bytes of the entries that are read together then
Record = tuple[int, dict[str, Any]]  # its line and its content

# A whole text, or a bracket, or the beginning of a text that goes on behind what was read.
_STRUCTURE = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|["{}\[\]]')
_IN_TEXT = re.compile(rb'["\\\n]')
_SCALAR = re.compile(rb"[^\s,\]}]*")
_COLUMNS = {6: ("qid", "iteration", "docno", "rank", "score", "tag"), 4: ("qid", "iteration", "docno", "relevance")}


class Records(msgspec.Struct):
    """The records of one file, and in which shape they stand there."""

    path: str
    shape: str  # json, table, columns, parquet
    rows: Iterator[Record]
    head: list[Record] = []
    count: int = 0  # of those that were read

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each record behind its place, `file:line`."""
        for line, record in chain(self.head, self.rows):
            self.count += 1
            yield f"{self.path}:{line}", record

    def peek(self, few: int = 20) -> list[dict[str, object]]:
        """The first few records, which are still to come."""
        while len(self.head) < few and (record := next(self.rows, None)) is not None:
            self.head.append(record)
        return [value for _, value in self.head]


def open_records(path: str) -> Records:
    """A file as records; what it is shows in its first bytes, never in its name."""
    with open_binary(path, lambda _: None) as stream:
        start = stream.read(BLOCK)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise DataError("the file is empty", where=visible(path), hint="Export it again.", code="import-empty")
    if start[:4] == b"PAR1":
        return Records(path, "parquet", _parquet(path))
    if text[:1] in b"{[":
        return Records(path, "json", _json(path))
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return Records(path, "json", inspect_records(path))
    if text[:1] == b"<":
        raise _unknown(path, "XML or HTML", "JUnit reports hold verdicts, not answers. Export JSON.")
    line = text.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    if _is_yaml(path, text):
        return Records(path, "json", yaml_records(path))
    if _is_trec(line):
        return Records(path, "columns", _columns(path))
    if not any(separator in line for separator in ",\t;"):
        raise _unknown(path, f"a text that begins with {visible(line, 40)!r}", "Export JSON, CSV or Parquet.")
    return Records(path, "table", _table(path, max("\t,;", key=line.count)))


def _unknown(path: str, what: str, hint: str) -> DataError:
    return DataError(f"is {what}, not an export that can be read", where=visible(path), hint=hint, code="import-format")


def _is_yaml(path: str, text: bytes) -> bool:
    """By its name, or because the first line that is no comment opens a document or names a key and nothing else."""
    if path.lower().endswith((".yaml", ".yml")):
        return True
    lines = (line.strip() for line in text[:10_000].splitlines())
    line = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return re.fullmatch(rb"---|(- )?[A-Za-z_][\w-]*:( [^,;\t]*)?", line) is not None


def _parquet(path: str) -> Iterator[Record]:
    from ..reading.tables import ParquetRows

    yield from ParquetRows(path)


# JSON: the end of each value is found by its brackets, so that a file of any size is held one value at a time.


def _json(path: str) -> Iterator[Record]:
    with open_binary(path, lambda _: None) as stream:
        values = _Values(path, stream)
        try:
            yield from values
            return
        except _Large:
            pass
    with open_binary(path, lambda _: None) as stream:
        frame = _Values(path, stream).frame(_LISTS)
    with open_binary(path, lambda _: None) as stream:
        values = _Values(path, stream)
        yield from values.pieces(_LISTS, frame)
        yield from values


class _Large(Exception):
    """The file begins with an object that is not to be held whole."""


class _List(NamedTuple):
    """A list that may be long: what in its entries may be long again; or an object that holds such a list."""

    entries: dict[str, _List] = {}
    members: dict[str, _List] = {}


def _spelt(names: str, found: _List) -> dict[str, _List]:
    return dict.fromkeys(names.split(), found)


# Where exports that are one object keep what there is many of.
_SPANS = _List(_spelt("scopeSpans scope_spans instrumentationLibrarySpans", _List(_spelt("spans", _List()))))
_LOGS = _List(_spelt("scopeLogs scope_logs", _List(_spelt("logRecords log_records", _List()))))
_RESULTS = _List(members={"results": _List()})
_LISTS = {
    **_spelt("resourceSpans resource_spans", _SPANS),
    **_spelt("resourceLogs resource_logs", _LOGS),
    **_spelt("testCases test_results test_cases tests body batch rows samples", _List()),
    "results": _RESULTS,
    "data": _List(members={"results": _RESULTS}),
}


class _Values:
    """Objects that stand one after the other: one a line, pretty-printed, or in an array."""

    def __init__(self, path: str, stream: BinaryIO) -> None:
        self.path, self.stream = path, stream
        self.buffer, self.at, self.line = b"", 0, 1
        self.more = self.begins = True

    def __iter__(self) -> Iterator[Record]:
        inside, opened = False, 0
        while (sign := self._next_sign()) is not None:
            if sign == b"{":
                yield self._line(inside) or self._decoded(*self._value())
                self.begins = False
            elif sign == b"[" and not inside:
                inside, opened, self.begins = True, self.line, False
                self.at += 1
            elif sign == b"]" and inside:
                inside = False
                self.at += 1
            elif sign == b"," and inside:
                self.at += 1
            else:
                found = visible(self.buffer[self.at : self.at + 20].decode("utf-8", "replace"))
                raise self._bad(self.line, f"expected a JSON object, found {found}", "json")
        if inside:
            raise self._bad(opened, "the file ends inside of the array that begins here", "truncated")

    def _next_sign(self) -> bytes | None:
        while True:
            while self.at < len(self.buffer):
                sign = self.buffer[self.at : self.at + 1]
                if sign == b"\n":
                    self.line += 1
                elif sign not in b" \t\r\x1e" and not self._is_bom():
                    return sign
                self.at += 1
            if not self._read():
                return None

    def _is_bom(self) -> bool:
        return self.line == 1 and self.at < 3 and self.buffer[self.at : self.at + 1] in b"\xef\xbb\xbf"

    def _read(self) -> bool:
        """Read on; what was used is dropped."""
        block = self.stream.read(BLOCK) if self.more else b""
        self.more = bool(block)
        if block:
            self.buffer, self.at = self.buffer[self.at :] + block, 0
        return self.more

    def _line(self, inside: bool) -> Record | None:
        """The object as a line of its own, which most are; None where it is not, and its brackets decide."""
        end = self.buffer.find(b"\n", self.at)
        if end < 0:
            return None
        try:
            value = strict_json(
                self.buffer[self.at : end].rstrip(b" \r," if inside else b" \r"), nonfinite_is_null=True
            )
        except Refused:
            return None
        self.at = end
        return self.line, value

    def _value(self, keep: bool = True) -> tuple[int, bytes]:
        """The object, list or text that begins here, to its end; nothing of it where it is skipped."""
        first, depth, place, in_text = self.line, 0, 0, False
        parts: list[bytes] = []  # what was scanned already: a large value is put together once
        size = 0
        while True:
            match = (_IN_TEXT if in_text else _STRUCTURE).search(self.buffer, self.at + place)
            if match is None:
                parts.append(self.buffer[self.at :])
                size += len(parts[-1])
                place = max(place - len(parts[-1]), 0)
                self.at = len(self.buffer)
                if keep:
                    self._check_size(first, size)
                else:
                    self.line += parts.pop().count(b"\n")
                if not self._read():
                    raise self._bad(first, "the file ends inside of the object that begins here", "truncated")
                continue
            sign, place = match[0], match.end() - self.at
            if in_text:
                if sign == b"\n":
                    raise self._bad(first, "a text is cut off at the end of a line", "truncated")
                place += sign == b"\\"
                in_text = sign != b'"'
            elif sign == b'"':
                in_text = True
            elif len(sign) == 1:
                depth += 1 if sign in b"{[" else -1
            if not depth and not in_text:
                break
        parts.append(self.buffer[self.at : self.at + place])
        self.at += place
        data = b"".join(parts)
        self.line += data.count(b"\n")
        return first, data

    # An object too large to be held: what it says beside its long lists, then that with a few entries at a time.

    def frame(self, lists: dict[str, _List]) -> dict[str, Any] | None:
        """The object that begins here with its long lists empty; None for an object of rankings, which has no frame."""
        frame: dict[str, Any] = {}
        outermost, self.begins = self.begins, False
        for name, sign in self._members(frame):
            if name in lists and sign == b"[":
                self._value(keep=False)
                frame[name] = []
            elif name in lists and sign == b"{" and lists[name].members:
                frame[name] = self.frame(lists[name].members)
            else:
                frame[name] = self._any()
                if outermost and len(frame) == 1 and _is_ranking(frame[name]):
                    return None
        return frame

    def pieces(self, lists: dict[str, _List], frame: dict[str, Any] | None) -> Iterator[Record]:
        """The object that begins here as several: its frame with some entries of one of its lists."""
        self.begins = False
        if frame is None:
            yield from self._rankings()
            return
        whole = True
        for name, sign in self._members({}):
            if name in lists and sign == b"[":
                whole = False
                yield from ((line, {**frame, name: entries}) for line, entries in self._entries(lists[name].entries))
            elif name in lists and sign == b"{" and lists[name].members:
                whole = False
                held = self.pieces(lists[name].members, frame[name])
                yield from ((line, {**frame, name: piece}) for line, piece in held)
            else:
                self._skip(sign)
        if whole:
            yield self.line, frame

    def _rankings(self) -> Iterator[Record]:
        piece: dict[str, Any] = {}
        first, size, seen = self.line, 0, dict[str, Any]()
        for name, _ in self._members(seen):
            seen[name] = None
            piece[name] = self._any()
            size += len(piece[name]) if isinstance(piece[name], dict) else 1
            if size > PIECE // 32:
                yield first, piece
                piece, first, size = {}, self.line, 0
        if piece:
            yield first, piece

    def _entries(self, lists: dict[str, _List]) -> Iterator[tuple[int, list[Any]]]:
        """Some entries of the list that begins here at a time."""
        opened, entries, first, size = self.line, list[Any](), self.line, 0
        after = b"["
        self.at += 1
        while (sign := self._next_sign()) != b"]" or after == b",":
            if sign is None:
                raise self._bad(opened, "the file ends inside of the array that begins here", "truncated")
            if (sign == b",") is not (after == b"v"):
                found = visible(sign.decode("utf-8", "replace"))
                what = f"expected {'a comma' if after == b'v' else 'a value'}, found {found}"
                raise self._bad(self.line, what, "json")
            after = b"," if sign == b"," else b"v"
            if sign == b",":
                self.at += 1
            elif sign == b"{" and lists:
                yield from ((line, [part]) for line, part in self._parts(lists))
            else:
                line, data = self._bytes(sign)
                entries.append(self._decoded(line, data)[1])
                first, size = first if size else line, size + len(data)
                if size > PIECE:
                    yield first, entries
                    entries, size = [], 0
        self.at += 1
        if entries:
            yield first, entries

    def _parts(self, lists: dict[str, _List]) -> Iterator[Record]:
        """An entry that holds a long list itself; what stands before the list is told with each part."""
        first, head, told = self.line, dict[str, Any](), False
        for name, sign in self._members(head):
            if name in lists and sign == b"[":
                for line, entries in self._entries(lists[name].entries):
                    told = True
                    yield line, {**head, name: entries}
                head[name] = []
            else:
                head[name] = self._any()
        if not told:
            yield first, head

    def _members(self, seen: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
        """The names of the object that begins here, each with the first sign of its value, which the caller takes."""
        opened, after = self.line, b"{"
        self.at += 1 if self._next_sign() == b"{" else 0
        while (sign := self._next_sign()) != b"}" or after == b",":
            if sign == b"," and after == b"v":
                self.at += 1
                after = b","
            elif sign == b'"' and after != b"v":
                name = self._any()
                if name in seen:
                    what = f"the key {visible(repr(name), 80)} occurs twice in one object"
                    raise self._bad(self.line, what, "repeated-key")
                if self._next_sign() != b":":
                    raise self._bad(self.line, "expected a colon behind a key", "json")
                self.at += 1
                sign = self._next_sign()
                if sign is not None:
                    yield name, sign
                after = b"v"
            elif sign is None:
                raise self._bad(opened, "the file ends inside of the object that begins here", "truncated")
            else:
                raise self._bad(self.line, f"expected a key, found {visible(sign.decode('utf-8', 'replace'))}", "json")
        self.at += 1

    def _any(self) -> Any:
        return self._decoded(*self._bytes(self._next_sign() or b""))[1]

    def _skip(self, sign: bytes) -> None:
        if sign in b'{["':
            self._value(keep=False)
        else:
            self._bytes(sign)

    def _bytes(self, sign: bytes) -> tuple[int, bytes]:
        """The value that begins here, of any kind, as it stands."""
        if sign and sign in b'{["':
            return self._value()
        match = _SCALAR.match(self.buffer, self.at)
        while match is not None and match.end() == len(self.buffer) and self._read():
            self._check_size(self.line, len(self.buffer))
            match = _SCALAR.match(self.buffer, self.at)
        data = match[0] if match is not None else b""
        self.at += len(data)
        return self.line, data

    def _check_size(self, line: int, size: int) -> None:
        if self.begins and size > WHOLE:
            raise _Large
        if size > MAX_VALUE:
            what = f"one JSON value is larger than {MAX_VALUE // 1_000_000} MB"
            hint = "Export it as JSON Lines or as an array, which are read piece by piece."
            raise DataError(what, where=f"{visible(self.path)}:{line}", hint=hint, code="import-too-large")

    def _decoded(self, line: int, data: bytes) -> Record:
        try:
            return line, strict_json(data, nonfinite_is_null=True)
        except Refused as refusal:
            raise self._bad(line, refusal.what, refusal.code) from None

    def _bad(self, line: int, what: str, code: str) -> DataError:
        hint = "The export is incomplete: write it again." if code == "truncated" else ""
        return DataError(what, where=f"{visible(self.path)}:{line}", hint=hint, code=code)


def _is_ranking(value: object) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(score, (int, float)) for score in value.values())


# Tables and columns


def _table(path: str, separator: str) -> Iterator[Record]:
    csv.field_size_limit(MAX_VALUE)
    with open_binary(path, lambda _: None) as stream:
        lines = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        reader = csv.reader(lines, delimiter=separator, strict=True)
        number = 1
        try:
            names = [name.strip() for name in next(reader)]
            for cells in reader:
                number = reader.line_num
                if not cells:
                    continue
                if len(cells) != len(names):
                    what = f"the row has {len(cells)} cells and the header {len(names)}"
                    raise DataError(what, where=f"{visible(path)}:{number}", hint="Is it complete?", code="truncated")
                yield number, _cells(names, cells)
        except csv.Error as error:
            where = f"{visible(path)}:{reader.line_num}"
            raise DataError(
                f"not a table that can be read: {error}", where=where, hint="Is it complete?", code="truncated"
            ) from None
        except UnicodeDecodeError:
            where = f"{visible(path)}:{reader.line_num}"
            raise DataError("not UTF-8", where=where, hint="Save the file as UTF-8.", code="encoding") from None
        finally:
            lines.detach()


def _cells(names: list[str], cells: list[str]) -> dict[str, object]:
    row: dict[str, object] = {}
    for name, cell in zip(names, cells, strict=True):
        if name not in row:  # DataFrames write an index that is also a column twice
            row[name] = cell if cell != "" else None
    return row


def _is_trec(line: str) -> bool:
    parts = line.split()
    last = {6: 4, 4: 3}.get(len(parts))
    return (
        last is not None and "," not in line and re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", parts[last]) is not None
    )


def _columns(path: str) -> Iterator[Record]:
    with open_binary(path, lambda _: None) as stream:
        width = 0
        for number, line in enumerate(stream, 1):
            try:
                parts = line.decode("utf-8").split()
            except UnicodeDecodeError:
                where = f"{visible(path)}:{number}"
                raise DataError("not UTF-8", where=where, hint="Save the file as UTF-8.", code="encoding") from None
            if not parts:
                continue
            width = width or len(parts)
            if len(parts) != width or width not in _COLUMNS:
                what = f"the line has {len(parts)} columns, the lines before {width}"
                raise DataError(what, where=f"{visible(path)}:{number}", hint="Is it complete?", code="truncated")
            yield number, dict(zip(_COLUMNS[width], parts, strict=True))
