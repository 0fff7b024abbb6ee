"""Function: a callable object, called in threads of this process; whatever it raises is a failed run.

Threads can't be killed: a call that never returns is left behind at its deadline. Functions that are named by text run
in processes (`pool`), which can.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from ...text import visible
from ..failures import AskFailed
from ..redact import Secrets
from .worker import text_of

_ANSWERS_AGAIN = 0.05  # seconds for a loop to show that the coroutine it was rid of did not block it

Outcome = tuple[Any, BaseException | None]


class Function:
    """A function object, sync or async. Coroutines share one loop in a thread of its own."""

    def __init__(self, function: Callable[..., object], secrets: Secrets | None = None) -> None:
        self._function, self._secrets = function, secrets or Secrets()
        self._loop: _LoopThread | None = None

    async def result(self, question: str, arguments: Mapping[str, object]) -> object:
        """What the function gives for a question; whatever it raises, SystemExit too, is an AskFailed."""
        value, error = await _in_thread(lambda: self._function(question, **arguments))
        if error is None and inspect.isawaitable(value):
            value, error = await (await self._loop_thread()).outcome(_awaited(value))
        if error is not None:
            raise raised(error, self._secrets) from error
        return value

    async def close(self) -> None:
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    async def _loop_thread(self) -> _LoopThread:
        if self._loop is not None and not self._loop.answers:
            await asyncio.sleep(_ANSWERS_AGAIN)
            if not self._loop.answers:  # a coroutine blocks it: the next ones get another
                self._loop.stop()
                self._loop = None
        self._loop = self._loop or _LoopThread()
        return self._loop


def raised(error: BaseException, secrets: Secrets) -> AskFailed:
    """An exception of the pipeline as a failed run."""
    return AskFailed("python", visible(secrets.hide(text_of(error)), 200))


class _LoopThread:
    """An event loop that a blocking coroutine may block without blocking the judge."""

    def __init__(self) -> None:
        self._loop, self.answers = asyncio.new_event_loop(), True
        threading.Thread(target=self._run, name="ask-loop", daemon=True).start()

    async def outcome(self, coroutine: Coroutine[object, object, object]) -> Outcome:
        future = asyncio.run_coroutine_threadsafe(_guarded(coroutine), self._loop)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.cancel()
            self.answers = False
            self._loop.call_soon_threadsafe(self._answer)
            raise

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _answer(self) -> None:
        self.answers = True

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()


async def _guarded(coroutine: Coroutine[object, object, object]) -> Outcome:
    """The outcome as a value: SystemExit would end the loop, and a cancellation would be taken for one of ours."""
    try:
        return await coroutine, None
    except BaseException as error:
        return None, error


async def _awaited(value: Any) -> Any:
    return await value


async def _in_thread(call: Callable[[], object]) -> Outcome:
    """A daemon thread for each call: a call that never returns can then not keep the program from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()

    def resolve(outcome: Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    def work() -> None:
        outcome: Outcome
        try:
            outcome = (call(), None)
        except BaseException as error:
            outcome = (None, error)
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(resolve, outcome)

    threading.Thread(target=work, name="ask", daemon=True).start()
    return await future
