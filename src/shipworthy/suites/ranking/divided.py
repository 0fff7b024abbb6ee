"""Lists within a limit of memory: what there is to find, and what was found, go to disk in buckets of questions.

One bucket after the other is ranked, by the rules that hold for everything at once where memory has room for it.
Everything that the suites know of buckets is here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

from ...core import spill
from ...core.cases import Numbered
from ...core.inputs import Input, Stream, raise_later
from ...core.once import Once, Repeated
from ...core.spill import Spill, Store
from ...core.suite import Sources
from ...errors import DataError
from .lists import (
    ONE_EACH,
    Lists,
    Slot,
    Slots,
    as_text,
    close_gold,
    close_lists,
    gold_items,
    listed,
    ranked_lists,
    relevant_counts,
    shown,
    slots_of,
)
from .options import Choices, Options
from .trec import (
    Block,
    Judged,
    add_block,
    is_run_file,
    judged_of,
    judged_spans,
    name_of,
    no_judgements,
    one_file,
    read_qrels,
    read_whole_run,
    run_spans,
)

GROWTH_OF_LISTS = 13  # bytes in memory for each byte of qrels, once it is known what there is to find
ROOM_FOR_LISTS = 3 / 4  # of a limit; ranked lists, which are all that is beside them, are on disk
Placed = TypeVar("Placed", bound=tuple[int, Any])
Value = TypeVar("Value")
Held = Iterator[Any]  # records of a bucket with their places, in the order of their file


def must_divide(source: Any) -> Store | None:
    """Where lists go, if there is a limit of memory and what there is to find would not fit in it."""
    store = spill.active()
    return store if store is not None and store.shelves(source, GROWTH_OF_LISTS, ROOM_FOR_LISTS) else None


def judgements(path: str, read: Input) -> Iterable[tuple[bytes, Judged]]:
    """What qrels say about each query, in the order in which they first name them."""
    store = spill.active()
    if store is None:
        return read_qrels(path, read).items()
    return _merged(store, _spilled_qrels(store, path, read)[0], partial(_placed_judgements, path))


def run_blocks(path: str, read: Input) -> Iterator[Block]:
    """The lists of a run, each from all its lines, in the order in which their queries first come."""
    store = spill.active()
    if store is None:
        return read_whole_run(path, read)
    file = store.file()
    for place, span in enumerate(run_spans(path, read)):
        file.add(store.bucket_of(name_of(span[0])), (place, span))
    file.close()
    return _merged(store, file, _blocks_in)


def _merged(store: Store, file: Spill, made: Callable[[Held], Iterable[tuple[int, Value]]]) -> Iterator[Value]:
    """What is made of each bucket, by place; it comes out of a bucket in that order."""
    ordered = store.file(file.buckets)
    for bucket in range(file.buckets):
        for placed in made(file.read(bucket)):
            ordered.add(bucket, placed)
    ordered.close()
    file.remove()
    return (value for _, value in ordered.in_order(itemgetter(0)))


class DividedSlots(Mapping[str, int]):
    """How much there is to find for each question; a bucket at a time is in memory."""

    def __init__(self, store: Store, file: Spill, made: Callable[[Held], Slots], count: int) -> None:
        self._store, self._file, self._made, self._count = store, file, made, count
        self._lines: tuple[int, dict[str, int]] = -1, {}  # of the bucket that somebody asked for last

    def slots(self, bucket: int) -> Slots:
        return self._made(self._file.read(bucket))

    def bucket(self, number: int) -> dict[str, int]:
        return relevant_counts(self.slots(number))

    def line(self, name: str) -> int:
        """Where the question comes in its file."""
        bucket = self._store.bucket_of(name)
        if self._lines[0] != bucket:
            self._lines = bucket, {slot.name: slot.line for slot in self.slots(bucket).values()}
        return self._lines[1][name]

    def __getitem__(self, name: str) -> int:
        return self.bucket(self._store.bucket_of(name))[name]

    def __iter__(self) -> Iterator[str]:
        return (name for number in range(self._store.buckets) for name in self.bucket(number))

    def __len__(self) -> int:
        return self._count


class Errors:
    """Errors of records in any order, of which the one is told that reading from first to last would meet first."""

    def __init__(self) -> None:
        self._place = sys.maxsize  # what can't be read comes behind everything that was
        self._first: tuple[int, DataError] | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        try:
            yield
        except DataError as error:
            if self._first is None or self._place < self._first[0]:
                self._first = self._place, error

    def at(self, numbered: Placed) -> Placed:
        """Note the place of a record that is looked at next."""
        self._place = numbered[0]
        return numbered

    def raise_first(self) -> None:
        if self._first is not None:
            raise self._first[1]


def read_divided(
    store: Store, sources: Sources, options: Options, choices: Choices, gold: Input, log: Input
) -> tuple[DividedSlots, Iterator[Numbered]]:
    """What there is to find, and the ranked lists, bucket by bucket; each has its place in its file."""
    run = sources.get("run", sources.get("shadow"))
    if sources.get("qrels") is not None:
        path = os.fspath(sources["qrels"])
        file, count = _spilled_qrels(store, path, gold)
        slots = DividedSlots(store, file, partial(_judged_slots, path, choices), count)
        return slots, _ranked(store, slots, enumerate(run_spans(one_file(run), log), 1), choices, _blocks_in)
    slots = _gold(store, sources["gold"], gold, options.map)
    if is_run_file(run):
        gold.found.raise_any()
        spans = run_spans(os.fspath(run), log)
        return slots, _ranked(store, slots, enumerate(spans, 1), choices, _blocks_as_text)
    lists = Stream(run, log, partial(listed, map=options.map), raise_later)
    close = partial(close_lists, run, log, gold, options.lenient)
    return slots, _ranked(store, slots, iter(lists), choices, iter, close)


# --- what there is to find ---


def _name(slot: Slot) -> tuple[str]:
    return (slot.name,)


_ONCE = Once(_name, "duplicate qid {!r}", ONE_EACH, "gold-repeated")


def _gold(store: Store, source: Any, read: Input, map: tuple[str, ...]) -> DividedSlots:
    file, count, repeated = store.file(), 0, Repeated()
    for slot in gold_items(source, read, map):
        file.add(store.bucket_of(slot.name), slot)
    file.close()
    for bucket in range(store.buckets):
        count += len(_first_slots(repeated, file.read(bucket)))
    read.found = _ONCE.problems(read.files or [read.path], read.found, repeated)
    close_gold(read, count)
    return DividedSlots(store, file, partial(_first_slots, Repeated()), count)


def _first_slots(repeated: Repeated, held: Held) -> Slots:
    slots: Slots = {}
    for slot in held:
        first = slots.setdefault(slot.name, slot)
        if first is not slot:
            repeated.meet((slot.line, first.line, (slot.name,)))
    return slots


def _spilled_qrels(store: Store, path: str, read: Input) -> tuple[Spill, int]:
    """The spans of qrels in buckets, checked, and how many queries they are about."""
    file, errors, count = store.file(), Errors(), 0
    with errors.kept():
        for place, span in enumerate(judged_spans(path, read)):
            file.add(store.bucket_of(name_of(span[0])), (place, span))
    file.close()
    for bucket in range(file.buckets):
        with errors.kept():
            count += len(judged_of(path, map(itemgetter(1), map(errors.at, file.read(bucket)))))
    errors.raise_first()
    if not count:
        raise no_judgements(path)
    return file, count


def _placed_judgements(path: str, held: Held) -> Iterator[tuple[int, tuple[bytes, Judged]]]:
    spans = list(held)
    places = {qid: place for place, (qid, *_) in reversed(spans)}  # the first of a query is the last to be set
    return ((places[qid], (qid, judged)) for qid, judged in judged_of(path, map(itemgetter(1), spans)).items())


def _judged_slots(path: str, choices: Choices, held: Held) -> Slots:
    placed = list(_placed_judgements(path, held))
    slots = slots_of(dict(pair for _, pair in placed), choices)
    for place, (qid, _) in placed:
        slots[qid].line = place
    return slots


# --- what was found ---


def _blocks_in(held: Held) -> Iterator[tuple[int, Block]]:
    """The lists of a bucket, each from all its lines, with the places of their first ones."""
    found: dict[bytes, Block] = {}
    places: dict[bytes, int] = {}
    for place, block in held:
        places.setdefault(block[0], place)
        add_block(found, block)
    return ((places[qid], block) for qid, block in found.items())


def _blocks_as_text(held: Held) -> Lists:
    return ((place, as_text(block)) for place, block in _blocks_in(held))


def _nothing() -> None: ...


def _ranked(
    store: Store,
    slots: DividedSlots,
    lists: Lists,
    choices: Choices,
    joined: Callable[[Held], Lists],
    close: Callable[[], None] = _nothing,
) -> Iterator[Numbered]:
    file, errors = store.file(), Errors()
    with errors.kept():
        for place, one in lists:
            file.add(store.bucket_of(shown(one[0])), (place, one))
    file.close()
    for bucket in range(store.buckets):
        with errors.kept():
            yield from ranked_lists(slots.slots(bucket), map(errors.at, joined(file.read(bucket))), choices)
    errors.raise_first()
    close()
