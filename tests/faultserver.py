"""A server on a free port that misbehaves on request: each path is one fault."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

GOOD = {"answer_json": {"claim": "Alpha holds 42 units.", "citations": ["d1#2"]}, "retrieved_ids": ["d1#2", "d3#1"]}


def response(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


class FaultServer:
    """Serves in a thread of its own; `hits` counts requests by path, `seen` keeps what was sent.

    Good answers beyond the first `hold_after` wait until it is raised.
    """

    def __init__(self, hold_after: float = float("inf")) -> None:
        self.hits: Counter[str] = Counter()
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.hold_after = hold_after
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> FaultServer:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(5)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main())
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
                exact = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                path = head[0].split()[1]
                self.hits[path] += 1
                self.seen.append((path, exact, json.loads(body or b"{}")))
                fault = FAULTS.get(path.partition("?")[0], FAULTS["/qa"])
                await fault(self, path, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()


async def _good(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
    number = server.hits[path]
    while number > server.hold_after:
        await asyncio.sleep(0.01)
    writer.write(response(json.dumps(GOOD).encode()))


def _always(data: bytes) -> Callable[..., Awaitable[None]]:
    async def fault(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return fault


def _first(count: int, data: bytes) -> Callable[..., Awaitable[None]]:
    """So many bad answers, then good ones."""

    async def fault(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
        if server.hits[path] <= count:
            writer.write(data)
        else:
            await _good(server, path, writer)

    return fault


async def _hang(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def _slow_headers(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
    for byte in response(json.dumps(GOOD).encode()):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.1)


async def _drip(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
    body = json.dumps(GOOD).encode()
    writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode())
    for byte in body:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.1)


async def _huge(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    for _ in range(2000):
        writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")


async def _reset(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    raise ConnectionResetError


async def _half(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"answer_json"')
    await writer.drain()
    raise ConnectionResetError


async def _echo(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
    """An endpoint that says every header back, in its claim and in its errors."""
    shown = json.dumps(server.seen[-1][1])
    if "500" in path:
        writer.write(response(shown.encode(), "500 Internal Server Error"))
    else:
        writer.write(response(json.dumps({**GOOD, "debug": {shown: [shown]}}).encode()))


async def _chat(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
    content = json.dumps({"claim": "Alpha holds 42 units.", "citations": ["d1#2"]})
    reply = {"choices": [{"message": {"content": content}}], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}
    writer.write(response(json.dumps(reply).encode()))


FAULTS: dict[str, Callable[..., Awaitable[None]]] = {
    "/qa": _good,
    "/429": _first(2, response(b"slow down", "429 Too Many Requests", "retry-after: 0\r\n")),
    "/429-always": _always(response(b"slow down", "429 Too Many Requests", "retry-after: 99999\r\n")),
    "/500-once": _first(1, response(b"oops", "503 Service Unavailable")),
    "/500": _always(response(b"<h1>\x1b[31mboom</h1>", "500 Internal Server Error")),
    "/404": _always(response(b"no such path", "404 Not Found")),
    "/hang": _hang,
    "/slow-headers": _slow_headers,
    "/drip": _drip,
    "/huge": _huge,
    "/bad-json": _always(response(b"<html>not json</html>")),
    "/empty": _always(response(b"")),
    "/nan": _always(response(b'{"answer_json": {"claim": "x"}, "cost_usd": NaN}')),
    "/array": _always(response(b"[1, 2]")),
    "/wrong-shape": _always(response(b'{"answer": "42"}')),
    "/wrong-type": _always(response(b'{"answer_json": {"claim": 42}}')),
    "/gzip": _always(response(b"\x1f\x8b0000", headers="content-encoding: gzip\r\n")),
    "/not-http": _always(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    "/reset": _reset,
    "/half": _half,
    "/redirect": _always(response(b"", "302 Found", "location: /secret\r\n")),
    "/redirect-307": _always(response(b"", "307 Temporary Redirect", "location: /qa\r\n")),
    "/redirect-away": _always(response(b"", "307 Temporary Redirect", "location: http://127.0.0.2:9/secret\r\n")),
    "/redirect-loop": _always(response(b"", "308 Permanent Redirect", "location: /redirect-loop\r\n")),
    "/reports-error": _always(response(b'{"error": {"code": 7}, "answer_json": 5}')),
    "/other-shape": _always(
        response(
            b'{"data": {"answer": {"text": "Alpha."}}, "docs": [{"id": "d1"}, {"id": "d2"}, {}], "ms": {"a.b": 3}}'
        )
    ),
    "/surrogate": _always(response(b'{"answer_json": {"claim": "half \\ud800"}, "n": 123456789012345678901234567890}')),
    "/costly": _always(response(b'{"answer_json": {"claim": "x"}, "cost_usd": 0.1}')),
    "/echo": _echo,
    "/echo-500": _echo,
    "/chat/completions": _chat,
}
