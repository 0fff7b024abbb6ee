"""Inputs: what was read of a file and what was wrong with it, and streams of lines, read whole or in parts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import msgspec

from ..reading.files import Files
from ..reading.jsonl import Problem, Problems, Reader
from ..reading.limits import MAX_SHOWN
from ..reading.plans import Plans, add_plans, note_runs

FILE = 1 << 40  # places of the second file of an input begin here: no file has so many lines
_SHOWN = 3  # warnings of a kind
_RECORDS = 1_000  # records that are read together where they are checked as they come

Line = tuple[int, Any]  # a place, and the bytes of the line; the record itself where it came as an object
Block = tuple[Sequence[int], Sequence[str], Sequence[Any]]  # places, questions, and what stands there
Numbered = tuple[int, Any]  # a record with its place


class Refusal(NamedTuple):
    """What is wrong with a line that was read in good faith."""

    place: int
    what: str
    hint: str
    code: str
    counted: bool = False  # it stays among the records that were read


class Warned(msgspec.Struct, frozen=True):
    """Something harmless that a reader should know."""

    where: str
    what: str
    code: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} [{self.code}]"


class Mapped(msgspec.Struct):
    """What mapping the fields of records has found so far, by which a path that matches nothing is known."""

    kind: str
    pairs: tuple[str, ...]
    found: set[str] = set()
    count: int = 0
    example: dict[str, Any] = {}

    def __iadd__(self, other: Mapped) -> Mapped:
        self.found |= other.found
        self.count += other.count
        self.example = self.example or other.example
        return self


class Refusals:
    """Lines that were refused: how many, and the first of them. They add up in any order."""

    def __init__(self) -> None:
        self.total = self.uncounted = 0
        self.first: list[Refusal] = []

    def add(self, refusal: Refusal) -> None:
        self.total += 1
        self.uncounted += not refusal.counted
        self.first.append(refusal)
        if len(self.first) > 4 * MAX_SHOWN:
            self.first = sorted(self.first)[:MAX_SHOWN]

    def __iadd__(self, other: Refusals) -> Refusals:
        self.total += other.total
        self.uncounted += other.uncounted
        self.first = sorted([*self.first, *other.first])[:MAX_SHOWN]
        return self


class Input(msgspec.Struct):
    """One thing that was read: its digest, how much of it, and what was wrong with it."""

    path: str = ""
    digest: str = ""
    records: int = 0
    bad: int = 0
    problems: list[str] = []
    warnings: list[Warned] = []
    plans: Plans = {}  # of the runs that `run` wrote: how many were planned, and which are there
    items: int = 0  # of a gold set: its questions
    content: str = ""  # of a gold set: digest of what scoring reads of it, whatever the order of its lines
    files: tuple[str, ...] = ()  # where it is several files
    # What is known while it is read, part by part, and looked at when all of it was:
    found: Problems = msgspec.field(default_factory=Problems)
    fits: dict[str, bool] = {}  # file with records → whether any of them is of the kind that was asked for
    mapped: Mapped | None = None

    def warn(self, line: int, what: str, code: str) -> None:
        """Keep a few of each kind: a million numeric qids are one remark, not a million."""
        self._keep(Warned(f"{self.path}:{line}", what, code))

    def _keep(self, warned: Warned) -> None:
        if sum(1 for one in self.warnings if one.code == warned.code) < _SHOWN:
            self.warnings.append(warned)

    def refuse(self, refusals: Refusals) -> None:
        """Add what was found wrong with lines when they were judged, in the order of the lines."""
        if refusals.total:
            paths = self.files or (self.path,)
            more = (Problem(paths[one.place // FILE], one.place % FILE, *one[1:4]) for one in refusals.first)
            order = {path: number for number, path in enumerate(paths)}
            self.found.first = sorted([*self.found.first, *more], key=lambda one: (order.get(one.path, 0), one.line))[
                :MAX_SHOWN
            ]
            self.found.total += refusals.total
            self.records -= refusals.uncounted

    def learn(self, reader: Reader[Any]) -> None:
        """Keep what only the end of a file tells."""
        self.digest = reader.digest
        if reader.plans:
            add_plans(self.plans, reader.plans)

    def close(self, problems: Problems, lenient: bool) -> None:
        """Keep what was wrong; unless lenient, raise it."""
        self.bad, self.problems = problems.total, [str(problem) for problem in problems.first]
        # How much is missing behind an unreadable end nobody knows.
        if problems.total and (not lenient or problems.unread):
            problems.raise_any()

    def __iadd__(self, part: Input) -> Input:
        """Add what follows in the same input; digests are of whole files, and added up by whoever has them all."""
        self.path = self.path or part.path
        self.records += part.records
        add_plans(self.plans, part.plans)
        self.found += part.found
        for warned in part.warnings:
            self._keep(warned)
        for path, fits in part.fits.items():
            self.fits[path] = fits or self.fits.get(path, False)
        if part.mapped is not None:
            self.mapped = part.mapped if self.mapped is None else self.mapped.__iadd__(part.mapped)
        return self


Close = Callable[[Any, Input], None]  # what is checked once all of an input was read


def raise_found(source: object, read: Input) -> None:
    """Raise together what was wrong with the lines of an input."""
    read.found.raise_any()


def raise_later(source: object, read: Input) -> None:
    """Raise nothing yet: bad lines are told together with what takes all records to know."""


def numbered_rows(source: Any, read: Input, name: str) -> Iterator[Numbered]:
    """The rows of a file of JSON lines, or of an iterable of that name, with their places."""
    if not isinstance(source, (str, os.PathLike)):
        read.path = f"<{name}>"
        yield from enumerate(source, 1)
        return
    read.path = os.fspath(source)
    reader = Reader(source, dict, read.found)
    for place, row in reader:
        note_runs(read.plans, [row])
        yield place, row
    read.learn(reader)


class Format(Protocol):
    """What the lines of an input are. It can be pickled, so that another process can have it."""

    def blocks(self, source: Any, read: Input, decode: bool = False, /) -> Iterator[Block]:
        """Lines with their questions, of a file, a part of one, or an iterable; with `decode`, as records."""

    def records(self, lines: Sequence[Line], refuse: Callable[[Refusal], None], /) -> list[Any]:
        """A record for each line; None for one that is refused."""


class Records(msgspec.Struct, frozen=True):
    """Records that are checked as they are read, by a top-level function or a partial of one."""

    read: Callable[[Any, Input], Iterator[Numbered]]
    key: Callable[[Any], str]

    def blocks(self, source: Any, read: Input, decode: bool = False) -> Iterator[Block]:
        records = iter(self.read(source, read))
        while some := list(islice(records, _RECORDS)):
            yield [place for place, _ in some], [self.key(record) for _, record in some], [one for _, one in some]

    def records(self, lines: Sequence[Line], refuse: Callable[[Refusal], None]) -> list[Any]:
        return [record for _, record in lines]


class Table(msgspec.Struct, frozen=True):
    """Records by question, as a mapping has them."""

    def blocks(self, source: Mapping[str, Any], read: Input, decode: bool = False) -> Iterator[Block]:
        yield range(1, len(source) + 1), list(source), list(source.values())

    def records(self, lines: Sequence[Line], refuse: Callable[[Refusal], None]) -> list[Any]:
        return [record for _, record in lines]


class Stream:
    """The lines of one input, read whole or part by part."""

    def __init__(
        self, source: object, read: Input, format: Format, close: Close = raise_found, *, whole: bool = False
    ) -> None:
        self.source, self.read, self.format = source, read, format
        self._close = close
        self.whole = whole  # a line can't be read without those before it

    @property
    def paths(self) -> Sequence[str]:
        """The files to read; none where it is no file."""
        if isinstance(self.source, Files):
            return self.source.paths
        return [os.fspath(self.source)] if isinstance(self.source, (str, os.PathLike)) else []

    def blocks(self, decode: bool = False) -> Iterator[Block]:
        """All lines, file by file, with places that tell files apart; with `decode`, as records."""
        if not isinstance(self.source, Files):
            yield from self.format.blocks(self.source, self.read, decode)
            return
        digests = []
        for file, path in enumerate(self.source.paths):
            part = Input()
            for places, names, lines in self.format.blocks(path, part, decode):
                yield [place + file * FILE for place in places] if file else places, names, lines
            self.add(part)
            digests.append(part.digest)
        self.read.digest = join_digests(digests)

    def add(self, part: Input) -> None:
        """Keep what reading a part has told; parts are added in their order."""
        if isinstance(self.source, Files):
            self.read.path, self.read.files = self.source.pattern, self.source.paths
        self.read += part

    def close(self, refusals: Refusals | None = None) -> None:
        """Check what only the whole input tells, after all of it was read and opened."""
        if refusals is not None:
            self.read.refuse(refusals)
        self._close(self.source, self.read)

    def __iter__(self) -> Iterator[Numbered]:
        """Every record with its place, one after the other."""
        refusals = Refusals()
        for places, _, lines in self.blocks(decode=True):
            records = self.format.records(list(zip(places, lines, strict=True)), refusals.add)
            yield from (pair for pair in zip(places, records, strict=True) if pair[1] is not None)
        self.close(refusals)


def join_digests(digests: Iterable[str]) -> str:
    """The digest of several files: of their digests, in the order of their paths."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def relative(path: str, read: Input) -> str:
    """How one of several files is called in a report: by its path below the folder that all of them share."""
    base = os.path.commonpath([os.path.dirname(os.path.abspath(one)) for one in read.files])
    return os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")
