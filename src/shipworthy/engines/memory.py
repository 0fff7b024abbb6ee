"""The memory engine: dicts bring lines together; large runs are judged in worker processes, if there may be some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.inputs import Stream
from ..core.join import TOGETHER, Joined, Keep, Lot, Question, Total, Wanted, Work, questions_of
from ..core.rows import MEMORY
from . import size_of

WORTH_SHARING = 10_000  # questions from which other processes judge some of them
SMALL = 4_000_000  # bytes of files that are decoded while they are read; of larger ones records would fill the memory
PER_JOB = 4  # tasks for each process, so that they finish at about the same time


@contextmanager
def run(
    streams: Mapping[str, Stream], keep: Mapping[str, Keep], tick: Callable[[int], None] | None, *, jobs: int = 1
) -> Iterator[Joined]:
    lots, count = {}, 0
    decode = sum(size_of(path) for stream in streams.values() for path in stream.paths) < SMALL
    for name, stream in streams.items():
        lot = lots[name] = Lot(keep.get(name, "all"))
        for places, names, lines in stream.blocks(decode):
            lot.take(places, names, lines)
            count += len(names)
            if tick is not None and name != "gold":
                tick(count)
    yield InMemory(lots, jobs)


class InMemory:
    """All questions, in dicts."""

    room = MEMORY

    def __init__(self, lots: Mapping[str, Lot], jobs: int) -> None:
        self._lots, self._jobs = lots, jobs
        self._names = sorted(set[str]().union(*(lot.names for lot in lots.values())))

    def over(self, work: Work[Total], total: Total) -> Total:
        size, jobs = len(self._names), self._jobs
        if jobs > 1 and size >= WORTH_SHARING:
            from .workers import can_fork, over

            if can_fork():  # what is in memory reaches other processes in no other way
                step = -(-size // (jobs * PER_JOB))
                tasks = [slice(start, start + step) for start in range(0, size, step)]
                part: Any
                for _, part in over(lambda task: work(self.batches(part=task)), tasks, jobs):
                    total += part
                return total
        part = work(self.batches())
        total += part
        return total

    def batches(self, wanted: Wanted | None = None, part: slice = slice(None)) -> Iterator[Sequence[Question]]:
        names = self._names[part] if wanted is None else list(filter(wanted, self._names))
        for at in range(0, len(names), TOGETHER):
            yield questions_of(self._lots, names[at : at + TOGETHER])
