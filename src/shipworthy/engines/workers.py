"""Workers: one process for each task. One that dies is replaced, and its task is done again.

The pools of the standard library either hang when a worker is killed or do not say at which task it was.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection, get_context
from typing import Any, NamedTuple

from ..errors import EnvironmentFailure

TRIES = 2  # a task that has killed two workers would kill a third
FEWER = "Was the memory enough? Use fewer processes (--jobs), or one (--jobs 1)."


class Failed(NamedTuple):
    """An error that a task ended with."""

    error: Exception


class _Running(NamedTuple):
    process: Any
    number: int
    task: Any
    tries: int


def over(work: Callable[[Any], object], tasks: Iterable[Any], jobs: int) -> Iterator[tuple[int, Any]]:
    """`work(task)` for each task, `jobs` at a time; results with the numbers of their tasks, as they complete.

    Where processes are forked, `work` need not be one that can be pickled. Of several errors that of the first task is
    raised, as one process would raise it.
    """
    context = get_context("fork" if can_fork() else "spawn")
    waiting, running = enumerate(tasks), dict[Any, _Running]()
    failed: tuple[int, Exception] | None = None

    def start(number: int, task: Any, tries: int) -> None:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(theirs, work, task), daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        running[ours] = _Running(process, number, task, tries)

    try:
        while True:
            while len(running) < jobs and failed is None and (given := next(waiting, None)) is not None:
                start(*given, 1)
            if not running:
                break
            for ended in connection.wait(list(running)):
                pipe: Any = ended
                process, number, task, tries = running.pop(pipe)
                try:
                    result = pipe.recv()
                except (EOFError, OSError):
                    process.join()
                    if tries >= TRIES:
                        raise _died(task, process.exitcode) from None
                    start(number, task, tries + 1)
                    continue
                finally:
                    pipe.close()
                process.join()
                if not isinstance(result, Failed):
                    yield number, result
                elif failed is None or number < failed[0]:
                    failed = number, result.error
    finally:
        for one in running.values():
            one.process.terminate()
            one.process.join()
    if failed is not None:
        raise failed[1]


def _work(pipe: Any, work: Callable[[Any], object], task: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets the signal too, and ends its workers
    import gc

    gc.disable()
    pipe.send(attempt(work, task))


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
