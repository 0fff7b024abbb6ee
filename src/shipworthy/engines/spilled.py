"""Within a limit of memory: records go to disk in buckets by question, and one bucket after the other is judged.

Gold is on disk already (`core/shelved.py`). What comes out is what comes out of memory: evidence adds up in any order,
and where the order shows, records and items are merged into that of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from ..core import spill
from ..core.cases import Batched, Case, Gathered, Numbered, record_of
from ..core.evaluate import judge, settle, ticking
from ..core.evidence import Evidence
from ..core.suite import Judged, Material, Suite
from ..core.suite import no_change as no_settling
from ..reading.quick import is_checked


def run(suite: Suite, material: Material) -> Judged:
    store = spill.active()
    assert store is not None
    gathered = SpilledGathered(suite, material, store)
    if _in_one_go(suite, material):
        context = material.context
        gathered.keep_counts = True
    else:
        gathered.count()
        context = settle(suite, material, gathered)
    evidence = Evidence(context.options.offenders)
    for bucket in gathered.buckets():
        judge(suite, bucket.cases(gathered.expected_of(bucket.number)), context, evidence)
        evidence.store_cards()
    gathered.keep_counts = False
    return Judged(context, gathered, evidence)


def _in_one_go(suite: Suite, material: Material) -> bool:
    """Whether nothing has to be known of the whole data before the first case is judged."""
    refuses = material.closed or "error" in material.keep.values()
    return suite.survey is None and suite.settle is no_settling and not refuses


class Bucket(Gathered):
    """The records of a bucket, gathered."""

    number = 0


class SpilledGathered(Gathered):
    """Records by question, on disk; a bucket at a time is in memory."""

    def __init__(self, suite: Suite, material: Material, store: spill.Store) -> None:
        super().__init__(None, suite.survey(material) if suite.survey else None)
        self._suite, self._material = suite, material
        self._store, self._spill = store, store.file()
        self._whole = material.expected
        self._divided = _divided(material.expected, store.buckets)
        self._seconds: dict[str, Numbered] = {}
        self.keep_counts = False  # whether buckets that are read are counted as they go by
        self.slots = {source: {} for source in material.streams}
        for source, records in material.streams.items():
            self._put(source, records)
        self._spill.close()

    def _put(self, source: str, records: Iterable[Numbered]) -> None:
        tick, key, buckets = self._material.tick, self._suite.key, self._store.buckets
        if not isinstance(records, Batched):
            for pair in records if tick is None else ticking(records, tick):
                self._spill.add(spill.bucket_of(key(pair[1]), buckets), (source, pair))
            return
        number = 0
        for batch in records.batches(key):
            checked = zip(batch.names, batch.packed(), strict=True) if is_checked(batch) else None
            for name, kept in checked or ((key(pair[1]), pair) for pair in batch):
                self._spill.add(spill.bucket_of(name, buckets), (source, kept))
                number += 1
            if tick is not None:
                tick(number)

    def expected_of(self, bucket: int) -> Mapping[str, object] | None:
        """The gold items of a bucket."""
        if self._whole is None:
            return None
        ready = getattr(self._whole, "bucket", None)
        return ready(bucket) if ready is not None else {name: self._whole[name] for name in self._divided[bucket]}

    def buckets(self) -> Iterator[Bucket]:
        """One bucket after the other."""
        for number in range(self._store.buckets):
            bucket = self._gathered(number)
            if self.keep_counts:
                self._add(bucket)
            yield bucket

    def _gathered(self, number: int) -> Bucket:
        survey = self._suite.survey(self._material) if self._suite.survey else None
        bucket = Bucket(self.expected_of(number), survey)
        bucket.number, keep = number, self._material.keep
        by_source: dict[str, list[Numbered]] = {source: [] for source in self._material.streams}
        for source, pair in self._spill.read(number):
            by_source[source].append((pair[0], record_of(pair)))
        for source, pairs in by_source.items():
            bucket.take(source, pairs, keep.get(source, "all"), self._suite.key)
        return bucket

    def count(self) -> None:
        """What only all records together tell."""
        self.keep_counts = True
        for _ in self.buckets():
            pass
        self.keep_counts = False

    def _add(self, bucket: Bucket) -> None:
        for source, keep in self._material.keep.items():
            if keep == "error" and (second := bucket.second(source)):
                self._seconds[source] = min(self._seconds.get(source, second), second, key=itemgetter(0))
        self.superseded += bucket.superseded
        for source, met in bucket.unknown.items():
            unknown = self.unknown_of(source)
            unknown += met
        if self.survey is not None:
            close = getattr(bucket.survey, "close_questions", None)
            if close is not None:
                close()
            self.survey += bucket.survey

    def second(self, source: str) -> Numbered | None:
        return self._seconds.get(source)

    def some_cases(self, expected: Mapping[str, object] | None) -> Iterator[Case]:
        for bucket in self.buckets():
            yield from bucket.cases(self.expected_of(bucket.number))

    def cases(self, expected: Mapping[str, object] | None, names: Iterable[str] | None = None) -> Iterator[Case]:
        """All cases in the order in which they would be judged in memory: sorted by bucket, and merged."""
        assert names is None
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
        divided, shelved = _divided(names, self._store.buckets), getattr(names, "bucket", None)
        for bucket in self.buckets():
            yield from bucket.lacking(divided[bucket.number] if shelved is None else shelved(bucket.number))


def _divided(names: object, buckets: int) -> list[list[str]]:
    """Names by bucket; none of a gold set that is in buckets already."""
    if names is None or hasattr(names, "bucket"):
        return []
    parts: list[list[str]] = [[] for _ in range(buckets)]
    for name in names:  # type: ignore[attr-defined]
        parts[spill.bucket_of(name, buckets)].append(name)
    return parts
