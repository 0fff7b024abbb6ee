"""Blocking: from ordinary code, run a coroutine to its end, ask for JSON, or fetch a file."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from typing import BinaryIO, TypeVar

from ..text import visible
from .address import vetted_url
from .client import Client, RequestFailed

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


MOST = 256_000_000  # bytes of a response: 64 vectors of any model fit many times


def ask(
    method: str, url: str, body: object, headers: Mapping[str, str], seconds: float, where: str = ""
) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body of the response to a request, perhaps with a JSON body; status 0 and why, if none.

    `where` names the flag that the address is from.
    """
    payload = None if body is None else json.dumps(body).encode()
    return run_blocking(_asked(method, url, payload, headers, seconds, where or visible(url.partition("?")[0], 120)))


async def _asked(
    method: str, url: str, payload: bytes | None, headers: Mapping[str, str], seconds: float, where: str
) -> tuple[int, Mapping[str, str], bytes]:
    address = vetted_url(url, where)
    usual = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "shipworthy"}
    typed = {} if payload is None else {"Content-Type": "application/json"}
    client = Client(address, {**usual, **typed, **headers})
    try:
        async with asyncio.timeout(seconds):
            reply = await client.send(method, address, payload, {}, MOST)
        return (reply.status, reply.headers, reply.body) if reply.whole else (0, {}, b"the response is too large")
    except RequestFailed as failed:
        return 0, {}, failed.why.encode("utf-8", "replace")
    except TimeoutError:
        return 0, {}, f"no answer within {round(seconds, 1):g} s".encode()
    finally:
        await client.close()


def fetch(url: str, sink: BinaryIO, seconds: float, *, method: str = "GET") -> tuple[int, Mapping[str, str]]:
    """Status and headers of the response, whose body goes to the sink. Redirects are not followed."""
    return run_blocking(_fetched(url, sink, seconds, method))


async def _fetched(url: str, sink: BinaryIO, seconds: float, method: str) -> tuple[int, Mapping[str, str]]:
    address = vetted_url(url, visible(url))
    client = Client(address, {"User-Agent": "shipworthy", "Accept-Encoding": "identity"})
    try:
        return await client.save(method, address, sink, seconds)
    finally:
        await client.close()
