"""A shuffle on a cluster: records go to its workers in buckets by question, stay there, and are judged there.

First each part of an input is read, and its records are divided. Then one task has the records of a bucket from all
parts. Only what was counted comes back, so that no machine has to hold all records.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

import msgspec

from ..core.cases import Case, Kept
from ..core.evaluate import refuse, settle
from ..core.evidence import Evidence
from ..core.inputs import Input, Stream
from ..core.spill import hash_of
from ..core.suite import Judged, Material, Suite
from .attempts import attempt, in_order
from .buckets import (
    BucketCounts,
    Bucketed,
    Piece,
    counts_of,
    divide,
    gather_bucket,
    in_one_go,
    judge_gathered,
    place_of,
)
from .units import Plan, ReadUnit, Unit, collect

Rename = Callable[[int, Any], Any]  # (number of a unit, a worker's result) → the result with local paths
Places = tuple[tuple[int, int], Case]  # a case, and where it comes among all


class BucketNames(msgspec.Struct, frozen=True):
    """The questions of a bucket, wrapped so that Dask does not look inside; None if records make them."""

    names: list[str] | None


class Cluster(Protocol):
    """What a shuffle needs from a cluster."""

    def split(
        self, work: Callable[..., Sequence[object]], shared: tuple[object, ...], tasks: Sequence[object], outputs: int
    ) -> tuple[Iterator[tuple[int, Any]], list[list[object]]]:
        """The first output of each task as it arrives; the others stay where they are, by task."""

    def over(
        self, work: Callable[..., object], shared: tuple[object, ...], tasks: Iterable[tuple[object, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Results with the numbers of their tasks; the arguments of a task may be outputs of others."""


def evaluate(
    cluster: Cluster, suite: Suite, material: Material, plan: Plan, units: Sequence[Unit], rename: Rename, buckets: int
) -> Judged:
    """Judge on the workers. `units` are those of the plan, as a worker finds them."""
    gathered = ClusterGathered(cluster, suite, material, buckets)
    gathered.read(plan, units, rename)
    at_once = in_one_go(suite, material)
    if not at_once:
        for counts in gathered.each(count_pieces):
            gathered.add(counts)
    context = material.context if at_once else settle(suite, material, gathered)
    evidence = Evidence(context.options.offenders)
    for counts, judged in gathered.each(judge_pieces, context):
        if at_once:
            gathered.add(counts)
        evidence += judged
    if at_once:
        refuse(material, gathered)
    return Judged(context, gathered, evidence)


# --- what a worker does ---


def split_unit(suite: Suite, material: Material, buckets: int, unit: Unit) -> list[object]:
    """What reading a part told, or how it failed; and its records, a list for each bucket."""
    records: list[list[Kept]] = [[] for _ in range(buckets)]
    told = attempt(_split, suite, material, records, unit)
    return [told, *((unit.stream, some if isinstance(told, ReadUnit) else []) for some in records)]


def _split(suite: Suite, material: Material, records: list[list[Kept]], unit: Unit) -> ReadUnit:
    stream = material.streams[unit.stream]
    assert isinstance(stream, Stream)
    read = Input()
    bucket_of = partial(hash_of, buckets=len(records))
    part = stream.part(unit.file, unit.source, read)
    divide(suite, material, part, bucket_of, lambda number, kept: records[number].append(kept))
    return ReadUnit(None, read)


def count_pieces(suite: Suite, material: Material, given: BucketNames, *pieces: Piece) -> BucketCounts:
    expected = _expected(material, given)
    return counts_of(material, gather_bucket(suite, material, expected, pieces))


def judge_pieces(
    suite: Suite, material: Material, context: Any, given: BucketNames, *pieces: Piece
) -> tuple[BucketCounts, Evidence]:
    expected = _expected(material, given)
    bucket = gather_bucket(suite, material, expected, pieces)
    return judge_gathered(suite, material, context, bucket, expected)


def cases_of_pieces(suite: Suite, material: Material, given: BucketNames, *pieces: Piece) -> list[Places]:
    """The cases of a bucket; where records make them, each with where it comes."""
    expected = _expected(material, given)
    bucket = gather_bucket(suite, material, expected, pieces)
    return [((0, 0) if expected is not None else place_of(case, bucket), case) for case in bucket.cases(expected)]


def lacking_in_pieces(suite: Suite, material: Material, given: BucketNames, *pieces: Piece) -> list[str]:
    """The names without any record."""
    expected = _expected(material, given)
    bucket = gather_bucket(suite, material, expected, pieces)
    return list(bucket.lacking(given.names or ()))


def _expected(material: Material, given: BucketNames) -> Mapping[str, Any] | None:
    if given.names is None or material.expected is None:
        return None
    return {name: material.expected[name] for name in given.names}


# --- what the client knows ---


class ClusterGathered(Bucketed):
    """Records by question on the workers of a cluster."""

    def __init__(self, cluster: Cluster, suite: Suite, material: Material, buckets: int) -> None:
        super().__init__(suite, material)
        self._cluster, self._buckets = cluster, buckets
        self._pieces: list[list[object]] = []  # of each unit, by bucket
        self._divided = None if material.expected is None else self._by_bucket(material.expected)

    def read(self, plan: Plan, units: Sequence[Unit], rename: Rename) -> None:
        """Have all parts read and divided."""
        shared = self._suite, self._silent, self._buckets
        results, self._pieces = self._cluster.split(split_unit, shared, units, self._buckets)
        told = ((number, rename(number, result)) for number, result in results)
        collect(self.material, plan, told, [], lambda number, unit: None)

    @property
    def _silent(self) -> Material:
        return msgspec.structs.replace(self.material, tick=None)

    def each(
        self, work: Callable[..., object], *context: object, names: list[list[str]] | None = None
    ) -> Iterator[Any]:
        """The results of all buckets in their order; a bucket's questions are the gold set's, or those given."""
        divided = self._divided if names is None else names
        tasks = (
            (BucketNames(divided[number] if divided is not None else None), *(unit[number] for unit in self._pieces))
            for number in range(self._buckets)
        )
        return in_order(self._cluster.over(work, (self._suite, self._silent, *context), tasks))

    def _by_bucket(self, names: Iterable[str]) -> list[list[str]]:
        divided: list[list[str]] = [[] for _ in range(self._buckets)]
        for name in names:
            divided[hash_of(name, self._buckets)].append(name)
        return divided

    def some_cases(self, expected: Mapping[str, object] | None) -> Iterator[Case]:
        return (case for placed in self.each(cases_of_pieces) for _, case in placed)

    def cases(self, expected: Mapping[str, object] | None, names: Iterable[str] | None = None) -> Iterator[Case]:
        """All cases in the order in which they would be judged in one process; they come here for that."""
        assert names is None
        placed = [pair for found in self.each(cases_of_pieces) for pair in found]
        if expected is not None:
            order = {name: number for number, name in enumerate(expected)}
            placed = [((0, order[case.key]), case) for _, case in placed]
        return (case for _, case in sorted(placed, key=itemgetter(0)))

    def lacking(self, names: Iterable[str]) -> Iterator[str]:
        """The names without any record."""
        if not names:
            return
        yield from chain.from_iterable(self.each(lacking_in_pieces, names=self._by_bucket(names)))


def close_with(gathered: ClusterGathered, close: Callable[[], object]) -> None:
    """Disconnect from the cluster once no records can be requested any more."""
    weakref.finalize(gathered, close)
