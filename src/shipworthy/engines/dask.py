"""The dask engine: the same units of work on an existing Dask cluster, whose workers see the same files.

The graph is made of `dask.delayed` calls of top-level functions and nothing else, so that whatever runs such a graph
can run it. The cluster is never started, stopped or configured from here.
"""

from __future__ import annotations

import os
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import partial
from importlib import import_module
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import _version
from ..core.evaluate import judge, settle
from ..core.inputs import Input
from ..core.suite import Judged, Material, Suite
from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..reading.cutting import LineRanges, Parts, digest_of_file, parts_between, parts_of, scanned, scans_of
from ..reading.files import is_remote
from ..reading.parts import Part
from ..text import first_few, visible
from . import inline, shuffled
from .attempts import Failed, attempt
from .inputs import keeps_many, size_of, splits
from .units import MOST, Plan, ReadUnit, merge, read_unit

WORTH_SHARING = 4_000  # questions from which the cluster judges them
BUCKETS = (4, 64)  # fewest and most in a shuffle: every part sends something to every bucket
PARTS = 4_000  # parts of a large input, each of which sends what it keeps of a question to the client …
LARGEST = 256 << 20  # … and bytes that a part may have for that
PATIENCE = 10  # seconds until a scheduler that does not answer, or has no worker, counts as unreachable
TRIES = 3  # attempts at a task whose data was lost with a worker


def run(suite: Suite, material: Material, *, scheduler: str = "", part: int | None = None) -> Judged:
    """Read and judge on the cluster; inputs that can't be split are read in this process."""
    with ExitStack() as connection:
        client = connection.enter_context(_connected(scheduler))
        _check_workers(client)
        if not splits(material):
            return inline.run(suite, material)
        size = part or max(MOST, min(LARGEST, size_of(material) // PARTS))
        judged = _Cluster(client).evaluate(suite, material, size, share=WORTH_SHARING if part is None else 1)
        if isinstance(judged.gathered, shuffled.ClusterGathered):  # explaining the decision may need records
            shuffled.close_with(judged.gathered, connection.pop_all().close)
        return judged


class _Cluster:
    """One evaluation on a cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def evaluate(self, suite: Suite, material: Material, part: int, share: int) -> Judged:
        """`share`: how many questions make it worth judging on the cluster."""
        cut: dict[str, Parts] = self._cut(Plan(material, part).paths, part)
        plan = Plan(material, part, cut.get)
        units = list(plan)
        there = [unit.moved(whole_path(unit.path)) for unit in units]

        def rename(number: int, result: Any) -> Any:
            return renamed(result, units[number].path)

        if keeps_many(material) or len(material.expected or ()) >= share:
            work = partial(shuffled.evaluate, self, suite, material, plan, there, rename, self._buckets())
            return self._again(work, [stream.read for stream in plan.streams.values()])
        results = self._run(read_unit, (suite, replace(material, tick=None)), there)
        gathered = merge(suite, material, plan, ((number, rename(number, one)) for number, one in results), [])
        context = settle(suite, material, gathered)
        return Judged(context, gathered, judge(suite, gathered.cases(material.expected), context))

    def _buckets(self) -> int:
        workers = len(self._client.scheduler_info(n_workers=-1)["workers"])
        return min(BUCKETS[1], max(BUCKETS[0], 4 * workers))

    def _cut(self, paths: list[str], part: int) -> dict[str, Parts]:
        """The parts of each file, cut by the cluster; a file that can't be cut says why when it is read."""
        found = dict(self._run(cut_file, (part,), [whole_path(path) for path in paths]))
        known: dict[str, Parts] = {}
        for number, path in enumerate(paths):
            if isinstance(found[number], KnownParts):
                known[path] = KnownParts([replace(one, path=path) for one in found[number]], found[number].digest)
        return known | self._scanned(
            {path: found[n] for n, path in enumerate(paths) if isinstance(found[n], int)}, part
        )

    def _scanned(self, sizes: Mapping[str, int], part: int) -> dict[str, Parts]:
        """Files of lines, whose lines all workers count, range by range; digests are made while parts are read."""
        scans = [scan for path, size in sizes.items() for scan in scans_of(whole_path(path), size, part)]
        results = dict(self._run(scanned, (), scans))
        cut: dict[str, Parts] = {}
        for path, size in sizes.items():
            own = [results[number] for number, scan in enumerate(scans) if scan.path == whole_path(path)]
            if not any(isinstance(one, Failed) for one in own):
                digest = self._client.submit(digest_of_file, whole_path(path), pure=False)
                cut[path] = ScannedParts(parts_between(path, size, own), digest)
        return cut

    def _run(
        self, work: Callable[..., object], shared: tuple[object, ...], tasks: Iterable[object]
    ) -> Iterator[tuple[int, Any]]:
        """Results with their task numbers, as they complete. What is lost with a worker is sent and done again."""
        distributed = _package("distributed")
        left = {number: (task,) for number, task in enumerate(tasks)}
        for tries in range(1, TRIES + 1):
            try:
                for number, result in self._done(work, shared, left):
                    yield number, result
                    del left[number]
                return
            except distributed.KilledWorker as error:
                raise _died(error) from None
            except distributed.client.FutureCancelledError as error:  # the only copy of what is shared was lost
                if tries == TRIES:
                    raise _died(error) from None

    def _again(self, work: Callable[[], Judged], reads: Sequence[Input]) -> Judged:
        """The same for work that keeps data on the workers: all of it is repeated, and reading starts over."""
        distributed, before = _package("distributed"), deepcopy(reads)
        for tries in range(1, TRIES + 1):
            try:
                return work()
            except distributed.KilledWorker as error:
                raise _died(error) from None
            except distributed.client.FutureCancelledError as error:
                if tries == TRIES:
                    raise _died(error) from None
            for read, was in zip(reads, deepcopy(before), strict=True):
                for name in read.__struct_fields__:
                    setattr(read, name, getattr(was, name))
        raise AssertionError("the last try ends in a result or an error")

    def over(
        self, work: Callable[..., object], shared: tuple[object, ...], tasks: Iterable[tuple[object, ...]]
    ) -> Iterator[tuple[int, Any]]:
        return self._done(work, shared, dict(enumerate(tasks)))

    def _done(
        self, work: Callable[..., object], shared: tuple[object, ...], tasks: Mapping[int, tuple[object, ...]]
    ) -> Iterator[tuple[int, object]]:
        distributed, delayed = _package("distributed"), _package("dask").delayed
        sent = self._sent(shared)
        calls = [delayed(told, pure=False)(work, number, *sent, *task) for number, task in tasks.items()]
        for future in distributed.as_completed(self._client.compute(calls), loop=self._client.loop):
            number, made, result = future.result()
            _check_same(made)
            future.release()
            yield number, result

    def _sent(self, shared: tuple[object, ...]) -> list[Any]:
        """What all tasks share: gold is sent to each worker once."""
        return [self._client.scatter(value, broadcast=True, hash=False) for value in shared]

    def split(
        self, work: Callable[..., Sequence[object]], shared: tuple[object, ...], tasks: Sequence[object], outputs: int
    ) -> tuple[Iterator[tuple[int, Any]], list[list[object]]]:
        """The first output of each task as it arrives; the others stay on the workers, by task."""
        delayed = _package("dask").delayed
        sent = self._sent(shared)
        wide = outputs + 1
        made = [
            delayed(told_many, nout=wide, pure=False)(work, number, *sent, task) for number, task in enumerate(tasks)
        ]
        futures = self._client.compute([one[output] for one in made for output in range(wide)])
        rest = [futures[start + 1 : start + wide] for start in range(0, len(futures), wide)]
        return self._first(futures[::wide]), rest

    def _first(self, futures: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        distributed = _package("distributed")
        for future in distributed.as_completed(futures, loop=self._client.loop):
            number, made, result = future.result()
            _check_same(made)
            yield number, result


def _died(error: Exception) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"workers of the cluster died again and again: {visible(str(error), 200)}",
        hint="Do they have enough memory? Their logs say why they ended.",
        code="worker-died",
    )


# --- what runs on a worker ---


def told(work: Callable[..., object], number: int, *given: object) -> tuple[int, tuple[str, str], object]:
    """The number of a task, what it was done with, and what came of it."""
    return number, made_with(), attempt(work, *given)


def told_many(work: Callable[..., Sequence[object]], number: int, *given: object) -> list[object]:
    """The same for work with several outputs, the first of which comes back."""
    first, *others = work(*given)
    return [(number, made_with(), first), *others]


def made_with() -> tuple[str, str]:
    """The release and the Unicode tables: counts may depend on both."""
    return _version.__version__, unicodedata.unidata_version


class KnownParts(Struct):
    """The parts of a file, cut elsewhere."""

    parts: list[Part]
    digest: str

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)


class ScannedParts:
    """The parts of a file whose digest is still being made."""

    def __init__(self, parts: list[Part], digest: Any) -> None:
        self._parts, self._digest = parts, digest

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    @property
    def digest(self) -> str:
        return str(self._digest.result())


def cut_file(size: int, path: str) -> KnownParts | int | None:
    """The parts of a file, or the size of one whose lines are to be counted; None where it has no parts."""
    parts = parts_of(path, size)
    if isinstance(parts, LineRanges):
        return os.path.getsize(path)
    return None if parts is None else KnownParts(list(parts), parts.digest)


# --- paths: workers need absolute ones, and messages show the ones that the user wrote ---


def whole_path(path: str) -> str:
    """The absolute path of a file; an address stays as it is."""
    return path if is_remote(path) else os.path.abspath(path)


def renamed(result: ReadUnit | Failed, path: str) -> ReadUnit | Failed:
    """A worker's result with the file's path as the user gave it."""
    whole = whole_path(path)
    if whole == path:
        return result
    if isinstance(result, Failed):
        if isinstance(result.error, ShipworthyError):
            result.error.where = result.error.where.replace(visible(whole), visible(path))
        return result
    read = result.read
    for problems in (read.found, read.values):
        problems.first = [replace(problem, path=path) for problem in problems.first]
    read.warnings = [replace(warned, where=path + warned.where.removeprefix(whole)) for warned in read.warnings]
    read.fits = {path: any(read.fits.values())} if read.fits else {}
    read.path = path
    return result


# --- the cluster ---


@contextmanager
def _connected(scheduler: str) -> Iterator[object]:
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
        found = client.run(made_with)
    except TimeoutError:
        raise EnvironmentFailure("the cluster has no worker", hint="Start one.", code="scheduler-unreachable") from None
    except Exception as error:  # workers raise different errors for a function that they can't import
        raise EnvironmentFailure(
            f"the workers can't run shipworthy: {visible(str(error), 200)}",
            hint=f"Install shipworthy {_version.__version__} on them.",
            code="cluster-differs",
        ) from None
    if others := sorted(name for name, made in found.items() if tuple(made) != made_with()):
        _refuse(found[others[0]], first_few(others))


def _check_same(made: tuple[str, str]) -> None:
    if tuple(made) != made_with():  # a worker that joined later
        _refuse(made, "a worker that joined later")


def _refuse(made: tuple[str, str], who: str) -> None:
    here = made_with()
    raise EnvironmentFailure(
        f"workers have shipworthy {visible(made[0], 40)} and Unicode {visible(made[1], 20)}, "
        f"here it is {here[0]} and {here[1]}: {visible(who, 200)}",
        hint=f"Use one release of shipworthy, and one of Python (here {sys.version_info[0]}.{sys.version_info[1]}).",
        code="cluster-differs",
    )
