"""One request from ordinary code: ask for JSON, or fetch a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import BinaryIO

from ..text import visible
from .address import vetted_url
from .blocking import run_blocking
from .client import Client, RequestFailed

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
