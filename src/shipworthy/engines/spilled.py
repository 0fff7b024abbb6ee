"""The engine for a memory limit: records go to disk in buckets by question, and the buckets are judged one by one.

Gold is on disk already (`core/shelved.py`), unless it is small. What comes out is what comes out of memory: evidence
adds up in any order, and where the order shows, records and items are merged into that of the files. Parts of the
input, and buckets, can be worked on by several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from operator import itemgetter
from typing import Any

import msgspec

from ..core import spill
from ..core.cases import Case
from ..core.evaluate import refuse, settle
from ..core.evidence import Evidence, Order
from ..core.inputs import Input, Stream
from ..core.suite import Judged, Material, Suite
from .attempts import in_order
from .buckets import (
    Bucket,
    BucketCounts,
    Bucketed,
    counts_of,
    divide,
    gather_bucket,
    in_one_go,
    judge_gathered,
    place_of,
)
from .inputs import keeps_many, splits
from .units import Plan, Unit, collect, part_size

ROOM_FOR_CARDS = 100_000_000  # bytes; below this limit failing items go to disk too


def run(
    suite: Suite, material: Material, *, jobs: int = 1, part: int | None = None, start: str | None = None
) -> Judged:
    store = spill.active()
    assert store is not None
    workers = Workers(jobs, start)
    gathered = SpilledGathered(suite, material, store)
    gathered.put(workers if splits(material) else Workers(1), part)
    at_once = in_one_go(suite, material)
    if not at_once:
        gathered.count(workers)
    context = material.context if at_once else settle(suite, material, gathered)
    evidence = Evidence(context.options.offenders)
    total = evidence if workers.jobs < 2 else None  # in one process nothing has to be added up
    tasks = ((number, evidence.cut()) for number in range(store.buckets))
    for counts, judged in workers.over(judge_bucket, (suite, context, gathered, total), tasks):
        if at_once:
            gathered.add(counts)
        if judged is not evidence:
            evidence += judged
        if store.limit < ROOM_FOR_CARDS or keeps_many(material):
            evidence.store_cards()
    if at_once:
        refuse(material, gathered)
    return Judged(context, gathered, evidence)


class Workers:
    """Runs tasks in this process, or in several."""

    def __init__(self, jobs: int, start: str | None = None) -> None:
        self.jobs, self._start = jobs, start

    def each(
        self, work: Callable[..., object], shared: tuple[object, ...], tasks: Iterable[object]
    ) -> Iterator[tuple[int, Any]]:
        """Results with their task numbers, as they complete; an error is returned as a result."""
        if self.jobs < 2:
            return ((number, work(*shared, task)) for number, task in enumerate(tasks))
        from .pool import run as in_processes

        return in_processes(work, shared, tasks, self.jobs, self._start)

    def over(self, work: Callable[..., object], shared: tuple[object, ...], tasks: Iterable[object]) -> Iterator[Any]:
        """Results in the order of their tasks."""
        return in_order(self.each(work, shared, tasks))


# --- what a worker does ---


class PutUnit(msgspec.Struct, frozen=True):
    """A part of an input, in buckets on disk."""

    read: Input
    source: str
    spill: spill.Spill


def put_unit(suite: Suite, material: Material, store: spill.Store, unit: Unit) -> PutUnit:
    """Read one part, and put its records in buckets."""
    stream = material.streams[unit.stream]
    assert isinstance(stream, Stream)
    read, spilled = Input(), store.file()
    divide(suite, material, stream.part(unit.file, unit.source, read), store.bucket_of, spilled.add)
    spilled.close()
    return PutUnit(read, unit.stream, spilled)


def count_bucket(gathered: SpilledGathered, number: int) -> BucketCounts:
    return counts_of(gathered.material, gathered.bucket(number))


def judge_bucket(
    suite: Suite, context: Any, gathered: SpilledGathered, evidence: Evidence | None, task: tuple[int, dict[str, Order]]
) -> tuple[BucketCounts, Evidence]:
    """Judge the questions of a bucket; their evidence is added to what there is."""
    number, cut = task
    evidence = Evidence(context.options.offenders, cut) if evidence is None else evidence
    bucket, expected = gathered.bucket(number), gathered.expected_of(number)
    return judge_gathered(suite, gathered.material, context, bucket, expected, evidence)


# --- records on disk ---


class SpilledGathered(Bucketed):
    """Records by question, on disk; a bucket at a time is in memory."""

    def __init__(self, suite: Suite, material: Material, store: spill.Store) -> None:
        super().__init__(suite, material)
        self._store = store
        self._spills: list[tuple[str, spill.Spill]] = []
        self._whole = material.expected
        self._divided = _divided(material.expected, store)

    def put(self, workers: Workers, part: int | None) -> None:
        """Read all inputs, and put their records on disk."""
        if workers.jobs < 2:
            for source, records in self.material.streams.items():
                spilled = self._store.file()
                divide(self._suite, self.material, records, self._store.bucket_of, spilled.add)
                spilled.close()
                self._spills.append((source, spilled))
            return
        plan = Plan(self.material, part or part_size(self.material, workers.jobs))
        failed: list[tuple[int, Exception]] = []
        silent = msgspec.structs.replace(self.material, tick=None)
        units = takewhile(lambda _: not failed, plan)
        put: dict[int, PutUnit] = {}
        results = workers.each(put_unit, (self._suite, silent, self._store), units)
        collect(self.material, plan, results, failed, put.__setitem__)
        self._spills = [(put[number].source, put[number].spill) for number in sorted(put)]

    def __getstate__(self) -> dict[str, object]:
        """For another process, which reports no progress and reads no input."""
        silent = msgspec.structs.replace(self.material, tick=None, streams=dict.fromkeys(self.material.streams, ()))
        return self.__dict__ | {"material": silent, "_expected": None}

    def expected_of(self, bucket: int) -> Mapping[str, object] | None:
        """The gold items of a bucket."""
        if self._whole is None:
            return None
        ready = getattr(self._whole, "bucket", None)
        return ready(bucket) if ready is not None else {name: self._whole[name] for name in self._divided[bucket]}

    def buckets(self) -> Iterator[tuple[int, Bucket]]:
        """One bucket after the other, with its number."""
        return ((number, self.bucket(number)) for number in range(self._store.buckets))

    def bucket(self, number: int) -> Bucket:
        pieces = ((source, spilled.read(number)) for source, spilled in self._spills)
        return gather_bucket(self._suite, self.material, self.expected_of(number), pieces)

    def count(self, workers: Workers) -> None:
        """Count what depends on all records."""
        for counts in workers.over(count_bucket, (self,), range(self._store.buckets)):
            self.add(counts)

    def some_cases(self, expected: Mapping[str, object] | None) -> Iterator[Case]:
        for number, bucket in self.buckets():
            yield from bucket.cases(self.expected_of(number))

    def cases(self, expected: Mapping[str, object] | None, names: Iterable[str] | None = None) -> Iterator[Case]:
        """All cases in the order in which they would be judged in memory: sorted by bucket, and merged."""
        assert names is None
        if self._store.in_order and self._whole is not None and not self._divided:
            return self.some_cases(expected)
        return self._merged(expected)

    def _merged(self, expected: Mapping[str, object] | None) -> Iterator[Case]:
        ordered = self._store.file()
        places = {name: number for number, name in enumerate(expected or ())} if self._divided else None
        for number, bucket in self.buckets():
            cases = ((self._place(case, bucket, places), case) for case in bucket.cases(self.expected_of(number)))
            for pair in sorted(cases, key=itemgetter(0)):
                ordered.add(number, pair)
        ordered.close()
        return (case for _, case in ordered.in_order(itemgetter(0)))

    def _place(self, case: Case, bucket: Bucket, places: Mapping[str, int] | None) -> tuple[int, int]:
        if places is not None:
            return 0, places[case.key]
        if self._whole is not None:
            line: int = self._whole.line(case.key)  # type: ignore[attr-defined] # of a gold set on disk
            return 0, line
        return place_of(case, bucket)

    def lacking(self, names: Iterable[str]) -> Iterator[str]:
        """The names without any record. Names of a gold set on disk are in buckets already."""
        if not names:
            return
        divided, shelved = _divided(names, self._store), getattr(names, "bucket", None)
        for number, bucket in self.buckets():
            yield from bucket.lacking(divided[number] if shelved is None else shelved(number))


def _divided(names: object, store: spill.Store) -> list[list[str]]:
    """Names by bucket; empty for a gold set that is in buckets already."""
    if names is None or hasattr(names, "bucket"):
        return []
    parts: list[list[str]] = [[] for _ in range(store.buckets)]
    for name in names:  # type: ignore[attr-defined]
        parts[store.bucket_of(name)].append(name)
    return parts
