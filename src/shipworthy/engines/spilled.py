"""Within a limit of memory: records go to disk in buckets by question, and one bucket after the other is judged.

Gold is on disk already (`core/shelved.py`), unless it is small. What comes out is what comes out of memory: evidence
adds up in any order, and where the order shows, records and items are merged into that of the files. Parts of the
input, and buckets, can be worked on by several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, takewhile
from operator import itemgetter
from typing import Any

import msgspec

from ..core import spill
from ..core.cases import Batched, Case, Gathered, Numbered, Survey, Unknown, record_of
from ..core.evaluate import judge, settle, ticking
from ..core.evidence import Evidence
from ..core.inputs import Input, Stream
from ..core.suite import Judged, Material, Suite
from ..core.suite import no_change as no_settling
from ..reading.quick import is_checked
from .attempts import Failed
from .inputs import splits
from .units import Plan, Unit, collect, part_size

ROOM_FOR_CARDS = 100_000_000  # bytes of a limit within which what failed is kept in memory


def run(
    suite: Suite, material: Material, *, jobs: int = 1, part: int | None = None, start: str | None = None
) -> Judged:
    store = spill.active()
    assert store is not None
    workers = Workers(jobs, start)
    gathered = SpilledGathered(suite, material, store)
    gathered.put(workers if splits(material) else Workers(1), part)
    at_once = _in_one_go(suite, material)
    if not at_once:
        gathered.count(workers)
    context = material.context if at_once else settle(suite, material, gathered)
    evidence = Evidence(context.options.offenders)
    total = evidence if workers.jobs < 2 else None  # in one process nothing has to be added up
    for counts, judged in workers.over(judge_bucket, (suite, context, gathered, total), range(store.buckets)):
        if at_once:
            gathered.add(counts)
        if judged is not evidence:
            evidence += judged
        if store.limit < ROOM_FOR_CARDS:
            evidence.store_cards()
    return Judged(context, gathered, evidence)


def _in_one_go(suite: Suite, material: Material) -> bool:
    """Whether nothing has to be known of the whole data before the first case is judged."""
    refuses = material.closed or "error" in material.keep.values()
    return suite.survey is None and suite.settle is no_settling and not refuses


class Workers:
    """Whoever does the tasks: this process, or several."""

    def __init__(self, jobs: int, start: str | None = None) -> None:
        self.jobs, self._start = jobs, start

    def each(
        self, work: Callable[..., object], shared: tuple[object, ...], tasks: Iterable[object]
    ) -> Iterator[tuple[int, Any]]:
        """Results with the numbers of their tasks, as they come; an error is the result of its task."""
        if self.jobs < 2:
            return ((number, work(*shared, task)) for number, task in enumerate(tasks))
        from .pool import run as in_processes

        return in_processes(work, shared, tasks, self.jobs, self._start)

    def over(self, work: Callable[..., object], shared: tuple[object, ...], tasks: Iterable[object]) -> Iterator[Any]:
        """Results in the order of their tasks; the first error is raised."""
        ready: dict[int, Any] = {}
        following = 0
        for number, result in self.each(work, shared, tasks):
            if isinstance(result, Failed):
                raise result.error
            ready[number] = result
            while following in ready:
                yield ready.pop(following)
                following += 1


# --- what a worker does ---


class PutUnit(msgspec.Struct, frozen=True):
    """A part of an input, in buckets on disk."""

    read: Input
    spill: spill.Spill


def put_unit(suite: Suite, material: Material, store: spill.Store, unit: Unit) -> PutUnit:
    """Read one part, and put its records in buckets."""
    stream = material.streams[unit.stream]
    assert isinstance(stream, Stream)
    read, spilled = Input(), store.file()
    _put(suite, material, store, spilled, unit.stream, stream.part(unit.file, unit.source, read))
    spilled.close()
    return PutUnit(read, spilled)


def _put(
    suite: Suite,
    material: Material,
    store: spill.Store,
    spilled: spill.Spill,
    source: str,
    records: Iterable[Numbered],
) -> None:
    tick, key, bucket_of, add = material.tick, suite.key, store.bucket_of, spilled.add
    if not isinstance(records, Batched):
        for pair in records if tick is None else ticking(records, tick):
            add(bucket_of(key(pair[1])), (source, pair))
        return
    number = 0
    for batch in records.batches(key):
        checked = zip(batch.names, batch.packed(), strict=True) if is_checked(batch) else None
        for name, kept in checked or ((key(pair[1]), pair) for pair in batch):
            add(bucket_of(name), (source, kept))
            number += 1
        if tick is not None:
            tick(number)


class BucketCounts(msgspec.Struct, frozen=True):
    """What a bucket adds to what is known of all records."""

    superseded: int
    unknown: dict[str, Unknown]
    seconds: dict[str, Numbered]
    survey: Survey | None


def count_bucket(gathered: SpilledGathered, number: int) -> BucketCounts:
    return gathered.counts_of(gathered.bucket(number))


def judge_bucket(
    suite: Suite, context: Any, gathered: SpilledGathered, evidence: Evidence | None, number: int
) -> tuple[BucketCounts, Evidence]:
    """Judge the questions of a bucket; their evidence is added to what there is."""
    bucket = gathered.bucket(number)
    evidence = judge(suite, bucket.cases(gathered.expected_of(number)), context, evidence)
    return gathered.counts_of(bucket), evidence


# --- records on disk ---


class Bucket(Gathered):
    """The records of a bucket, gathered."""

    number = 0


class SpilledGathered(Gathered):
    """Records by question, on disk; a bucket at a time is in memory."""

    def __init__(self, suite: Suite, material: Material, store: spill.Store) -> None:
        super().__init__(None, suite.survey(material) if suite.survey else None)
        self._suite, self._material, self._store = suite, material, store
        self._spills: list[spill.Spill] = []
        self._whole = material.expected
        self._divided = _divided(material.expected, store)
        self._seconds: dict[str, Numbered] = {}
        self.slots = {source: {} for source in material.streams}

    def put(self, workers: Workers, part: int | None) -> None:
        """Read all inputs, and put their records on disk."""
        material, store = self._material, self._store
        if workers.jobs < 2:
            spilled = store.file()
            for source, records in material.streams.items():
                _put(self._suite, material, store, spilled, source, records)
            spilled.close()
            self._spills = [spilled]
            return
        plan = Plan(material, part or part_size(material, workers.jobs))
        failed: list[tuple[int, Exception]] = []
        silent = msgspec.structs.replace(material, tick=None)
        units = takewhile(lambda _: not failed, plan)
        spills: dict[int, spill.Spill] = {}
        results = workers.each(put_unit, (self._suite, silent, store), units)
        collect(material, plan, results, failed, lambda number, unit: spills.update({number: unit.spill}))
        self._spills = [spills[number] for number in sorted(spills)]

    def __getstate__(self) -> dict[str, object]:
        """For another process, which has nobody to tell how far it is."""
        silent = msgspec.structs.replace(self._material, tick=None)
        return self.__dict__ | {"_material": silent, "_expected": None}

    def expected_of(self, bucket: int) -> Mapping[str, object] | None:
        """The gold items of a bucket."""
        if self._whole is None:
            return None
        ready = getattr(self._whole, "bucket", None)
        return ready(bucket) if ready is not None else {name: self._whole[name] for name in self._divided[bucket]}

    def buckets(self) -> Iterator[Bucket]:
        """One bucket after the other."""
        return map(self.bucket, range(self._store.buckets))

    def bucket(self, number: int) -> Bucket:
        survey = self._suite.survey(self._material) if self._suite.survey else None
        bucket = Bucket(self.expected_of(number), survey)
        bucket.number, keep = number, self._material.keep
        by_source: dict[str, list[Numbered]] = {source: [] for source in self._material.streams}
        for source, pair in chain.from_iterable(spilled.read(number) for spilled in self._spills):
            by_source[source].append((pair[0], record_of(pair)))
        for source, pairs in by_source.items():
            bucket.take(source, pairs, keep.get(source, "all"), self._suite.key)
        return bucket

    def count(self, workers: Workers) -> None:
        """What only all records together tell."""
        for counts in workers.over(count_bucket, (self,), range(self._store.buckets)):
            self.add(counts)

    def counts_of(self, bucket: Bucket) -> BucketCounts:
        refused = (source for source, keep in self._material.keep.items() if keep == "error")
        seconds = {source: second for source in refused if (second := bucket.second(source))}
        close = getattr(bucket.survey, "close_questions", None)
        if close is not None:
            close()
        return BucketCounts(bucket.superseded, bucket.unknown, seconds, bucket.survey)

    def add(self, counts: BucketCounts) -> None:
        for source, second in counts.seconds.items():
            self._seconds[source] = min(self._seconds.get(source, second), second, key=itemgetter(0))
        self.superseded += counts.superseded
        for source, met in counts.unknown.items():
            unknown = self.unknown_of(source)
            unknown += met
        if self.survey is not None:
            self.survey += counts.survey

    def second(self, source: str) -> Numbered | None:
        return self._seconds.get(source)

    def some_cases(self, expected: Mapping[str, object] | None) -> Iterator[Case]:
        for bucket in self.buckets():
            yield from bucket.cases(self.expected_of(bucket.number))

    def cases(self, expected: Mapping[str, object] | None, names: Iterable[str] | None = None) -> Iterator[Case]:
        """All cases in the order in which they would be judged in memory: sorted by bucket, and merged."""
        assert names is None
        if self._store.in_order and self._whole is not None and not self._divided:
            return self.some_cases(expected)
        return self._merged(expected)

    def _merged(self, expected: Mapping[str, object] | None) -> Iterator[Case]:
        ordered = self._store.file()
        places = {name: number for number, name in enumerate(expected or ())} if self._divided else None
        for bucket in self.buckets():
            cases = (
                (self._place(case, bucket, places), case) for case in bucket.cases(self.expected_of(bucket.number))
            )
            for pair in sorted(cases, key=itemgetter(0)):
                ordered.add(bucket.number, pair)
        ordered.close()
        return (case for _, case in ordered.in_order(itemgetter(0)))

    def _place(self, case: Case, bucket: Bucket, places: Mapping[str, int] | None) -> tuple[int, int]:
        if places is not None:
            return 0, places[case.key]
        if self._whole is not None:
            line: int = self._whole.line(case.key)  # type: ignore[attr-defined] # of a gold set on disk
            return 0, line
        firsts = ((number, slots[case.key]) for number, slots in enumerate(bucket.slots.values()) if case.key in slots)
        number, slot = next(firsts)
        return number, min(pair[0] for pair in slot)

    def lacking(self, names: Iterable[str]) -> Iterator[str]:
        """Of the names those without any record; names of a gold set on disk are in buckets already."""
        if not names:
            return
        divided, shelved = _divided(names, self._store), getattr(names, "bucket", None)
        for bucket in self.buckets():
            yield from bucket.lacking(divided[bucket.number] if shelved is None else shelved(bucket.number))


def _divided(names: object, store: spill.Store) -> list[list[str]]:
    """Names by bucket; none of a gold set that is in buckets already."""
    if names is None or hasattr(names, "bucket"):
        return []
    parts: list[list[str]] = [[] for _ in range(store.buckets)]
    for name in names:  # type: ignore[attr-defined]
        parts[store.bucket_of(name)].append(name)
    return parts
