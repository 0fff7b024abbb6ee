"""A pool of worker processes that loses nothing: a worker that dies is replaced, and its task is repeated.

The standard pools either hang when a worker is killed or do not say which task it was at; and they start threads, after
which forking is no longer safe. So there is one pipe to each worker, and one task at a time on it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection, get_context
from typing import Any

from ..errors import EnvironmentFailure
from .attempts import FEWER, attempt, named

TRIES = 2  # a task that has killed two workers would kill a third


class _Worker:
    """One process, the parent's end of its pipe, and its current task."""

    def __init__(self, context: Any, work: Callable[..., Any], shared: tuple[Any, ...]) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work, shared), daemon=True)
        self.process.start()
        theirs.close()
        self.task: tuple[int, object, int] | None = None  # number, task, attempt

    def give(self, number: int, task: object, tries: int) -> None:
        self.task = number, task, tries
        self.pipe.send((number, task))

    def stop(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


def _serve(pipe: connection.Connection, work: Callable[..., object], shared: tuple[object, ...]) -> None:
    """The worker's side: tasks in, results or errors out, until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets the signal too, and stops its workers
    import gc

    gc.disable()
    while True:
        try:
            number, task = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send((number, attempt(work, *shared, task)))


def run(
    work: Callable[..., object],
    shared: tuple[object, ...],
    tasks: Iterable[object],
    jobs: int,
    start: str | None = None,
) -> Iterator[tuple[int, object]]:
    """`work(*shared, task)` for each task, in `jobs` processes; results with their task numbers, as they complete.

    `work` is a top-level function. Where processes are forked, `shared` costs nothing, however large it is.
    """
    context = get_context(start or start_method())
    workers: list[_Worker] = []
    waiting = _Tasks(tasks)
    try:
        for given in waiting.up_to(jobs):
            workers.append(_Worker(context, work, shared))
            workers[-1].give(*given)
        while busy := {worker.pipe: worker for worker in workers if worker.task is not None}:
            while not (ready := connection.wait(list(busy), 0 if waiting.are_few(jobs) else None)):
                waiting.prepare()
            for pipe in ready:
                worker = busy[pipe]
                try:
                    yield worker.pipe.recv()
                    worker.task = None
                except (EOFError, OSError):
                    workers[workers.index(worker)] = worker = _replaced(worker, context, work, shared)
                    continue
                for given in waiting.up_to(1):
                    worker.give(*given)
    finally:
        for worker in workers:
            worker.stop()


class _Tasks:
    """Numbered tasks, prepared a few ahead: a file is still being cut while its first parts are read, and no worker
    has to wait."""

    def __init__(self, tasks: Iterable[object]) -> None:
        self._numbered = enumerate(tasks)
        self._ahead: deque[tuple[int, object]] = deque()
        self._done = False

    def are_few(self, jobs: int) -> bool:
        """Whether another task should be prepared now."""
        return not self._done and len(self._ahead) < jobs

    def prepare(self) -> None:
        """Prepare the next task, if there is one."""
        for numbered in self._numbered:
            self._ahead.append(numbered)
            return
        self._done = True

    def up_to(self, count: int) -> Iterator[tuple[int, object, int]]:
        for _ in range(count):
            if not self._ahead:
                self.prepare()
            if self._ahead:
                number, task = self._ahead.popleft()
                yield number, task, 1


def _replaced(worker: _Worker, context: object, work: Callable[..., object], shared: tuple[object, ...]) -> _Worker:
    """A new worker on the task of one that died."""
    worker.process.join()
    code = worker.process.exitcode
    assert worker.task is not None
    number, task, tries = worker.task
    worker.pipe.close()
    if tries >= TRIES:
        raise EnvironmentFailure(
            f"two workers died at the same part of the input ({_cause(code)}): {named(task)}",
            hint=FEWER,
            code="worker-died",
        )
    fresh = _Worker(context, work, shared)
    fresh.give(number, task, tries + 1)
    return fresh


def _cause(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def start_method() -> str:
    """Forked workers need nothing sent to them, but forking is safe only on Linux and without other threads."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"
