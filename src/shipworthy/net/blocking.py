"""Blocking: run a coroutine to its end from ordinary code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def run_blocking(coroutine: Coroutine[object, object, T]) -> T:
    """The coroutine's result; in a thread of its own where a loop is running already, as in a notebook."""
    if not _loop_is_running():
        return asyncio.run(coroutine)
    outcome: Future[T] = Future()

    def work() -> None:
        try:
            outcome.set_result(asyncio.run(coroutine))
        except BaseException as error:  # raised again by the caller
            outcome.set_exception(error)

    threading.Thread(target=work).start()
    return outcome.result()


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
