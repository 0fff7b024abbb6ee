"""Workers: a few processes that do one task after the other. One that dies is replaced, and its task is done again.

The pools of the standard library either hang when a worker is killed or do not say at which task it was.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import connection, get_context
from typing import Any, NamedTuple

from ..errors import EnvironmentFailure

TRIES = 2  # a task that has killed two workers would kill a third
FEWER = "Was the memory enough? Use fewer processes (--jobs), or one (--jobs 1)."


class Failed(NamedTuple):
    """An error that a task ended with."""

    error: Exception


class _Busy(NamedTuple):
    """A worker, and the task that it is at."""

    process: Any
    number: int
    task: Any
    tries: int


def over(work: Callable[[Any], object], tasks: Iterable[Any], jobs: int) -> Iterator[tuple[int, Any]]:
    """`work(task)` for each task in `jobs` processes; results with the numbers of their tasks, as they complete.

    Where processes are forked, `work` need not be one that can be pickled. Of several errors that of the first task is
    raised, as one process would raise it.
    """
    context: Any = get_context("fork" if can_fork() else "spawn")
    waiting, busy = enumerate(tasks), dict[Any, _Busy]()
    failed: tuple[int, Exception] | None = None

    def start() -> tuple[Any, Any]:
        ours, theirs = context.Pipe()
        # A forked worker has our ends of the pipes, too. It closes them, else no worker would notice that we are gone.
        inherited = [ours, *busy] if context.get_start_method() == "fork" else []
        process = context.Process(target=_work, args=(theirs, inherited, work), daemon=True)
        process.start()
        theirs.close()
        return ours, process

    def give(pipe: Any, process: Any, number: int, task: Any, tries: int = 1) -> None:
        busy[pipe] = _Busy(process, number, task, tries)
        with suppress(OSError):  # a worker that is gone is noticed where its answer is waited for
            pipe.send(task)

    try:
        while len(busy) < jobs and (given := next(waiting, None)) is not None:
            give(*start(), *given)
        while busy:
            for ended in connection.wait(list(busy)):
                pipe: Any = ended
                process, number, task, tries = busy.pop(pipe)
                try:
                    result = pipe.recv()
                except (EOFError, OSError):
                    pipe.close()
                    process.join()
                    if tries >= TRIES:
                        raise _died(task, process.exitcode) from None
                    give(*start(), number, task, tries + 1)
                    continue
                if isinstance(result, Failed) and (failed is None or number < failed[0]):
                    failed = number, result.error
                if failed is None and (given := next(waiting, None)) is not None:
                    give(pipe, process, *given)
                else:
                    pipe.close()  # which ends it
                    process.join()
                if not isinstance(result, Failed):
                    yield number, result
    finally:
        for pipe, one in busy.items():
            one.process.terminate()
            one.process.join()
            pipe.close()
    if failed is not None:
        raise failed[1]


def _work(pipe: Any, inherited: Iterable[Any], work: Callable[[Any], object]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets the signal too, and ends its workers
    import gc

    gc.disable()
    for other in inherited:
        other.close()
    with suppress(EOFError, OSError):  # nobody waits for more
        while True:
            pipe.send(attempt(work, pipe.recv()))


def attempt(work: Callable[[Any], object], task: Any) -> object:
    """The result of the work, or the error that it raised."""
    try:
        return work(task)
    except MemoryError:
        what = f"a worker ran out of memory at {named(task)}"
        return Failed(EnvironmentFailure(what, hint=FEWER, code="worker-died"))
    except Exception as error:  # any error must reach the caller
        return Failed(error)


def _died(task: object, code: int | None) -> EnvironmentFailure:
    cause = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return EnvironmentFailure(
        f"two workers died at the same part of the input ({cause}): {named(task)}", hint=FEWER, code="worker-died"
    )


def named(task: object) -> str:
    return str(getattr(task, "label", "a group of questions"))


def can_fork() -> bool:
    """Forked workers need nothing sent to them, but forking is safe only on Linux and without other threads."""
    return sys.platform == "linux" and threading.active_count() == 1
