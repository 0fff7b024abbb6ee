"""One request from ordinary code: POST a JSON object, get status and body back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from .address import vetted_url
from .blocking import run_blocking
from .client import Client, RequestFailed

MOST = 256_000_000  # bytes of a response: 64 vectors of any model fit many times


def post_json(url: str, body: object, headers: Mapping[str, str], seconds: float) -> tuple[int, bytes]:
    """Status and body of the response; status 0 and why where none came."""
    return run_blocking(_posted(url, json.dumps(body).encode(), headers, seconds))


async def _posted(url: str, payload: bytes, headers: Mapping[str, str], seconds: float) -> tuple[int, bytes]:
    address = vetted_url(url, "--embed-url")
    usual = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    client = Client(address, {**usual, "User-Agent": "shipworthy", **headers})
    try:
        async with asyncio.timeout(seconds):
            reply = await client.send("POST", address, payload, {}, MOST)
        return (reply.status, reply.body) if reply.whole else (0, b"the response is too large")
    except RequestFailed as failed:
        return 0, failed.why.encode("utf-8", "replace")
    except TimeoutError:
        return 0, f"no answer within {seconds:g} s".encode()
    finally:
        await client.close()
