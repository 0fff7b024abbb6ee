"""Failing I/O: the N-th open, write, flush to disk, rename or database connection fails, as on a full or broken disk.

    for failed in each_failure(lambda: main([...])):
        ...  # failed.fired, failed.what, failed.result

After SQLite's tests: N counts up until a whole run passes without reaching it, so that every call has failed once.
Counted are every open, however it is made (an audit event tells), and at Python's edge `write`, `flush`, `os.fsync`,
`os.replace`, `os.rename`, `os.mkdir` and `sqlite3.connect`; what the interpreter reads to import code is not.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

MOST = 400  # calls of one run; more means that something loops
_CODE = (".py", ".pyc", ".so")
_counters: list[_Counter] = []  # the one in force, if any; a hook can't be taken away, so it is switched


class Failed(NamedTuple):
    """One run in which the N-th call failed, or none where the run made fewer calls."""

    number: int
    fired: bool
    what: str
    result: Any


class _Counter:
    def __init__(self, fail_at: int, error: int) -> None:
        self.fail_at, self.error = fail_at, error
        self.count, self.what = 0, ""

    def step(self, what: str) -> None:
        self.count += 1
        if self.count == self.fail_at:
            self.what = what
            raise OSError(self.error, os.strerror(self.error))


class _Stream:
    """A file that is written to, whose writes and flushes are counted."""

    def __init__(self, stream: Any, counter: _Counter) -> None:
        self._stream, self._counter = stream, counter

    def write(self, data: Any) -> Any:
        self._counter.step("write")
        return self._stream.write(data)

    def flush(self) -> None:
        self._counter.step("flush")
        self._stream.flush()

    def __enter__(self) -> _Stream:
        self._stream.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._stream.__exit__(*error)

    def __iter__(self) -> Any:
        return iter(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@cache
def _listen() -> None:
    """Once: an audit hook can't be taken back."""
    sys.addaudithook(_on_open)


@contextmanager
def failing(fail_at: int, error: int = errno.ENOSPC) -> Iterator[_Counter]:
    """Everything inside fails at its N-th call."""
    _listen()
    counter = _Counter(fail_at, error)
    with ExitStack() as stack:
        for module, names in (
            (os, ("fsync", "replace", "rename", "mkdir", "write")),
            (sqlite3, ("connect",)),
        ):
            for name in names:
                stack.enter_context(patch.object(module, name, _counted(name, getattr(module, name), counter)))
        for module, name in ((builtins, "open"), (io, "open"), (os, "fdopen")):
            stack.enter_context(patch.object(module, name, _wrapping(getattr(module, name), counter)))
        _counters.append(counter)
        stack.callback(_counters.pop)
        yield counter


def _on_open(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and _counters and isinstance(args[0], (str, bytes)):
        path = os.fsdecode(args[0])
        if not path.endswith(_CODE):
            _counters[-1].step(f"open {path}")


def _counted(name: str, function: Callable[..., Any], counter: _Counter) -> Callable[..., Any]:
    def call(*args: Any, **more: Any) -> Any:
        counter.step(f"{name} {args[0] if args else ''}")
        return function(*args, **more)

    return call


def _wrapping(function: Callable[..., Any], counter: _Counter) -> Callable[..., Any]:
    """Opens as before; a stream for writing counts its writes."""

    def call(*args: Any, **more: Any) -> Any:
        found = function(*args, **more)
        mode = str(more.get("mode", args[1] if len(args) > 1 else "r"))
        return _Stream(found, counter) if set(mode) & set("wax+") else found

    return call


def each_failure(run: Callable[[], Any], error: int = errno.ENOSPC, most: int = MOST) -> Iterator[Failed]:
    """The run with its first call failing, then its second, and so on; the last one is a run that did not fail."""
    for number in range(1, most + 1):
        with failing(number, error) as counter:
            result = run()
        fired = counter.count >= number
        yield Failed(number, fired, counter.what, result)
        if not fired:
            return
    raise AssertionError(f"more than {most} calls: is there a loop?")
