"""JSON lines: read into typed records; every problem has its file and line.

The fast path decodes a line straight into a record. Whatever it refuses, and whatever looks suspicious, is decided
by the slow path, which is the definition: strict UTF-8, the standard library's parser, no repeated keys, finite
numbers.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import accumulate, repeat
from typing import Any, BinaryIO, Generic, TypeVar, cast

import msgspec

from ..errors import DataError
from ..text import visible
from .archives import Part, open_binary
from .keys import Keys
from .limits import BLOCK, MAX_DEPTH, MAX_LINE, MAX_SHOWN, MAX_SKIPPED, Damaged
from .plans import HEADER_KEY, Plans, note_header, note_runs, planned_in
from .strict import Refused, as_record, field_first, kind, strict_object
from .values import MapError

__all__ = [
    "MAX_LINE",
    "BadLines",
    "Problem",
    "Problems",
    "Reader",
    "Refused",
    "field_first",
    "kind",
    "open_binary",
    "read_objects",
    "strict_object",
]

_BOM = b"\xef\xbb\xbf"
JOURNAL = f'"{HEADER_KEY}"'.encode()
_PLAN = b'"sweep_id"'
_NAMES = frozenset(("qid", "q_id", "id", "prompt_id"))  # a line that has one is about a question

Record = TypeVar("Record")


class Problem(msgspec.Struct, frozen=True):
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
        self.unread = False  # the rest of a file could not be read, so what is missing is unknown

    def add(self, problem: Problem) -> None:
        self.total += 1
        if len(self.first) < MAX_SHOWN:
            self.first.append(problem)

    def __iadd__(self, other: Problems) -> Problems:
        """Add the problems of the next part; nothing follows a part that could not be read to its end."""
        if not self.unread:
            self.total += other.total
            self.first = [*self.first, *other.first][:MAX_SHOWN]
            self.unread = other.unread
        return self

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


class Reader(Generic[Record]):
    """Records of one file, or of a part of it, in order, with their line numbers; problems gather on the way.

    So does the digest, of a whole file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        record: type[Record],
        problems: Problems,
        *,
        keys: Callable[[], Keys] | None = None,
        warn: Callable[[int, str, str], None] | None = None,
        amend: Callable[[int, dict[str, object]], None] | None = None,
        shaped: Callable[[dict[str, object]], dict[str, object]] | None = None,
        flat: frozenset[str] = frozenset(),
    ) -> None:
        self.path = os.fspath(path)
        self._part = path if isinstance(path, Part) else None
        self.record = record
        self.problems = problems
        self.lines = self.records = 0
        self.plans: Plans = {}  # of the runs that `run` wrote
        self._traces = "sweep_id" in getattr(record, "__struct_fields__", ())  # whether records can be such runs
        self._make_keys = keys  # they refuse keys that are probably misspelt
        self._known: Keys | None = None
        self._warn = warn or (lambda line, what, code: None)
        self._amend = amend or (lambda line, value: None)  # may fix an object that the fast path refused
        self._shaped = shaped  # brings an object into the record's shape; one without nulls and these keys has it
        self._flat = flat
        self._hash = hashlib.sha256()

    @property
    def _keys(self) -> Keys | None:
        if self._known is None and self._make_keys is not None:
            self._known = self._make_keys()
        return self._known

    @property
    def digest(self) -> str:
        return self._hash.hexdigest() if self._part is None else ""

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        """The records, block by block, so that no Python code runs for each line where nothing is odd."""
        for first, text, lines in self.blocks():
            records = None if JOURNAL in text else self.at_once(text, lines)
            if records is None:
                yield from self._one_by_one(first, lines)
            else:
                self.records += len(records)
                self._note(records, _PLAN in text)
                yield from zip(range(first, first + len(lines)), records, strict=True)

    def at_once(self, text: bytes, lines: list[bytes]) -> list[Record] | None:
        """The records of unsuspicious lines, checked without running Python code for each line; otherwise None."""
        try:
            if suspicious(text):
                return None
            objects = _plain_objects(text, lines)
            keys = self._keys
            if objects is None or (keys is not None and keys.suspect(objects)):
                return None
            if self.record is dict:
                return cast(list[Record], objects)
            flat = bool(self._flat) and not self._flat.isdisjoint(set[str]().union(*objects))
            return self._typed(lines, objects, b"null" in text, flat)
        except (ValueError, RecursionError):
            return None

    def _typed(self, lines: list[bytes], objects: list[dict[str, object]], nulls: bool, flat: bool) -> list[Record]:
        """The objects as records; those that are not in shape are brought into it first."""
        many: Any = list[self.record]  # type: ignore[name-defined]
        if self._shaped is not None and (nulls or flat):
            pairs = zip(lines, objects, strict=True)
            objects = [self._shaped(one) if flat or b"null" in line else one for line, one in pairs]
        try:
            return cast(list[Record], msgspec.convert(objects, many))
        except msgspec.ValidationError:
            if self._shaped is None:
                raise
            return cast(list[Record], msgspec.convert(list(map(self._shaped, objects)), many))

    def _note(self, records: list[Record], planned: bool = True) -> None:
        if planned and self._traces:
            note_runs(self.plans, records)

    def _one_by_one(self, first: int, lines: list[bytes]) -> Iterator[tuple[int, Record]]:
        for number, line in enumerate(lines, first):
            if not line or line.isspace():
                continue
            found = self.at_once(line, [line]) if len(lines) > 1 and JOURNAL not in line else None
            if found:
                self._note(found, _PLAN in line)
            record = found[0] if found else self.slowly(number, line)
            if record is not None:
                self.records += 1
                yield number, record

    def slowly(self, number: int, line: bytes) -> Record | None:
        """One record by the definition; None where the line is blank, a header, or refused."""
        stripped = line.removeprefix(_BOM).strip()
        if not stripped:
            return None
        if stripped is not line and line.startswith(_BOM):
            self._warn(number, "a byte order mark was skipped", "bom")
        try:
            value = strict_object(stripped)
            if HEADER_KEY in value and self._is_header(number, value):
                return None
            if self._shaped is not None:
                value = self._shaped(value)
            if (keys := self._keys) is not None:
                keys.check(value)
            self._amend(number, value)
            record = as_record(value, self.record)
            self._note([record])
            return record
        except Refused as refusal:
            self.problems.add(Problem(self.path, number, refusal.what, refusal.hint, refusal.code))
        except MapError as error:
            self.problems.add(Problem(self.path, number, str(error), "", "map-value"))
        return None

    def _is_header(self, number: int, value: dict[str, object]) -> bool:
        """Whether a line is the header of an older file, anywhere in it, as in files that were joined."""
        planned = planned_in(value.get("planned", value.get("plan_size")))
        if number > 1 and (not planned or not _NAMES.isdisjoint(value)):
            return False
        note_header(self.plans, value, planned)
        return True

    def blocks(self) -> Iterator[tuple[int, bytes, list[bytes]]]:
        """Whole lines with their newlines, a block at a time, with the number of the first."""
        rest, first = b"", 1 if self._part is None else self._part.first
        with open_binary(self.path, self._hash.update if self._part is None else None, self._part) as stream:
            try:
                while block := _up_to_newline(stream, len(rest)):
                    text = rest + block
                    lines = BytesIO(text).readlines()  # half the time of `split`, which looks at byte after byte
                    rest = b"" if text.endswith(b"\n") else lines.pop()
                    if lines:
                        yield first, text[: len(text) - len(rest)], lines
                    first += len(lines)
                    if len(rest) > MAX_LINE:
                        rest, going_on = self._skip_long(stream, first)
                        first += 1
                        if not going_on:
                            break
            except OSError as error:
                self._unreadable(first, error)
                rest = b""
        if rest:
            yield first, rest, [rest]
        self.lines = first - (not rest)

    def _unreadable(self, line: int, error: OSError) -> None:
        hint, code = (error.hint, error.code) if isinstance(error, Damaged) else ("Is it complete?", "unreadable")
        self.problems.add(Problem(self.path, line, f"the rest of the file can't be read: {error}", hint, code))
        self.problems.unread = True

    def _skip_long(self, stream: BinaryIO, number: int) -> tuple[bytes, bool]:
        """Skip an overlong line. Returns what follows it, and False if reading should stop."""
        skipped, rest, going_on = MAX_LINE, b"", True
        while going_on and (block := stream.read(BLOCK)):
            _, newline, rest = block.partition(b"\n")
            if newline:
                break
            skipped += len(block)
            going_on = skipped < MAX_SKIPPED
        what = f"the line is longer than {MAX_LINE // 1_000_000} MB"
        hint = "Split the record, or leave out what is not scored." if going_on else "Reading stopped here."
        self.problems.add(Problem(self.path, number, what, hint, "line-too-long"))
        self.problems.unread |= not going_on
        return rest, going_on


def _up_to_newline(stream: BinaryIO, held: int) -> bytes:
    """The next block, or several until a line ends, so that a long line is joined once."""
    blocks: list[bytes] = []
    while block := stream.read(BLOCK):
        blocks.append(block)
        held += len(block)
        if b"\n" in block or held > MAX_LINE:
            break
    return b"".join(blocks)


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def _plain_objects(text: bytes, lines: list[bytes]) -> list[dict[str, object]] | None:
    """The objects of lines that the slow path would accept unchanged; None if in doubt.

    A repeated key can't hide: writing the objects again gives as many colons as were read, unless one was dropped.
    """
    if not all(lines) or deep(lines):
        return None
    objects = list(map(_decode, lines))
    if set(map(type, objects)) - {dict} or _encode(objects).count(b":") != text.count(b":"):
        return None
    return objects


def plain_object(text: bytes) -> dict[str, object] | None:
    """One object by the fast path; None if the slow path must decide."""
    try:
        objects = _plain_objects(text, [text])
    except (ValueError, RecursionError):
        return None
    return objects[0] if objects else None


def suspicious(text: bytes) -> bool:
    r"""Not UTF-8, or a plain letter written as \u0071, as only a writer who hides a key would."""
    if not text.isascii():
        text.decode()
    return b"\\u00" in text and re.search(rb"\\u00[2-7]", text) is not None


def deep(lines: list[bytes]) -> bool:
    """Whether a line may be nested too deep. Brackets inside texts count too, so this can be a false alarm."""
    if max(map(len, lines), default=0) <= 2 * MAX_DEPTH:  # each level opens and closes
        return False
    if all(max(map(bytes.count, lines, repeat(bracket))) <= MAX_DEPTH // 2 for bracket in (b"[", b"{")):
        return False
    brackets = (map(_STEP.__getitem__, line.translate(None, _OTHERS)) for line in lines)
    return any(max(accumulate(steps), default=0) > MAX_DEPTH for steps in brackets)


_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHERS = bytes(set(range(256)) - set(_STEP))


def read_objects(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Plain objects of a file with their line numbers; bad lines are raised together at the end."""
    problems = Problems()
    yield from Reader(path, dict, problems)
    problems.raise_any()
