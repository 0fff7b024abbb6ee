"""Formats: JSON arrays, CSV, TSV and Parquet as numbered rows, read in bounded memory. JSON lines have `Reader`."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO, Protocol

from ..errors import DataError
from ..text import visible
from .archives import open_binary
from .jsonl import Problem, Problems, Reader, plain_object
from .limits import BLOCK, MAX_LINE
from .strict import Refused, strict_json, strict_object

_BLANK = re.compile(r"[ \t\r\n]*")
_WHOLE = 64_000_000  # bytes of a single JSON object that are looked into to say what it is
MAX_COLUMNS = 10_000


class Rows(Protocol):
    """Rows of a file with their numbers; `cells`: every value is a text of a table."""

    cells: bool

    @property
    def digest(self) -> str: ...
    def __iter__(self) -> Iterator[tuple[int, dict[str, object]]]: ...


def open_rows(path: str, problems: Problems) -> Rows | None:
    """The rows of a file that is not JSON lines; None where it is."""
    name = path.removesuffix(".gz").removesuffix(".zst").lower()
    if name.endswith(".parquet"):
        from .tables import ParquetRows

        return ParquetRows(path)
    if name.endswith((".csv", ".tsv")):
        return TableRows(path, "\t" if name.endswith(".tsv") else ",", problems)
    if name.endswith(".json") and os.path.isfile(path):
        return _json_rows(path, problems)
    return None


def raw_rows(path: str | os.PathLike[str], problems: Problems | None = None) -> Iterator[tuple[int, dict[str, object]]]:
    """Plain objects of a file of any format; what can't be read goes to `problems`."""
    problems = Problems() if problems is None else problems
    rows = open_rows(os.fspath(path), problems)
    yield from Reader(path, dict, problems) if rows is None else rows


def _json_rows(path: str, problems: Problems) -> Rows | None:
    with open_binary(path, lambda data: None) as stream:
        start = stream.read(BLOCK).removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"["):
        return ArrayRows(path, problems)
    first = start.split(b"\n", 1)[0].strip()
    if start.startswith(b"{") and len(start) < BLOCK - 10 and not _is_object(first):
        raise _one_object(path)
    return None


def _is_object(line: bytes) -> bool:
    try:
        strict_object(line)
    except Refused:
        return False
    return True


def _one_object(path: str) -> DataError:
    """A file that is one object over several lines: whose it is, or which of its keys holds the records."""
    from .proposal import fields_of, foreign

    with open_binary(path, lambda data: None) as stream:
        text = stream.read(_WHOLE)
    where = visible(path)
    try:
        value = strict_json(text)
    except Refused as refusal:
        return DataError(f"is not JSON: {refusal.what}", where=where, hint=refusal.hint, code=refusal.code)
    if tool := foreign(value):
        return foreign_rows(path, tool)
    lists = [name for name, part in value.items() if isinstance(part, list) and part and isinstance(part[0], dict)]
    key = visible(lists[0], 60) if lists else ""
    hint = f"The records are probably under {key}: save that list as a file." if key else "Write a list of objects."
    what = f"is one object with {fields_of(value)}, not a list of records"
    return DataError(what, where=where, hint=hint, code="not-list")


def foreign_rows(path: str, tool: str) -> DataError:
    """Rows of another tool, and the command that reads them."""
    return DataError(
        f"these are {tool} rows",
        where=visible(path),
        hint=f"Turn them into traces: shipworthy import {visible(path)} --gold gold.jsonl --out runs/trace.jsonl",
        code="foreign-rows",
    )


class ArrayRows:
    """The objects of a JSON array, cut out one by one; a row's number is the line it begins on."""

    cells = False

    def __init__(self, path: str, problems: Problems) -> None:
        self.path, self._problems, self._hash = path, problems, hashlib.sha256()
        self._cut = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str).raw_decode

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def __iter__(self) -> Iterator[tuple[int, dict[str, object]]]:
        with open_binary(self.path, self._hash.update) as stream:
            try:
                yield from self._elements(_Text(stream))
            except Refused as refusal:
                self._stop(refusal, 1)
            while stream.read(BLOCK):
                """To the end, for the digest."""

    def _elements(self, text: _Text) -> Iterator[tuple[int, dict[str, object]]]:
        text.skip("[")
        if text.peek() == "]":
            text.skip("]")
            return
        while True:
            text.peek()
            line = text.line
            try:
                element = text.take(self._cut)
                if text.peek() not in (",", "]"):
                    raise Refused(_expected("a comma or ]", text.peek()), "json", "")
            except Refused as refusal:
                self._stop(refusal, line)
                return
            row = self._strict(element, line)
            if row is not None:
                yield line, row
            if text.peek() == "]":
                break
            text.skip(",")
        text.skip("]")
        if text.peek():
            self._stop(Refused("something follows the end of the array", "json", "Keep one array a file."), text.line)

    def _strict(self, element: str, line: int) -> dict[str, object] | None:
        try:
            raw = element.encode("utf-8", "surrogatepass")
            return plain_object(raw) or strict_object(raw)
        except Refused as refusal:
            self._problems.add(Problem(self.path, line, refusal.what, refusal.hint, refusal.code))
        return None

    def _stop(self, refusal: Refused, line: int) -> None:
        self._problems.add(Problem(self.path, line, refusal.what, refusal.hint, refusal.code))
        self._problems.unread = True


class _Text:
    """The text of a stream, a window at a time, with the number of the line that is next."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._decoder = stream, codecs.getincrementaldecoder("utf-8-sig")()
        self._window, self._place, self._ended = "", 0, False
        self.line = 1

    def peek(self) -> str:
        """The next character that is not blank; "" at the end."""
        while True:
            blank = _BLANK.match(self._window, self._place)
            self._advance(blank.end() - self._place if blank else 0)
            if self._place < len(self._window):
                return self._window[self._place]
            if not self._more(BLOCK):
                return ""

    def skip(self, char: str) -> None:
        if self.peek() != char:
            raise Refused(_expected(char, self.peek()), "json", "")
        self._advance(1)

    def take(self, cut: Any) -> str:
        """The next JSON value as text; more is read until it is whole."""
        while True:
            try:
                _, end = cut(self._window, self._place)
                if end < len(self._window) or self._ended:  # a number may go on in the next block
                    element = self._window[self._place : end]
                    self._advance(len(element))
                    return element
            except json.JSONDecodeError as error:
                if self._ended or len(self._window) - self._place > MAX_LINE:
                    raise Refused(*self._bad(error)) from None
            except RecursionError:
                raise Refused("nested too deeply", "too-deep") from None
            if not self._more(max(BLOCK, len(self._window) - self._place)) and self._ended:
                continue

    def _bad(self, error: json.JSONDecodeError) -> tuple[str, str, str]:
        if self._ended and (error.pos >= len(self._window) or error.msg.startswith("Unterminated")):
            return "the array is cut off", "truncated", "Is the file complete?"
        if len(self._window) - self._place > MAX_LINE and error.pos >= len(self._window) - 1:
            return f"a record is longer than {MAX_LINE // 1_000_000} MB", "line-too-long", "Split the record."
        return f"not JSON: {error.msg.lower()}", "json", ""

    def _advance(self, count: int) -> None:
        self.line += self._window.count("\n", self._place, self._place + count)
        self._place += count

    def _more(self, size: int) -> bool:
        """Read on; what was taken is dropped."""
        block = self._stream.read(size)
        self._ended = not block
        try:
            text = self._decoder.decode(block, self._ended)
        except UnicodeDecodeError:
            raise Refused("not UTF-8", "encoding", "Save the file as UTF-8.") from None
        self._window, self._place = self._window[self._place :] + text, 0
        return bool(block)


def _expected(what: str, found: str) -> str:
    return f"expected {what}, found {visible(found)!r}" if found else f"expected {what}, found the end of the file"


class TableRows:
    """Rows of a CSV or TSV file by the names of its header; a row's number is its last line."""

    cells = True

    def __init__(self, path: str, delimiter: str, problems: Problems) -> None:
        self.path, self._delimiter, self._problems = path, delimiter, problems
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def __iter__(self) -> Iterator[tuple[int, dict[str, object]]]:
        csv.field_size_limit(MAX_LINE)
        with open_binary(self.path, self._hash.update) as stream:
            lines = io.TextIOWrapper(stream, "utf-8-sig", newline="")
            rest, reader = _bounded(lines), csv.reader(())
            try:
                first = next(rest, "")
                reader = csv.reader(chain([first], rest), delimiter=_separator(first, self._delimiter), strict=True)
                yield from self._rows(reader)
            except (csv.Error, UnicodeDecodeError) as error:
                what = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"not CSV: {error}"
                self._problems.add(Problem(self.path, reader.line_num, what, "Check the quotes.", "csv"))
                self._problems.unread = True
            finally:
                lines.detach()

    def _rows(self, reader: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        names = self._header(next(reader, None))
        for cells in reader:
            if not any(cells):
                continue
            if len(cells) != len(names):
                what = f"{len(cells)} cells, the header has {len(names)}"
                hint = "Quote cells that contain a separator or a line break."
                self._problems.add(Problem(self.path, reader.line_num, what, hint, "csv-ragged"))
                continue
            yield reader.line_num, {name: cell for name, cell in zip(names, cells, strict=True) if name}

    def _header(self, cells: list[str] | None) -> list[str]:
        names = [cell.strip() for cell in cells or []]
        named = [name for name in names if name]
        if not named or len(set(named)) < len(named) or len(names) > MAX_COLUMNS:
            what = "there is no header" if not named else "the header names a column twice"
            hint = "Write the field names on the first line, such as qid,question,answerable."
            raise DataError(what, where=f"{visible(self.path)}:1", hint=hint, code="csv-header")
        return names


def _separator(header: str, usual: str) -> str:
    """Spreadsheets of many countries save CSV with semicolons: then the header has no comma."""
    return ";" if usual == "," and ";" in header and "," not in header else usual


def _bounded(lines: io.TextIOWrapper) -> Iterator[str]:
    """Lines that fit into memory: one without an end is a problem, not a reason to fill it."""
    while line := lines.readline(MAX_LINE):
        if len(line) >= MAX_LINE:
            raise csv.Error(f"a line is longer than {MAX_LINE // 1_000_000} MB")
        yield line
