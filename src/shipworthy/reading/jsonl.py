"""JSON lines: read them into typed records, and let every problem know its file and line.

The fast path decodes a line straight into a record. Whatever it refuses, and whatever looks suspicious, is decided
by the slow path, which is the definition: strict UTF-8, the standard library's parser, no repeated keys, finite
numbers.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, NamedTuple, TypeVar, cast

import msgspec

from ..errors import DataError, EnvironmentFailure, UsageError
from ..text import visible

if TYPE_CHECKING:
    import json

MAX_LINE = 10_000_000  # bytes; a longer line is a problem of its own, not a reason to fill the memory
GIVE_UP = 256_000_000  # bytes of one line after which a compressed file is taken for a bomb
MAX_DEPTH = 200
SHOWN = 20
BLOCK = 65_536
LONG = 4300  # bytes; only a longer line can hold an integer that Python refuses to read

_BOM = b"\xef\xbb\xbf"
_HUGE_INTEGER = rb"\d{4300}"

Record = TypeVar("Record")


class Problem(NamedTuple):
    """One thing wrong with one line: where, what was found and expected, what next."""

    path: str
    line: int
    what: str
    hint: str
    code: str

    def __str__(self) -> str:
        hint = f" {self.hint}" if self.hint else ""
        return f"{visible(self.path)}:{self.line}: {self.what}.{hint} [{self.code}]"


class Problems:
    """All problems of a reading: every one counted, the first twenty kept."""

    def __init__(self) -> None:
        self.total = 0
        self.first: list[Problem] = []
        self.lines: list[int] = []

    def add(self, problem: Problem) -> None:
        self.total += 1
        if len(self.first) < SHOWN:
            self.first.append(problem)

    def raise_any(self) -> None:
        if not self.total:
            return
        lines = [str(problem) for problem in self.first]
        if self.total > len(lines):
            lines.append(f"… and {self.total - len(lines)} more.")
        error = DataError(
            self.first[0].what,
            where=f"{visible(self.first[0].path)}:{self.first[0].line}",
            hint=self.first[0].hint,
            code=self.first[0].code,
        )
        raise BadLines(error, lines, self.total)


class BadLines(DataError):
    """Lines that can't be read, all counted, the first of them listed one to a line."""

    def __init__(self, first: DataError, lines: list[str], total: int) -> None:
        self.lines, self.total = lines, total
        super().__init__(first.what, where=first.where, hint=first.hint, code=first.code)

    def __str__(self) -> str:
        return "\n".join(getattr(self, "lines", []))


class Refused(ValueError):
    """Why the slow path does not accept a line."""

    def __init__(self, what: str, code: str, hint: str = "") -> None:
        super().__init__(what)
        self.what, self.code, self.hint = what, code, hint


class Reader(Generic[Record]):
    """Records of one file, in order, with their line numbers; problems and the digest gather on the way."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        record: type[Record],
        problems: Problems,
        *,
        guarded: tuple[bytes, ...] = (),
        warn: Callable[[int, str, str], None] | None = None,
        amend: Callable[[int, dict[str, Any]], None] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.record = record
        self.problems = problems
        self.lines = self.records = 0
        self._guarded = guarded  # keys that must not be repeated, as they stand in the file: b'"qid"'
        self._warn = warn or (lambda line, what, code: None)
        self._amend = amend or (lambda line, value: None)  # may mend an object that the fast path refused
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        decode = msgspec.json.Decoder(self.record).decode
        for first, text, lines in self._blocks():
            records = self._at_once(text, lines, decode)
            if records is None:
                yield from self._one_by_one(first, lines, decode)
            else:
                self.records += len(records)
                yield from zip(range(first, first + len(lines)), records, strict=True)

    def _at_once(self, text: bytes, lines: list[bytes], decode: Callable[[bytes], Record]) -> list[Record] | None:
        """A block without anything suspicious, checked and decoded without a step of Python per line; else None."""
        try:
            if _suspicious(text) or not all(lines) or max(map(len, lines), default=0) > LONG:
                return None
            for key in self._guarded:
                if max(map(bytes.count, lines, repeat(key)), default=0) > 1:
                    return None
            return list(map(decode, lines))
        except (ValueError, RecursionError):
            return None

    def _one_by_one(
        self, first: int, lines: list[bytes], decode: Callable[[bytes], Record]
    ) -> Iterator[tuple[int, Record]]:
        record: Record | None
        for number, line in enumerate(lines, first):
            try:
                repeats = any(line.count(key) > 1 for key in self._guarded)
                doubtful = repeats or _suspicious(line) or (len(line) > LONG and re.search(_HUGE_INTEGER, line))
                record = self._slowly(number, line) if doubtful else decode(line)
            except (ValueError, RecursionError):
                record = self._slowly(number, line)
            if record is not None:
                self.records += 1
                yield number, record

    def _slowly(self, number: int, line: bytes) -> Record | None:
        stripped = line.removeprefix(_BOM).strip()
        if not stripped:
            return None
        if stripped is not line and line.startswith(_BOM):
            self._warn(number, "a byte order mark was skipped", "bom")
        try:
            value = strict_object(stripped)
            if number == 1 and "shipworthy_journal" in value:
                return None
            self._amend(number, value)
            return msgspec.convert(value, self.record)
        except Refused as refusal:
            problem = (refusal.what, refusal.hint, refusal.code)
        except msgspec.ValidationError as error:
            problem = (field_first(str(error)), "", "type")
        self.problems.add(Problem(self.path, number, *problem))
        return None

    def _blocks(self) -> Iterator[tuple[int, bytes, list[bytes]]]:
        """Whole lines, a block at a time, with the number of the first: splitting blocks is what is fastest."""
        rest, first = b"", 1
        with open_binary(self.path, self._hash.update) as stream:
            try:
                while block := stream.read(BLOCK):
                    text = rest + block
                    lines = text.split(b"\n")
                    rest = lines.pop()
                    yield first, text[: len(text) - len(rest)], lines
                    first += len(lines)
                    if len(rest) > MAX_LINE:
                        rest, going_on = self._skip_long(stream, first)
                        first += 1
                        if not going_on:
                            break
            except (EOFError, OSError) as error:
                what = f"the file can't be read on: {error}"
                self.problems.add(Problem(self.path, first, what, "Is it complete?", "unreadable"))
                rest = b""
        if rest:
            yield first, rest, [rest]
        self.lines = first - (not rest)

    def _skip_long(self, stream: BinaryIO, number: int) -> tuple[bytes, bool]:
        """Pass over an overlong line; what follows it, and False when the rest of the file is better left alone."""
        skipped, rest, going_on = MAX_LINE, b"", True
        while going_on and (block := stream.read(BLOCK)):
            _, newline, rest = block.partition(b"\n")
            if newline:
                break
            skipped += len(block)
            going_on = skipped < GIVE_UP or not is_compressed(self.path)
        what = f"the line is longer than {MAX_LINE // 1_000_000} MB"
        hint = "Split the record, or leave out what is not scored." if going_on else "Reading stopped here."
        self.problems.add(Problem(self.path, number, what, hint, "line-too-long"))
        return rest, going_on


def _suspicious(text: bytes) -> bool:
    r"""Not UTF-8, or a plain letter written as \u0071, as only a writer who hides a key would."""
    if not text.isascii():
        text.decode()
    return b"\\" in text and any(part[:1] in _ASCII_ROWS for part in text.split(b"\\u00")[1:])


_ASCII_ROWS = frozenset(b"%d" % row for row in range(2, 8))


def strict_object(line: bytes) -> dict[str, Any]:
    """The definition of an acceptable line: one JSON object, strictly read."""
    import json

    if b"\x00" in line:
        raise Refused(*_nul(line))
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        utf16 = line[:2] in (b"\xff\xfe", b"\xfe\xff")
        hint = "It looks like UTF-16: save it as UTF-8." if utf16 else "Save the file as UTF-8."
        what = f"not UTF-8: byte 0x{line[error.start]:02x} at column {error.start + 1}"
        raise Refused(what, "encoding", hint) from None
    try:
        value = json.loads(
            text, object_pairs_hook=_no_repeats, parse_constant=_no_constant, parse_float=_finite, parse_int=_bounded
        )
    except json.JSONDecodeError as error:
        raise Refused(*_syntax(text, error)) from None
    except RecursionError:
        raise Refused(f"nested deeper than {MAX_DEPTH} levels", "too-deep") from None
    if not isinstance(value, dict):
        raise Refused(f"expected a JSON object, found {kind(value)}", "not-object", 'One object a line: {"qid": …}.')
    return cast(dict[str, Any], value)


def read_objects(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Plain objects of a file with their line numbers; bad lines are raised together at the end."""
    problems = Problems()
    yield from Reader(path, dict, problems)
    problems.raise_any()


def kind(value: object) -> str:
    """The JSON name of a value's type, for messages."""
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "a boolean"),
        (str, "a string"),
        ((int, float), "a number"),
        (list, "an array"),
        (dict, "an object"),
    )
    for types, name in names:
        if isinstance(value, types):
            return name
    return "null"


def is_compressed(path: str) -> bool:
    return path.endswith((".gz", ".zst"))


@contextmanager
def open_binary(path: str, watch: Callable[[bytes], object]) -> Iterator[BinaryIO]:
    """Open a plain, .gz or .zst file for reading bytes; `watch` sees every byte as it is on disk."""
    if os.path.isdir(path):
        raise UsageError("is a directory, a file was expected", where=visible(path), code="directory")
    try:
        raw = _Watched(path, watch)
    except FileNotFoundError:
        raise UsageError("no such file", where=visible(path), hint="Check the path.", code="no-file") from None
    except OSError as error:
        raise EnvironmentFailure(f"can't be opened: {error.strerror}", where=visible(path), code="unreadable") from None
    with raw, io.BufferedReader(raw, BLOCK) as stream:
        yield _decompressed(path, stream)


def _decompressed(path: str, stream: Any) -> BinaryIO:
    if path.endswith(".gz"):
        import gzip

        return cast(BinaryIO, io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=stream)), BLOCK))
    if path.endswith(".zst"):
        return cast(BinaryIO, io.BufferedReader(_zstandard(stream), BLOCK))
    return cast(BinaryIO, stream)


class _Watched(io.FileIO):
    """A file whose bytes are shown to `watch` as they are read, so that hashing needs no second pass."""

    def __init__(self, path: str, watch: Callable[[bytes], object]) -> None:
        super().__init__(path, "rb")
        self._watch = watch

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        if count:
            self._watch(memoryview(buffer)[:count])  # type: ignore[arg-type]
        return count or 0


def _zstandard(stream: BinaryIO) -> Any:
    try:
        import zstandard
    except ImportError:
        raise UsageError(
            ".zst files need the package zstandard", hint="pip install 'shipworthy[zst]'", code="needs-extra"
        ) from None
    return zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(stream, read_across_frames=True)


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Refused(f"the key {key!r} stands twice in one object", "repeated-key", "Keep one of the two.")
            seen.add(key)
    return found


def _no_constant(name: str) -> Any:
    raise Refused(f"{name} is not a number in JSON", "nonfinite", "Write null, or leave the field out.")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise Refused(f"the number {visible(digits, 40)} is out of range", "nonfinite", "")
    return number


def _bounded(digits: str) -> int:
    if len(digits) > 4300:
        raise Refused(f"an integer of {len(digits)} digits", "json", "Write it as a string.")
    return int(digits)


def _nul(line: bytes) -> tuple[str, str, str]:
    if line[:2] in (b"\xff\xfe", b"\xfe\xff") or line[1:2] == b"\x00" != line[:1]:
        return "not UTF-8: it looks like UTF-16", "encoding", "Save the file as UTF-8."
    return f"a NUL byte at column {line.index(0) + 1}", "nul", "The file was damaged: write it again."


def _syntax(text: str, error: json.JSONDecodeError) -> tuple[str, str, str]:
    # A reader that stops at the very end met a line that was cut off, usually by a crash of the writer.
    if error.pos >= len(text) or error.msg.startswith("Unterminated"):
        return f"the line is cut off at column {len(text)}", "truncated", "Finish the line, or remove it."
    found = visible(text[error.pos : error.pos + 20])
    return f"not JSON: {error.msg.lower()} at column {error.pos + 1}: {found}", "json", "One JSON object a line."


def field_first(message: str) -> str:
    """msgspec's "Expected `str`, got `int` - at `$.a.b`" as "a.b: expected str, got int"."""
    what, _, place = message.partition(" - at `$")
    what = what.replace("`", "").replace(" | null", "")
    what = what[:1].lower() + what[1:]
    field = place.rstrip("`").lstrip(".")
    return f"{field}: {what}" if field else what
