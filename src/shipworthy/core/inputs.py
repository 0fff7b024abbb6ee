"""Inputs: what was read of a file and what was wrong with it, and streams that can be read whole or in parts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from ..reading.jsonl import Problems, Reader
from ..reading.many import Files
from ..reading.plans import Plans, add_plans, note_runs
from ..reading.quick import is_checked
from .cases import Numbered
from .once import FILE

_SHOWN = 3  # warnings of a kind


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


class Input(msgspec.Struct):
    """One thing that was read: its digest, how much of it, and what was wrong with it."""

    path: str = ""
    digest: str = ""
    records: int = 0
    bad: int = 0
    problems: list[str] = []
    warnings: list[Warned] = []
    plans: Plans = {}  # of the runs that `run` wrote: how many were planned, and which are there
    content: str = ""  # of a gold set: digest of what scoring reads of it, whatever the order of its lines
    files: tuple[str, ...] = ()  # where it is several files
    # What is known while it is read, part by part, and looked at when all of it was:
    found: Problems = msgspec.field(default_factory=Problems)
    values: Problems = msgspec.field(default_factory=Problems)  # what the suite itself finds wrong with records
    fits: dict[str, bool] = {}  # file with records → whether any of them is of the kind that was asked for
    mapped: Mapped | None = None

    def warn(self, line: int, what: str, code: str) -> None:
        """Keep a few of each kind: a million numeric qids are one remark, not a million."""
        self._keep(Warned(f"{self.path}:{line}", what, code))

    def _keep(self, warned: Warned) -> None:
        if sum(1 for one in self.warnings if one.code == warned.code) < _SHOWN:
            self.warnings.append(warned)

    def learn(self, reader: Reader[Any]) -> None:
        """Keep what only the end of a file tells."""
        self.digest = reader.digest
        add_plans(self.plans, reader.plans)

    def close(self, problems: Problems, lenient: bool) -> None:
        """Keep what was wrong; unless lenient, raise it."""
        self.bad, self.problems = problems.total, [str(problem) for problem in problems.first]
        if not lenient or problems.unread:  # how much is missing behind an unreadable end nobody knows
            problems.raise_any()

    def __iadd__(self, part: Input) -> Input:
        """Add what follows in the same input; digests are of whole files, and added up by whoever has them all."""
        self.path = self.path or part.path
        self.records += part.records
        add_plans(self.plans, part.plans)
        self.found += part.found
        self.values += part.values
        for warned in part.warnings:
            self._keep(warned)
        for path, fits in part.fits.items():
            self.fits[path] = fits or self.fits.get(path, False)
        if part.mapped is not None:
            self.mapped = part.mapped if self.mapped is None else self.mapped.__iadd__(part.mapped)
        return self


Key = Callable[[Any], str]  # record → the question it is about
Batch = Iterable[Numbered]  # records with their places, or `Lines` of them
Records = Callable[[Any, Input], Iterator[Numbered]]  # (source, input to note things in) → records with their places
Batches = Callable[[Any, Input, Key | None], Iterator[Batch]]  # the same in batches
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


class Pairs:
    """Records with their places, one by one or in batches."""

    def __init__(self, batches: Callable[[Key | None], Iterator[Batch]]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[Numbered]:
        return chain.from_iterable(self.batches(None))


class Stream:
    """The records of one input, in order. Iterating reads it whole; `parts` of it may be read anywhere.

    `records`, `close` and `batches` are top-level functions, or partials of such, so that another process can have
    them.
    """

    def __init__(
        self,
        source: object,
        read: Input,
        records: Records,
        close: Close = raise_found,
        *,
        splits: bool = True,
        light: bool = False,
        batches: Batches | None = None,
    ) -> None:
        self.source, self.read = source, read
        self._close, self._batches = close, partial(_one_batch, records) if batches is None else batches
        self.splits = splits and isinstance(source, (str, os.PathLike))  # whether a record can be read without others
        self.light = light  # what is kept of a record takes longer to send to another process than to read

    @property
    def paths(self) -> Sequence[str]:
        """The files to read; none where it is no file."""
        if isinstance(self.source, Files):
            return self.source.paths
        return [os.fspath(self.source)] if isinstance(self.source, (str, os.PathLike)) else []

    def __iter__(self) -> Iterator[Numbered]:
        return chain.from_iterable(self.batches(None))

    def batches(self, key: Key | None) -> Iterator[Batch]:
        """All records; with a key, as lines that are not yet made records where that is possible."""
        if isinstance(self.source, Files):
            yield from self._many(self.source, key)
        else:
            yield from self._batches(self.source, self.read, key)
        self._close(self.source, self.read)

    def _many(self, files: Files, key: Key | None) -> Iterator[Batch]:
        digests = []
        for index, path in enumerate(files.paths):
            part = Input()
            yield from self.part(index, path, part).batches(key)
            self.add(part)
            digests.append(part.digest)
        self.read.digest = joined(digests)

    def part(self, file: int, source: object, read: Input) -> Pairs:
        """Records of a file, or of a part of one, with places that tell files apart."""
        return Pairs(lambda key: (_moved(batch, file * FILE) for batch in self._batches(source, read, key)))

    def add(self, part: Input) -> None:
        """Keep what reading a part has told; parts are added in their order."""
        if isinstance(self.source, Files):
            self.read.path, self.read.files = self.source.pattern, self.source.paths
        self.read += part

    def close(self, digests: Sequence[str]) -> None:
        """Check what only the whole input tells, after all parts were added; `digests` are those of its files."""
        self.read.digest = digests[0] if not isinstance(self.source, Files) else joined(digests)
        self._close(self.source, self.read)


def _one_batch(records: Records, source: Any, read: Input, _key: Key | None) -> Iterator[Batch]:
    yield records(source, read)


def _moved(batch: Batch, by: int) -> Batch:
    if not by:
        return batch
    return batch.moved(by) if is_checked(batch) else ((place + by, record) for place, record in batch)


def joined(digests: Iterable[str]) -> str:
    """The digest of several files: of their digests, in the order of their paths."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def relative(path: str, read: Input) -> str:
    """How one of several files is called in a report: by its path below the folder that all of them share."""
    base = os.path.commonpath([os.path.dirname(os.path.abspath(one)) for one in read.files])
    return os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")
