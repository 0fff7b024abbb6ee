"""Virtual time: an event loop that skips waits instead of sitting them out, so that tests can be exact about time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its clock starts at 0 and moves only when nothing is left to do, straight to the next timer."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """At once: time must not skip while a thread works."""
        future = self.create_future()
        future.set_result(function(*arguments))
        return future


class _Skipping(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().select()
        self._loop.now += timeout
        return super().select(0)


def virtual_time() -> AbstractContextManager[Any]:
    """Whatever `asyncio.run` runs within it goes by virtual time. For targets in this process: others don't wait."""
    return mock.patch.object(asyncio.events, "new_event_loop", VirtualLoop)


def now() -> float:
    return asyncio.get_running_loop().time()


def block(seconds: float) -> None:
    """Keep the loop from doing anything for so long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.now += seconds
