"""The dask engine: the same piles on the workers of an existing Dask cluster, which see the same files.

Two functions are submitted, one that splits a part of a file and one that works on the piles of one number; what
travels is bytes. The cluster is never started, stopped or configured from here.
"""

from __future__ import annotations

import os
import pickle
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from .. import _version
from ..core.inputs import Input, Stream
from ..core.join import Joined, Keep, Question, Total, Wanted, Work
from ..core.rows import MEMORY
from ..core.temporary import pack, unpack
from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..reading.archives import Part
from ..reading.files import is_remote
from ..text import first_few, visible
from . import size_of
from .piles import ROUND, Piece, Pieces, Pile, Plan, put_lines, questions_in, split
from .workers import Failed, attempt

PILE = 32_000_000  # bytes of files for each pile …
PILES = 64  # … and the most: every part sends something to every pile
PER_WORKER = 4  # the least, for each worker
PART = 16 << 20  # bytes of files that are split together
PATIENCE = 10  # seconds until a scheduler that does not answer, or has no worker, counts as unreachable


@contextmanager
def run(
    streams: Mapping[str, Stream],
    keep: Mapping[str, Keep],
    tick: Callable[[int], None] | None,
    *,
    scheduler: str = "",
    part: int = PART,
) -> Iterator[Joined]:
    """Read and judge on the cluster; what only this process can read is read here."""
    with _connected(scheduler) as client:
        _check_workers(client)
        size = sum(size_of(path) for stream in streams.values() for path in stream.paths)
        ways = min(PILES, max(PER_WORKER * len(client.scheduler_info(n_workers=-1)["workers"]), size // PILE))
        cluster = OnCluster(client, keep, ways)
        cluster.split(streams, part, tick)
        yield cluster


class OnCluster:
    """All questions, in piles on workers."""

    room = MEMORY

    def __init__(self, client: Any, keep: Mapping[str, Keep], ways: int) -> None:
        self._client, self._keep, self._ways = client, keep, ways
        self._piles: list[list[Any]] = [[] for _ in range(ways)]  # futures, by the number of the pile

    def split(self, streams: Mapping[str, Stream], part: int, tick: Callable[[int], None] | None) -> None:
        plan, count = Plan(streams, part), 0
        for name in plan.here:
            own: list[list[bytes]] = [[] for _ in range(self._ways)]
            count += put_lines(
                name, self._keep.get(name, "all"), streams[name].blocks(), 0, self._ways, ROUND, partial(_put, own)
            )
            for number, piles in enumerate(own):
                if piles:
                    self._piles[number].append(self._client.submit(_as_it_is, piles, pure=False))
        formats = {name: stream.format for name, stream in streams.items()}
        shared = pickle.dumps((formats, dict(self._keep), self._ways))  # sent with each task
        tasks = list(plan)
        splits = [self._client.submit(split_there, shared, _moved(task), pure=False) for task in tasks]
        reads_of = [self._client.submit(itemgetter(0), one, pure=False) for one in splits]
        for number in range(self._ways):
            self._piles[number] += [self._client.submit(itemgetter(1 + number), one, pure=False) for one in splits]
        failed: dict[int, Exception] = {}
        for number, result in self._results(reads_of):
            if isinstance(result, Failed):
                failed[number] = result.error
                continue
            reads = [_renamed(read, piece) for read, piece in zip(result, tasks[number].pieces, strict=True)]
            plan.add(tasks[number], reads)
            count += sum(read.records for read in reads)
            if tick is not None:
                tick(count)
        if failed:
            raise _named_here(failed[min(failed)], tasks[min(failed)])
        plan.close()

    def over(self, work: Work[Total], total: Total) -> Total:
        shared = pickle.dumps((work, dict(self._keep)))
        calls = [self._client.submit(work_there, shared, *piles, pure=False) for piles in self._piles]
        failed: dict[int, Exception] = {}
        for number, result in self._results(calls):
            if isinstance(result, Failed):
                failed[number] = result.error
            else:
                total += result
        if failed:
            raise failed[min(failed)]
        return total

    def batches(self, wanted: Wanted | None = None) -> Iterator[Sequence[Question]]:
        for piles in self._piles:
            yield from questions_in(_opened(self._client.gather(piles)), self._keep, wanted)

    def _results(self, futures: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Results as they arrive, with their numbers. What is lost with a worker is done again by the scheduler."""
        distributed = _package("distributed")
        numbers = {future.key: number for number, future in enumerate(futures)}
        try:
            for future in distributed.as_completed(futures, loop=self._client.loop):
                theirs, result = future.result()
                _check_same(theirs)
                future.release()
                yield numbers[future.key], result
        except (distributed.KilledWorker, distributed.client.FutureCancelledError) as error:
            raise EnvironmentFailure(
                f"workers of the cluster died again and again: {visible(str(error), 200)}",
                hint="Do they have enough memory? Their logs say why they ended.",
                code="worker-died",
            ) from None


# --- what runs on a worker ---


def split_there(shared: bytes, pieces: Pieces) -> list[Any]:
    """What reading has told, or an error; and the piles as bytes, by number."""
    formats, keep, ways = pickle.loads(shared)
    piles: list[list[bytes]] = [[] for _ in range(ways)]
    reads = attempt(lambda some: split(formats, keep, ways, ROUND, some, partial(_put, piles)), pieces)
    return [(versions(), reads), *piles]


def work_there(shared: bytes, *piles: list[bytes]) -> tuple[tuple[str, str], object]:
    work, keep = pickle.loads(shared)
    return versions(), attempt(lambda some: work(questions_in(_opened(some), keep)), piles)


def _as_it_is(piles: list[bytes]) -> list[bytes]:
    return piles


def _put(piles: list[list[bytes]], number: int, pile: Pile) -> None:
    piles[number].append(pack(pile))


def _opened(piles: Iterable[list[bytes]]) -> Iterator[Pile]:
    return (unpack(data) for some in piles for data in some)


def versions() -> tuple[str, str]:
    """The release and the Unicode tables: counts may depend on both."""
    return _version.__version__, unicodedata.unidata_version


# --- paths: workers need absolute ones, and messages show the ones that the user wrote ---


def _moved(pieces: Pieces) -> Pieces:
    return Pieces(tuple(replace(piece, path=_absolute(piece.path)) for piece in pieces.pieces))


def _absolute(path: str | Part) -> str | Part:
    if isinstance(path, Part):
        return replace(path, path=os.path.abspath(path.path))
    return path if is_remote(path) else os.path.abspath(path)


def _renamed(read: Input, piece: Piece) -> Input:
    """What a worker read, with the file's path as the user gave it."""
    path, whole = os.fspath(piece.path), os.fspath(_absolute(piece.path))
    if whole != path:
        read.found.first = [replace(problem, path=path) for problem in read.found.first]
        read.warnings = [replace(one, where=path + one.where.removeprefix(whole)) for one in read.warnings]
        read.fits = {path: any(read.fits.values())} if read.fits else {}
        read.path = path
    return read


def _named_here(error: Exception, pieces: Pieces) -> Exception:
    if isinstance(error, ShipworthyError):
        for piece in pieces.pieces:
            path, whole = os.fspath(piece.path), os.fspath(_absolute(piece.path))
            error.where = error.where.replace(visible(whole), visible(path))
    return error


# --- the cluster ---


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    """A client of the scheduler, for as long as it is needed."""
    distributed = _package("distributed")
    if not scheduler:
        hint = "Name the scheduler of your cluster: --scheduler tcp://HOST:8786."
        raise UsageError("the engine dask needs a cluster", hint=hint, code="scheduler-missing")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared below, and a difference that matters is refused
            client = distributed.Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise EnvironmentFailure(
            f"the scheduler can't be reached: {visible(str(error), 200)}",
            where=visible(scheduler),
            hint="Is it running, and is the address right?",
            code="scheduler-unreachable",
        ) from None
    with client, client.as_current():
        yield client


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(
            f"the engine dask needs the package {name}", hint="pip install 'shipworthy[dask]'", code="needs-extra"
        ) from None


def _check_workers(client: Any) -> None:
    """Refuse workers with another release or other Unicode tables: their counts would not mean the same."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        found = client.run(versions)
    except TimeoutError:
        raise EnvironmentFailure("the cluster has no worker", hint="Start one.", code="scheduler-unreachable") from None
    except Exception as error:  # workers raise different errors for a function that they can't import
        raise EnvironmentFailure(
            f"the workers can't run shipworthy: {visible(str(error), 200)}",
            hint=f"Install shipworthy {_version.__version__} on them.",
            code="cluster-differs",
        ) from None
    if others := sorted(name for name, theirs in found.items() if tuple(theirs) != versions()):
        _refuse(found[others[0]], first_few(others))


def _check_same(theirs: tuple[str, str]) -> None:
    if tuple(theirs) != versions():  # a worker that joined later
        _refuse(theirs, "a worker that joined later")


def _refuse(theirs: tuple[str, str], who: str) -> None:
    here = versions()
    raise EnvironmentFailure(
        f"workers have shipworthy {visible(theirs[0], 40)} and Unicode {visible(theirs[1], 20)}, "
        f"here it is {here[0]} and {here[1]}: {visible(who, 200)}",
        hint=f"Use one release of shipworthy, and one of Python (here {sys.version_info[0]}.{sys.version_info[1]}).",
        code="cluster-differs",
    )
