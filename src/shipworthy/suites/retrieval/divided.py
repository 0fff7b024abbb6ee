"""Lists within a limit of memory: what there is to find, and what was found, go to disk in buckets of questions.

One bucket after the other is ranked, by the rules that hold for everything at once where memory has room for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ...core.cases import Numbered
from ...core.inputs import Input, Stream, raise_later
from ...core.once import Repeated
from ...core.spill import Spill, Store
from ...core.suite import Sources
from .lists import (
    Lists,
    Slots,
    as_text,
    close_gold,
    close_lists,
    first_slots,
    gold_items,
    listed,
    ranked_lists,
    relevant_counts,
    shown,
    slots_of,
)
from .options import Choices, Options
from .spans import Errors, Held, blocks_in, judged_in, spilled_qrels
from .trec import is_run_file, one_file, run_spans


class DividedSlots(Mapping[str, int]):
    """How much there is to find for each question; a bucket at a time is in memory."""

    def __init__(self, store: Store, spill: Spill, made: Callable[[Held], Slots], count: int) -> None:
        self._store, self._spill, self._made, self._count = store, spill, made, count
        self._lines: tuple[int, dict[str, int]] = -1, {}  # of the bucket that somebody asked for last

    def slots(self, bucket: int) -> Slots:
        return self._made(self._spill.read(bucket))

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


def read_divided(
    store: Store, sources: Sources, options: Options, choices: Choices, gold: Input, log: Input
) -> tuple[DividedSlots, Iterator[Numbered]]:
    """What there is to find, and the ranked lists, bucket by bucket; each has its place in its file."""
    run = sources.get("run", sources.get("shadow"))
    if sources.get("qrels") is not None:
        slots = _qrels(store, os.fspath(sources["qrels"]), gold, choices)
        spans = run_spans(one_file(run), log, choices.score_bits)
        return slots, _ranked(store, slots, enumerate(spans, 1), choices, blocks_in)
    slots = _gold(store, sources["gold"], gold, options.map)
    if is_run_file(run):
        gold.found.raise_any()
        spans = run_spans(os.fspath(run), log)
        return slots, _ranked(store, slots, enumerate(spans, 1), choices, _joined_as_text)
    lists = Stream(run, log, partial(listed, map=options.map), raise_later)
    close = partial(close_lists, run, log, gold, options.lenient)
    return slots, _ranked(store, slots, iter(lists), choices, iter, close)


# --- what there is to find ---


def _gold(store: Store, source: Any, read: Input, map: tuple[str, ...]) -> DividedSlots:
    spill, count, repeated = store.file(), 0, Repeated()
    for slot in gold_items(source, read, map):
        spill.add(store.bucket_of(slot.name), slot)
    spill.close()
    for bucket in range(store.buckets):
        count += len(first_slots(spill.read(bucket), repeated))
    close_gold(read, count, repeated)
    return DividedSlots(store, spill, _first, count)


def _first(held: Held) -> Slots:
    return first_slots(held, Repeated())


def _qrels(store: Store, path: str, read: Input, choices: Choices) -> DividedSlots:
    spill, count = spilled_qrels(store, path, read)
    return DividedSlots(store, spill, partial(_judged_slots, path, choices), count)


def _judged_slots(path: str, choices: Choices, held: Held) -> Slots:
    spans = list(held)
    slots = slots_of(judged_in(path, spans), choices)
    for place, (qid, *_) in reversed(spans):  # the first of a query is the last to be set
        slots[qid].line = place
    return slots


# --- what was found ---


def _nothing() -> None: ...


def _ranked(
    store: Store,
    slots: DividedSlots,
    lists: Lists,
    choices: Choices,
    joined: Callable[[Held], Lists],
    close: Callable[[], None] = _nothing,
) -> Iterator[Numbered]:
    spill, errors = store.file(), Errors()
    with errors.kept():
        for place, one in lists:
            spill.add(store.bucket_of(shown(one[0])), (place, one))
    spill.close()
    for bucket in range(store.buckets):
        with errors.kept():
            yield from ranked_lists(slots.slots(bucket), map(errors.at, joined(spill.read(bucket))), choices)
    errors.raise_first()
    close()


def _joined_as_text(held: Held) -> Lists:
    return ((place, as_text(block)) for place, block in blocks_in(held))
