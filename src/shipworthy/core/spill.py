"""Spill: records on disk in buckets, each small enough for memory.

A question's bucket follows from its name, so that its gold item and all its records meet in one. All buckets of an
input share one file, which holds small pieces of each in turn, and an index of the pieces is kept.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from typing import IO, Any
from zlib import crc32

from ..errors import EnvironmentFailure, UsageError
from ..reading.files import is_remote
from ..text import visible

ENOUGH = 700_000_000  # bytes of records above which memory is limited by default …
LARGE = 64_000_000  # … or bytes of files, if several processes can judge from disk …
USUAL = 400_000_000  # … to this many bytes …
ROOM = 3  # … if the disk has this many times the size of the files free
COMPACT = 3  # bytes in memory for each byte of a file, up to which several processes gain nothing from a disk
LEAST = 32_000_000  # bytes: the program itself takes as much
PROGRAM = 40_000_000  # bytes of the limit that are left to the program
GROWTH = 6  # bytes in memory for each byte of a file, gold made ready and verdicts included
SHARE = 4  # a bucket may use a quarter of the limit: rows, cards and counts need room too
BUCKET = 2_000_000  # bytes of files in a bucket; larger ones would not stay in a core's cache
BUCKETS = (1, 4096)  # fewest and most
UNSIZED = 1_000_000_000  # assumed bytes of a pipe or an iterable
PIECE = 2_500  # assumed bytes of a record that waits to be written
PART = 4_000_000  # bytes of a gold file that a process reads on its own
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


# (work, what all tasks share, tasks) → results in the order of the tasks
Over = Callable[[Callable[..., object], tuple[object, ...], Iterable[object]], Iterator[Any]]


def parse_size(text: str | int) -> int:
    """`128MB` or `2GB` in bytes."""
    written = str(text).strip().upper().replace("IB", "B")
    digits = written.rstrip("KMGTB")
    unit = written[len(digits) :]
    number = digits.strip().replace("_", "")
    if unit not in _UNITS or not number.replace(".", "", 1).isdecimal():
        what = f"{visible(str(text), 40)!r} is not a size"
        raise UsageError(what, where="--memory-limit", hint="Write 128MB or 2GB.", code="memory-limit")
    size = int(float(number) * _UNITS[unit])
    if size < LEAST:
        raise UsageError(
            f"{visible(str(text), 40)} is too little to work in",
            where="--memory-limit",
            hint=f"Give at least {LEAST // 10**6}MB: the program itself takes as much.",
            code="memory-limit",
        )
    return size


def hash_of(name: str, buckets: int) -> int:
    """A number below `buckets` derived from a name, the same in every process."""
    return crc32(name.encode("utf-8", "surrogatepass")) % buckets


class Store:
    """A folder for data that does not fit in memory, and how much of it may be in memory at a time."""

    def __init__(self, limit: int, folder: str, size: int) -> None:
        self.limit, self.folder = limit, folder
        room = max(limit - PROGRAM, limit // 4) // SHARE
        self.buckets = min(max(size * GROWTH // room + 1, size // BUCKET, BUCKETS[0]), BUCKETS[1])
        self.together = max(2, min(256, limit // 16 // (self.buckets * PIECE)))  # records of a bucket in one piece
        self.over: Over | None = None  # runs tasks in parallel, if there are several processes
        self.part = PART  # bytes that such a task reads
        self._begins: list[str] = []  # the first name of each bucket, if buckets are ranges of names
        self._files: list[Spill] = []

    def begin_with(self, names: list[str]) -> None:
        """Make each bucket a range of names; these are the first names."""
        self._begins, self.buckets = names, max(1, len(names))

    def bucket_of(self, name: str) -> int:
        """The bucket of a question, the same in every process."""
        if self._begins:
            return bisect_right(self._begins, name, 1) - 1  # smaller names belong to the first bucket
        return hash_of(name, self.buckets)

    @property
    def in_order(self) -> bool:
        """Whether all names of a bucket come before those of the next."""
        return bool(self._begins)

    def file(self, buckets: int | None = None) -> Spill:
        """A new file of buckets, in a folder that several processes may share."""
        path = os.path.join(self.folder, os.urandom(8).hex())
        self._files.append(Spill(path, buckets or self.buckets, self.together))
        return self._files[-1]

    def shelves(self, source: object, growth: int | None = None, share: float = 1 / 8) -> bool:
        """Whether a gold set needs more than its share of the memory limit.

        It takes `growth` bytes for each byte of its file.
        """
        return _bytes(source) * (growth or GROWTH) > self.limit * share

    def close(self) -> None:
        """Close all files; after an error one may be half written."""
        for spilled in self._files:
            spilled.let_go()

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_files": [], "over": None}


class Spill:
    """Records in buckets, in one file. A bucket's records are read in the order in which they were added."""

    def __init__(self, path: str, buckets: int, together: int) -> None:
        self.path, self.buckets = path, buckets
        self._together = together
        self._waiting: list[list[object]] = [[] for _ in range(buckets)]
        self._pieces: list[list[tuple[int, int]]] = [[] for _ in range(buckets)]  # offset and length
        self._size = 0
        with told("write", path):
            self._file = open(path, "xb")  # noqa: SIM115 — closed when all is written

    def is_empty(self, bucket: int) -> bool:
        """Whether no record of the bucket waits to be written, so that the next one begins a piece."""
        return not self._waiting[bucket]

    def add(self, bucket: int, record: object) -> None:
        waiting = self._waiting[bucket]
        waiting.append(record)
        if len(waiting) >= self._together:
            self._write(bucket)

    def _write(self, bucket: int) -> None:
        data = packed(self._waiting[bucket])
        with told("write", self.path):
            self._file.write(data)
        self._pieces[bucket].append((self._size, len(data)))
        self._size += len(data)
        self._waiting[bucket] = []

    def close(self) -> None:
        """Finish writing; from now on the file is read."""
        for bucket, waiting in enumerate(self._waiting):
            if waiting:
                self._write(bucket)
        with told("write", self.path):
            self._file.close()

    def let_go(self) -> None:
        with suppress(OSError):
            self._file.close()

    def remove(self) -> None:
        """Delete a file that will not be read."""
        with suppress(OSError):
            os.unlink(self.path)

    def in_runs(self, pieces: int) -> Spill:
        """Split the only bucket into many, each of this many consecutive pieces."""
        runs, (whole,) = copy(self), self._pieces
        runs._pieces = [whole[start : start + pieces] for start in range(0, len(whole), pieces)] or [[]]
        runs.buckets = len(runs._pieces)
        return runs

    def read(self, bucket: int) -> Iterator[Any]:
        """The records of a bucket; a piece of them is in memory at a time."""
        if not self._pieces[bucket]:
            return
        with told("read", self.path), open(self.path, "rb") as file:
            yield from self._read(file, bucket)

    def _read(self, file: IO[bytes], bucket: int) -> Iterator[object]:
        for offset, length in self._pieces[bucket]:
            file.seek(offset)
            yield from unpacked(file.read(length))

    def in_order(self, key: Callable[[Any], Any]) -> Iterator[Any]:
        """All records in order, if those of each bucket are; one open file serves all buckets."""
        import heapq  # imported here, as below: runs without a limit start faster

        with told("read", self.path), open(self.path, "rb") as file:
            yield from heapq.merge(*(self._read(file, bucket) for bucket in range(self.buckets)), key=key)

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_file": None, "_waiting": []}


@contextmanager
def told(what: str, path: str) -> Iterator[None]:
    """Turn a disk error into a message that says what to do."""
    try:
        yield
    except OSError as error:
        raise disk_failure(
            "written" if what == "write" else "read", os.path.dirname(path) or path, error.strerror or str(error)
        ) from None


def disk_failure(what: str, folder: str, why: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"what does not fit in memory can't be {what}: {why}",
        where=visible(folder),
        hint="Free some space, or name another folder in TMPDIR.",
        code="spill-disk",
    )


_ACTIVE: ContextVar[Store | None] = ContextVar("shipworthy_store", default=None)


def active() -> Store | None:
    """The store of this run, if memory is limited."""
    return _ACTIVE.get()


@contextmanager
def limited(limit: str | int | None, sources: Iterable[object], jobs: int = 1, growth: int = GROWTH) -> Iterator[None]:
    """Work within a memory limit, in a private folder that is deleted at the end, even after an error.

    `jobs` processes share it. Large files are worked on within a limit too where none was given: those whose records
    would take much memory, at `growth` bytes for each of theirs.
    """
    sources = list(sources)
    if limit is None and not (jobs and _worth_limiting(_bytes_of_files(sources), jobs, growth)):
        yield
        return
    import tempfile

    room = parse_size(USUAL if limit is None else limit)
    with told("write", f"{_chosen() or 'the temporary folder'}/"):
        folder = tempfile.TemporaryDirectory(prefix="shipworthy-", dir=_chosen())
    with folder as path:
        store = Store(room, path, jobs * size_of(sources))
        token = _ACTIVE.set(store)
        try:
            yield
        finally:
            _ACTIVE.reset(token)
            store.close()


def _worth_limiting(size: int, jobs: int, growth: int) -> bool:
    """Whether the inputs are large and the temporary folder has room for them."""
    enough = ENOUGH // growth
    if jobs > 1 and growth > COMPACT:
        enough = min(enough, LARGE)
    if size < enough:
        return False
    import shutil
    import tempfile

    try:
        folder = _chosen() or tempfile.gettempdir()
        return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > ROOM * size
    except OSError:
        return False


def temporary() -> IO[bytes]:
    """A file without a name, deleted when it is closed."""
    import tempfile

    with told("write", f"{_chosen() or 'the temporary folder'}/"):
        return tempfile.TemporaryFile(dir=_chosen())


# The only place that pickles: what this very process wrote to a file of its own, and reads back from nowhere else.


def packed(value: object) -> bytes:
    """A value as bytes for a temporary file."""
    import pickle

    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpacked(data: bytes) -> Any:
    """The value again."""
    import pickle

    return pickle.loads(data)


def _chosen() -> str | None:
    """The folder in TMPDIR. `tempfile` would silently use another one if it can't be written; here that is an error."""
    return os.environ.get("TMPDIR") or None


def size_of(sources: Iterable[object]) -> int:
    """Bytes of all inputs: archives by their estimated unpacked size, inputs that are not files by a large constant."""
    return sum(map(_bytes, sources))


def _bytes(source: object) -> int:
    paths: Sequence[str] | None = getattr(source, "paths", None)
    if paths is None and isinstance(source, (str, os.PathLike)):
        paths = [os.fspath(source)]
    if paths is None:
        return len(source) * PIECE if isinstance(source, Sequence) else UNSIZED
    return sum((_size(path) or UNSIZED) * (8 if path.endswith((".gz", ".zst", ".parquet")) else 1) for path in paths)


def _bytes_of_files(sources: Iterable[object]) -> int:
    """Bytes of the inputs that are files on this machine; the size of a pipe or an iterable is unknown."""
    paths = (getattr(source, "paths", None) or [source] for source in sources)
    named = (path for group in paths for path in group if isinstance(path, (str, os.PathLike)))
    return sum(_bytes(path) for path in named if os.path.isfile(path))


def _size(path: str) -> int | None:
    if is_remote(path):
        from ..reading.remote import size_of as remote_size

        return remote_size(path)
    return os.path.getsize(path) if os.path.isfile(path) else None
