"""The dask engine: the same units of work on an existing Dask cluster, whose workers see the same files.

The graph is made of `dask.delayed` calls of top-level functions and nothing else, so that whatever runs such a graph
can run it. The cluster is never started, stopped or configured from here.
"""

from __future__ import annotations

import os
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import _version
from ..core.cases import Case
from ..core.evaluate import judge, settle
from ..core.evidence import Evidence
from ..core.suite import Judged, Material, Suite
from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..reading.cutting import Parts, parts_of
from ..reading.files import is_remote
from ..reading.parts import Part
from ..text import first_few, visible
from . import inline
from .attempts import Failed, attempt
from .inputs import size_of, splits
from .units import MOST, Plan, ReadUnit, add_up, groups, merge, read_unit

WORTH_SHARING = 4_000  # questions from which the cluster judges them
TOGETHER = 2_000  # questions that one task judges
PARTS = 4_000  # parts of a large input, each of which sends what it keeps of a question to the client …
LARGEST = 256 << 20  # … and bytes that a part may have for that
PATIENCE = 10  # seconds until a scheduler that does not answer, or has no worker, is given up
TRIES = 3  # of a task whose data died with a worker


def run(suite: Suite, material: Material, *, scheduler: str = "", part: int | None = None) -> Judged:
    """Read and judge on the cluster; what can't be read in parts is read here."""
    with _connected(scheduler) as client:
        _check_workers(client)
        if not splits(material):
            return inline.run(suite, material)
        size = part or max(MOST, min(LARGEST, size_of(material) // PARTS))
        return _Cluster(client).evaluate(suite, material, size, share=WORTH_SHARING if part is None else 1)


class _Cluster:
    """One evaluation on a cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def evaluate(self, suite: Suite, material: Material, part: int, share: int) -> Judged:
        """`share`: from how many questions on the cluster judges them."""
        cut: dict[str, Parts] = self._cut(Plan(material, part).paths, part)
        plan = Plan(material, part, cut.get)
        silent = replace(material, tick=None)
        shared = suite, silent
        units = list(plan)
        results = self._run(read_unit, shared, [unit.moved(whole_path(unit.path)) for unit in units])
        told_here = ((number, renamed(result, units[number].path)) for number, result in results)
        gathered = merge(suite, material, plan, told_here, [])
        context = settle(suite, material, gathered)
        names = gathered.names(material.expected)
        if len(names) < share:
            return Judged(context, gathered, judge(suite, gathered.cases(material.expected), context))
        cases = (list(gathered.cases(material.expected, some)) for some in groups(names, TOGETHER))
        judged = self._run(judge_cases, (suite, context), cases)
        return Judged(context, gathered, add_up(Evidence(context.options.offenders), judged))

    def _cut(self, paths: list[str], part: int) -> dict[str, Parts]:
        """The parts of each file, cut by the cluster; a file that can't be cut says why when it is read."""
        found = self._run(cut_file, (part,), [whole_path(path) for path in paths])
        return {
            paths[number]: KnownParts([replace(one, path=paths[number]) for one in parts], parts.digest)
            for number, parts in found
            if isinstance(parts, KnownParts)
        }

    def _run(
        self, work: Callable[..., object], shared: tuple[object, ...], tasks: Iterable[object]
    ) -> Iterator[tuple[int, Any]]:
        """Results with the numbers of their tasks, as they come. What dies with a worker is sent and done again."""
        distributed = _package("distributed")
        left = dict(enumerate(tasks))
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

    def _done(
        self, work: Callable[..., object], shared: tuple[object, ...], tasks: Mapping[int, object]
    ) -> Iterator[tuple[int, object]]:
        distributed, delayed = _package("distributed"), _package("dask").delayed
        # Gold travels once to each worker.
        sent = [self._client.scatter(value, broadcast=True, hash=False) for value in shared]
        calls = [delayed(told, pure=False)(work, number, *sent, task) for number, task in tasks.items()]
        for future in distributed.as_completed(self._client.compute(calls), loop=self._client.loop):
            number, made, result = future.result()
            _check_same(made)
            future.release()
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


def made_with() -> tuple[str, str]:
    """The release and the Unicode tables, on both of which what is counted may depend."""
    return _version.__version__, unicodedata.unidata_version


class KnownParts(Struct):
    """The parts of a file, cut elsewhere."""

    parts: list[Part]
    digest: str

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)


def cut_file(size: int, path: str) -> KnownParts | None:
    parts = parts_of(path, size)
    return None if parts is None else KnownParts(list(parts), parts.digest)


def judge_cases(suite: Suite, context: object, cases: list[Case]) -> Evidence:
    return judge(suite, cases, context)


# --- paths: a worker needs whole ones, and people are told the ones that they wrote ---


def whole_path(path: str) -> str:
    """The path by which any worker finds the file; an address is one already."""
    return path if is_remote(path) else os.path.abspath(path)


def renamed(result: ReadUnit | Failed, path: str) -> ReadUnit | Failed:
    """What a worker told of a file, with the file's path as it was given."""
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
    """Every worker has this release and these Unicode tables; else counts of different meaning would be added."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        found = client.run(made_with)
    except TimeoutError:
        raise EnvironmentFailure("the cluster has no worker", hint="Start one.", code="scheduler-unreachable") from None
    except Exception as error:  # whatever a worker makes of a function that it can't import
        raise EnvironmentFailure(
            f"the workers can't run shipworthy: {visible(str(error), 200)}",
            hint=f"Install shipworthy {_version.__version__} on them.",
            code="cluster-differs",
        ) from None
    if others := sorted(name for name, made in found.items() if tuple(made) != made_with()):
        _refuse(found[others[0]], first_few(others))


def _check_same(made: tuple[str, str]) -> None:
    if tuple(made) != made_with():  # a worker that joined while the work went on
        _refuse(made, "a worker that joined later")


def _refuse(made: tuple[str, str], who: str) -> None:
    here = made_with()
    raise EnvironmentFailure(
        f"workers have shipworthy {visible(made[0], 40)} and Unicode {visible(made[1], 20)}, "
        f"here it is {here[0]} and {here[1]}: {visible(who, 200)}",
        hint=f"Use one release of shipworthy, and one of Python (here {sys.version_info[0]}.{sys.version_info[1]}).",
        code="cluster-differs",
    )
