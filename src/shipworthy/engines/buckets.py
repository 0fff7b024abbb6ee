"""Buckets: the records of some questions at a time. The evidence of all buckets adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

import msgspec

from ..core.cases import Batched, Case, Gathered, Kept, Numbered, Survey, Undecided, Unknown
from ..core.evaluate import judge, ticking
from ..core.evidence import Evidence
from ..core.once import Repeated
from ..core.suite import Material, Suite
from ..core.suite import no_change as no_settling
from ..reading.quick import is_checked

Piece = tuple[str, Iterable[Kept]]  # an input, and records of it


def in_one_go(suite: Suite, material: Material) -> bool:
    """Whether cases can be judged before all data was read."""
    refuses = material.closed or material.once or "error" in material.keep.values()
    return suite.survey is None and suite.settle is no_settling and not refuses


def divide(
    suite: Suite,
    material: Material,
    records: Iterable[Numbered],
    bucket_of: Callable[[str], int],
    add: Callable[[int, Kept], None],
) -> None:
    """Put each record into its bucket, as its checked line where there is one."""
    tick, key = material.tick, suite.key
    if not isinstance(records, Batched):
        for pair in records if tick is None else ticking(records, tick):
            add(bucket_of(key(pair[1])), pair)
        return
    number = 0
    for batch in records.batches(key):
        checked = zip(batch.names, batch.packed(), strict=True) if is_checked(batch) else None
        for name, kept in checked or ((key(pair[1]), pair) for pair in batch):
            add(bucket_of(name), kept)
            number += 1
        if tick is not None:
            tick(number)


class Bucket(Gathered):
    """The records of some questions, gathered."""


class BucketCounts(msgspec.Struct, frozen=True):
    """What a bucket contributes to the totals."""

    superseded: int
    unknown: dict[str, Unknown]
    seconds: dict[str, Numbered]
    survey: Survey | None
    repeated: dict[str, Repeated]
    undecided: dict[str, Undecided]


def gather_bucket(
    suite: Suite, material: Material, expected: Mapping[str, Any] | None, pieces: Iterable[Piece]
) -> Bucket:
    """The records of a bucket that count, by question."""
    bucket = Bucket(expected, suite.survey(material) if suite.survey else None, material.once, material.runs)
    by_source: dict[str, list[Numbered]] = {source: [] for source in material.streams}
    for source, many in pieces:  # `record_of` written out, to save a call for each record
        by_source[source] += [kept if len(kept) == 2 else (kept[0], kept[2].decode(kept[1])) for kept in many]
    for source, pairs in by_source.items():
        bucket.take(source, pairs, material.keep.get(source, "all"), suite.key)
    bucket.drop_repeated()
    return bucket


def counts_of(material: Material, bucket: Bucket) -> BucketCounts:
    refused = (source for source, keep in material.keep.items() if keep == "error")
    seconds = {source: second for source in refused if (second := bucket.second(source))}
    close = getattr(bucket.survey, "close_questions", None)
    if close is not None:
        close()
    return BucketCounts(bucket.superseded, bucket.unknown, seconds, bucket.survey, bucket.repeated, bucket.undecided)


def judge_gathered(
    suite: Suite,
    material: Material,
    context: Any,
    bucket: Bucket,
    expected: Mapping[str, Any] | None,
    evidence: Evidence | None = None,
) -> tuple[BucketCounts, Evidence]:
    """Judge the questions of a bucket; their evidence is added to what there is."""
    evidence = judge(suite, bucket.cases(expected), context, evidence)
    return counts_of(material, bucket), evidence


def place_of(case: Case, bucket: Bucket) -> tuple[int, int]:
    """The position that a case would have in memory if records make the cases: that of its first record."""
    firsts = ((number, slots[case.key]) for number, slots in enumerate(bucket.slots.values()) if case.key in slots)
    number, slot = next(firsts)
    return number, min(pair[0] for pair in slot)


class Bucketed(Gathered):
    """Records by question in buckets; this process holds at most one bucket at a time."""

    def __init__(self, suite: Suite, material: Material) -> None:
        super().__init__(None, suite.survey(material) if suite.survey else None, material.once, material.runs)
        self._suite, self.material = suite, material
        self._seconds: dict[str, Numbered] = {}
        self.slots = {source: {} for source in material.streams}

    def add(self, counts: BucketCounts) -> None:
        """Add the totals of another bucket."""
        for source, second in counts.seconds.items():
            self._seconds[source] = min(self._seconds.get(source, second), second, key=itemgetter(0))
        self.superseded += counts.superseded
        for source, met in counts.unknown.items():
            unknown = self.unknown_of(source)
            unknown += met
        for source, again in counts.repeated.items():
            repeated = self.repeated.setdefault(source, Repeated())
            repeated += again
        for source, undecided in counts.undecided.items():
            self.undecided[source] = min(self.undecided.get(source, undecided), undecided)
        if self.survey is not None:
            self.survey += counts.survey

    def second(self, source: str) -> Numbered | None:
        return self._seconds.get(source)
