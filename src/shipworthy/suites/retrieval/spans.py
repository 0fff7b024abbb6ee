"""Spans: what the lines of TREC files say that stand together, on disk by query, where there is a limit of memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

from ...core.inputs import Input
from ...core.spill import Spill, Store
from ...errors import DataError
from .trec import Block, Judged, add_block, judged_of, judged_spans, name_of, no_judgements, run_spans

Placed = TypeVar("Placed", bound=tuple[int, Any])
Value = TypeVar("Value")
Held = Iterator[Any]  # records of a bucket with their places, in the order of their file


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


# --- qrels ---


def spilled_qrels(store: Store, path: str, read: Input) -> tuple[Spill, int]:
    """The spans of qrels in buckets, checked, and how many queries they are about."""
    spill, errors, count = store.file(), Errors(), 0
    with errors.kept():
        for place, span in enumerate(judged_spans(path, read)):
            spill.add(store.bucket_of(name_of(span[0])), (place, span))
    spill.close()
    for bucket in range(spill.buckets):
        with errors.kept():
            count += len(judged_in(path, map(errors.at, spill.read(bucket))))
    errors.raise_first()
    if not count:
        raise no_judgements(path)
    return spill, count


def judged_in(path: str, held: Iterable[Any]) -> dict[bytes, Judged]:
    """What a bucket says about its queries."""
    return judged_of(path, map(itemgetter(1), held))


def judged_in_order(store: Store, path: str, read: Input) -> Iterator[tuple[bytes, Judged]]:
    """What qrels say about each query, in the order in which they first name them."""
    spill, _ = spilled_qrels(store, path, read)
    return _merged(store, spill, partial(_placed_judgements, path))


def _placed_judgements(path: str, held: Held) -> Iterator[tuple[int, tuple[bytes, Judged]]]:
    spans = list(held)
    places = {qid: place for place, (qid, *_) in reversed(spans)}
    return ((places[qid], (qid, judged)) for qid, judged in judged_in(path, spans).items())


# --- runs ---


def blocks_in_order(store: Store, path: str, read: Input) -> Iterator[Block]:
    """The lists of a run, each from all its lines, in the order in which their queries first come."""
    spill = store.file()
    for place, span in enumerate(run_spans(path, read)):
        spill.add(store.bucket_of(name_of(span[0])), (place, span))
    spill.close()
    return _merged(store, spill, blocks_in)


def blocks_in(held: Held) -> Iterator[tuple[int, Block]]:
    """The lists of a bucket, each from all its lines, with the places of their first ones."""
    found: dict[bytes, Block] = {}
    places: dict[bytes, int] = {}
    for place, block in held:
        places.setdefault(block[0], place)
        add_block(found, block)
    return ((places[qid], block) for qid, block in found.items())


def _merged(store: Store, spill: Spill, made: Callable[[Held], Iterable[tuple[int, Value]]]) -> Iterator[Value]:
    """What is made of each bucket, by place; it comes out of a bucket in that order."""
    ordered = store.file(spill.buckets)
    for bucket in range(spill.buckets):
        for placed in made(spill.read(bucket)):
            ordered.add(bucket, placed)
    ordered.close()
    spill.remove()
    return (value for _, value in ordered.in_order(itemgetter(0)))
