"""Units: the work of an evaluation in pieces that can be done anywhere, in any order, and more than once.

First each part of an input is read, and its records are gathered. Then, once all is known that only the whole data
can tell, each group of questions is judged. What comes back adds up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

import msgspec

from ..core.cases import Gathered
from ..core.evaluate import gather, judge
from ..core.evidence import Evidence
from ..core.inputs import Input, Stream
from ..core.suite import Material, Suite
from ..reading.cutting import Parts, parts_of
from ..reading.parts import Part
from ..text import visible
from .attempts import Failed
from .inputs import size_of

LEAST, MOST = 1 << 20, 16 << 20  # bytes of a part; the records of several parts fit in memory
PER_JOB = 8  # parts for each worker, so that they finish at about the same time


Cut = Callable[[str], Parts | None]


class Unit(msgspec.Struct, frozen=True):
    """A part of one input: the stream's name, the number of the file, and the part of it or the whole path."""

    stream: str
    file: int
    source: str | Part

    @property
    def path(self) -> str:
        return os.fspath(self.source)

    def moved(self, path: str) -> Unit:
        """The same under another path."""
        source = msgspec.structs.replace(self.source, path=path) if isinstance(self.source, Part) else path
        return msgspec.structs.replace(self, source=source)

    @property
    def label(self) -> str:
        return self.source.label if isinstance(self.source, Part) else visible(self.path)


class ReadUnit(msgspec.Struct, frozen=True):
    """What reading a unit gave."""

    gathered: Gathered | None  # None if the records stay where they were read
    read: Input


def part_size(material: Material, jobs: int) -> int:
    return max(LEAST, min(MOST, size_of(material) // (jobs * PER_JOB)))


class Plan:
    """The units of an evaluation, cut on demand; the digests of split files are known at the end."""

    def __init__(self, material: Material, size: int, cut: Cut | None = None) -> None:
        self._parts_of = partial(parts_of, size=size) if cut is None else cut
        self.streams: dict[str, Stream] = {
            name: stream for name, stream in material.streams.items() if isinstance(stream, Stream)
        }
        self.units: list[Unit] = []
        self._cut: dict[tuple[str, int], Parts] = {}

    @property
    def paths(self) -> list[str]:
        """Every file, once."""
        return list(dict.fromkeys(path for stream in self.streams.values() for path in stream.paths))

    def __iter__(self) -> Iterator[Unit]:
        for name, stream in self.streams.items():
            for file, path in enumerate(stream.paths):
                for unit in self._of_file(name, file, path):
                    self.units.append(unit)
                    yield unit

    def _of_file(self, name: str, file: int, path: str) -> Iterator[Unit]:
        parts = self._parts_of(path)
        if parts is None:
            yield Unit(name, file, path)
            return
        self._cut[name, file] = parts
        for part in parts:
            yield Unit(name, file, part)

    def close(self, reads: Mapping[int, Input], failed: tuple[int, Exception] | None = None) -> None:
        """Combine the units of each input in order, and raise the error that reading it whole would raise."""
        for name, stream in self.streams.items():
            digests: dict[int, str] = {}
            for number, unit in enumerate(self.units):
                if unit.stream != name:
                    continue
                if failed is not None and number == failed[0]:
                    raise failed[1]
                stream.add(reads[number])
                digests[unit.file] = reads[number].digest
            digests |= {file: parts.digest for (cut, file), parts in self._cut.items() if cut == name}
            stream.close([digests[file] for file in sorted(digests)])


def read_unit(suite: Suite, material: Material, unit: Unit) -> ReadUnit:
    """Read one part, and gather its records by question."""
    stream = material.streams[unit.stream]
    assert isinstance(stream, Stream)
    read = Input()
    gathered = gather(suite, material, {unit.stream: stream.part(unit.file, unit.source, read)})
    return ReadUnit(gathered, read)


def collect(
    material: Material,
    plan: Plan,
    results: Iterable[tuple[int, Any]],
    failed: list[tuple[int, Exception]],
    keep: Callable[[int, Any], None],
) -> None:
    """Keep the result of each unit as it arrives; problems are reported as if the input had been read in one piece."""
    reads: dict[int, Input] = {}
    tick, records = material.tick, 0
    for number, result in results:
        if isinstance(result, Failed):
            failed.append((number, result.error))
            continue
        reads[number] = result.read
        keep(number, result)
        records += result.read.records
        if tick is not None:
            tick(records)
    plan.close(reads, min(failed, key=itemgetter(0), default=None))


def merge(
    suite: Suite,
    material: Material,
    plan: Plan,
    results: Iterable[tuple[int, Any]],
    failed: list[tuple[int, Exception]],
) -> Gathered:
    """The records of all units, gathered in this process."""
    gathered = nothing_read(suite, material)
    collect(material, plan, results, failed, lambda _, unit: gathered.merge(unit.gathered, material.keep))
    return gathered


def nothing_read(suite: Suite, material: Material) -> Gathered:
    """An empty result, before any unit was read."""
    return gather(suite, material, dict.fromkeys(material.streams, ()))


def add_up(evidence: Evidence, results: Iterable[tuple[int, Any]]) -> Evidence:
    for _, result in results:
        if isinstance(result, Failed):
            raise result.error
        evidence += result
    return evidence


def judge_some(suite: Suite, context: object, gathered: Gathered, material: Material, names: list[str]) -> Evidence:
    """Judge the questions of these names."""
    return judge(suite, gathered.cases(material.expected, names), context)


def groups(names: list[str], size: int) -> Iterator[list[str]]:
    return (names[start : start + size] for start in range(0, len(names), size))
