"""The disk engine: piles of lines in a temporary folder, split and judged in worker processes, a pile at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..core.inputs import Format, Input, Stream
from ..core.join import Joined, Keep, Question, Total, Wanted, Work
from ..core.rows import MEMORY
from ..core.temporary import disk_errors, folder, pack, unpack
from . import size_of
from .piles import ROUND, Pieces, Pile, Plan, put_lines, questions_in, split
from .workers import over

PILE = 16_000_000  # bytes of lines that are judged together, where there is no limit
GROWTH = 16  # bytes of memory for a byte of a line, while it is judged
PART = (1 << 20, 16 << 20)  # fewest and most bytes of files that are split together
PER_JOB = 8  # parts for each process
WAYS = 4096  # most piles
UNSIZED = 1_000_000_000  # assumed bytes of a pipe or an iterable


@contextmanager
def run(
    streams: Mapping[str, Stream],
    keep: Mapping[str, Keep],
    tick: Callable[[int], None] | None,
    *,
    jobs: int = 1,
    memory_limit: int = 0,
    part: int = 0,
    piles: int = 0,
) -> Iterator[Joined]:
    """`part` is how many bytes of files are split together, `piles` into how many; by size where nothing is said."""
    size = sum(sum(map(size_of, stream.paths)) if stream.paths else UNSIZED for stream in streams.values())
    room = memory_limit // jobs if memory_limit else PILE * GROWTH
    ways = piles or min(WAYS, max(jobs, size * GROWTH // room + 1))
    part = part or max(PART[0], min(PART[1], size // (jobs * PER_JOB), room // 4))
    with folder() as path:
        disk = OnDisk(path, keep, ways, min(ROUND, room // 8), jobs)
        disk.room = min(MEMORY, memory_limit // 10) if memory_limit else MEMORY
        disk.split(streams, part, tick)
        yield disk


class OnDisk:
    """All questions, in files by piles."""

    room = MEMORY

    def __init__(self, path: str, keep: Mapping[str, Keep], ways: int, most: int, jobs: int) -> None:
        self._path, self._keep, self._ways, self._most, self._jobs = path, keep, ways, most, jobs
        self._files: list[PileFile] = []

    def split(self, streams: Mapping[str, Stream], part: int, tick: Callable[[int], None] | None) -> None:
        """Read all inputs into piles; what only this process can read first."""
        plan = Plan(streams, part)
        count = 0
        for name in plan.here:
            blocks, keep = streams[name].blocks(), self._keep.get(name, "all")
            with PileFile(os.path.join(self._path, f"here-{name}")) as file:
                count += put_lines(name, keep, blocks, 0, self._ways, self._most, file.put)
            self._files.append(file)
        formats = {name: stream.format for name, stream in streams.items()}
        work = partial(split_to_file, self._path, formats, self._keep, self._ways, self._most)
        found: dict[int, tuple[Pieces, PileFile]] = {}
        for number, (pieces, file, reads) in self._over(work, plan):
            plan.add(pieces, reads)
            found[number] = pieces, file
            count += sum(read.records for read in reads)
            if tick is not None:
                tick(count)
        self._files += [found[number][1] for number in sorted(found)]
        plan.close()

    def _over(self, work: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        if self._jobs > 1:
            return over(work, tasks, self._jobs)
        return ((number, work(task)) for number, task in enumerate(tasks))

    def over(self, work: Work[Total], total: Total) -> Total:
        files, keep = self._files, self._keep
        for _, part in self._over(partial(work_on_pile, work, files, keep), range(self._ways)):
            total += part
        return total

    def batches(self, wanted: Wanted | None = None) -> Iterator[Sequence[Question]]:
        for way in range(self._ways):
            yield from questions_in(_piles(self._files, way), self._keep, wanted)


class PileFile:
    """A file with pieces of every pile, and an index of them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._index: dict[int, list[tuple[int, int]]] = {}
        with disk_errors("write", path):
            self._file: Any = open(path, "xb")  # noqa: SIM115 — closed when all is written

    def put(self, way: int, pile: Pile) -> None:
        data = pack(pile)
        with disk_errors("write", self._path):
            self._index.setdefault(way, []).append((self._file.tell(), len(data)))
            self._file.write(data)

    def __enter__(self) -> PileFile:
        return self

    def __exit__(self, *error: object) -> None:
        file, self._file = self._file, None
        with disk_errors("write", self._path):
            file.close()

    def piles(self, way: int) -> Iterator[Pile]:
        if way in self._index:
            with disk_errors("read", self._path), open(self._path, "rb") as file:
                for offset, length in self._index[way]:
                    file.seek(offset)
                    yield unpack(file.read(length))


# --- what a worker does ---


def split_to_file(
    folder: str, formats: Mapping[str, Format], keep: Mapping[str, Keep], ways: int, most: int, pieces: Pieces
) -> tuple[Pieces, PileFile, list[Input]]:
    with PileFile(os.path.join(folder, os.urandom(8).hex())) as file:  # a name of its own: a task may be done again
        reads = split(formats, keep, ways, most, pieces, file.put)
    return pieces, file, reads


def work_on_pile(work: Work[Any], files: Sequence[PileFile], keep: Mapping[str, Keep], way: int) -> Any:
    return work(questions_in(_piles(files, way), keep))


def _piles(files: Sequence[PileFile], way: int) -> Iterator[Pile]:
    return (pile for file in files for pile in file.piles(way))
