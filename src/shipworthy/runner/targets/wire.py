"""Wire: HTTP/1.1 POST over kept-alive connections, as much of it as asking one endpoint takes.

A general client spends most of its time on what is not needed here (cookies, proxies, sessions, compression), and
that time would be measured as the target's.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from select import POLLIN, poll
from typing import NamedTuple

from ..failures import AskFailed
from .address import Url, resolved

MAX_HEAD = 65536
MAX_TRAILERS = 100
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: .*)?", re.DOTALL)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")


class Incoming(asyncio.StreamReader):
    """A reader that knows how many bytes have come that nobody has read."""

    unread = 0

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]
        self.unread += len(data)
        super().feed_data(data)

    async def readuntil(self, separator: bytes = b"\n") -> bytes:  # type: ignore[override]
        return self._counted(await super().readuntil(separator))

    async def readexactly(self, n: int) -> bytes:
        return self._counted(await super().readexactly(n))

    async def read(self, n: int = -1) -> bytes:
        return self._counted(await super().read(n))

    def _counted(self, data: bytes) -> bytes:
        self.unread -= len(data)
        return data


Streams = tuple[Incoming, asyncio.StreamWriter]


class Reply(NamedTuple):
    """An answer; `whole` is False where the body went past the limit and was cut."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool


class Head(NamedTuple):
    """What comes before a body; `stays` says whether the connection outlives it."""

    status: int
    headers: dict[str, str]
    stays: bool


class _Unanswered(Exception):
    """The connection ended before an answer had begun."""


class Wire:
    """Connections to one host. As many as are asked at a time; each is used again once its answer was read whole."""

    def __init__(self, url: Url, headers: Mapping[str, str], keep: int = 64) -> None:
        self._url, self._keep = url, keep
        lines = {"Host": url.authority, **headers}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode("utf-8")
        self._context = ssl.create_default_context() if url.scheme == "https" else None
        self._idle: list[Streams] = []

    async def post(self, path: str, payload: bytes, limits: Mapping[int, int], limit: int) -> Reply:
        """Send and read to the last byte; `limits` holds body limits by status, `limit` is that of the others."""
        head = b"POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n" % (path.encode(), self._head, len(payload))
        while True:
            streams, fresh = await self._connection()
            try:
                return await self._exchanged(streams, head + payload, limits, limit)
            except _Unanswered:
                if fresh:  # one that was kept may have been closed while it was idle: that is nobody's failure
                    raise AskFailed("reset", "the connection was closed before an answer came", retry=True) from None

    async def close(self) -> None:
        for _, writer in self._idle:
            writer.close()
        for _, writer in self._idle:
            try:
                async with asyncio.timeout(1):
                    await writer.wait_closed()
            except (OSError, TimeoutError):
                writer.transport.abort()
        self._idle.clear()

    async def _exchanged(self, streams: Streams, request: bytes, limits: Mapping[int, int], limit: int) -> Reply:
        reader, writer = streams
        kept = False
        try:
            head = await _answered(reader, writer, request)
            reply, kept = await _read(reader, head, limits.get(head.status, limit))
        except (OSError, EOFError):
            raise AskFailed("reset", "the connection was closed in the middle of the answer", retry=True) from None
        except (asyncio.LimitOverrunError, ValueError) as error:
            raise AskFailed("bad-http", f"the answer is not HTTP/1.1: {error}") from None
        finally:
            if kept and not reader.unread and len(self._idle) < self._keep:
                self._idle.append(streams)
            else:
                writer.transport.abort()
        return reply

    async def _connection(self) -> tuple[Streams, bool]:
        """A connection, and whether it is a fresh one."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing() and _is_silent(reader, writer):
                return (reader, writer), False
            writer.transport.abort()
        return await self._connected(), True

    async def _connected(self) -> Streams:
        name = self._url.host if self._context else None
        problem: Exception = OSError("no address")
        try:
            for address in await resolved(self._url):
                try:
                    return await _opened(address, self._url.port, self._context, name)
                except OSError as error:
                    problem = error
        except OSError as error:
            problem = error
        raise AskFailed("unreachable", f"{self._url.authority}: {problem}", retry=True)


async def _opened(host: str, port: int, context: ssl.SSLContext | None, name: str | None) -> Streams:
    """As asyncio.open_connection, with a reader of our own."""
    loop = asyncio.get_running_loop()
    reader = Incoming(limit=MAX_HEAD, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.create_connection(lambda: protocol, host, port, ssl=context, server_hostname=name)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def _is_silent(reader: Incoming, writer: asyncio.StreamWriter) -> bool:
    """Whether nothing came on an idle connection: bytes nobody asked for must not be the next question's answer."""
    watch = poll()
    watch.register(writer.get_extra_info("socket").fileno(), POLLIN)
    return not reader.unread and not watch.poll(0)


async def _answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> Head:
    """Send a request and wait for the head of its answer."""
    try:
        writer.write(request)
        await writer.drain()
        head = await _head(reader)
        while head.status // 100 == 1:  # 100 Continue and its like announce the real one
            head = await _head(reader)
    except (OSError, EOFError):
        raise _Unanswered from None
    return head


async def _head(reader: asyncio.StreamReader) -> Head:
    lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    match = _STATUS.fullmatch(lines[0])
    if match is None:
        raise ValueError("no status line")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not name or name != name.strip():
            raise ValueError("a header without a name")
        name, value = name.lower(), value.strip()
        if name == "content-length" and headers.get(name, value) != value:
            raise ValueError("two lengths")
        headers[name] = value
    tokens = headers.get("connection", "").lower()
    return Head(int(match[2]), headers, "close" not in tokens and (match[1] == b"1" or "keep-alive" in tokens))


async def _read(reader: asyncio.StreamReader, head: Head, limit: int) -> tuple[Reply, bool]:
    """The body after its head, and whether the connection can be used again."""
    coding, length = head.headers.get("transfer-encoding", ""), head.headers.get("content-length", "")
    if head.status in (204, 304):
        body, whole = b"", True
    elif coding:
        body, whole = await _chunks(reader, coding, limit)
    elif length:
        body, whole = await _counted(reader, length, limit)
    else:
        body, whole = await _rest(reader, limit)
        return Reply(head.status, head.headers, body, whole), False
    return Reply(head.status, head.headers, body, whole), whole and head.stays


async def _counted(reader: asyncio.StreamReader, length: str, limit: int) -> tuple[bytes, bool]:
    """A body of a known length, whole or cut at the limit."""
    if not (length.isascii() and length.isdigit() and len(length) < 20):
        raise ValueError(f"content-length {length[:40]!r}")
    if int(length) > limit:
        return await reader.read(limit), False
    return await reader.readexactly(int(length)), True


async def _chunks(reader: asyncio.StreamReader, coding: str, limit: int) -> tuple[bytes, bool]:
    """A chunked body, whole or cut at the limit."""
    if coding.lower() != "chunked":
        raise ValueError(f"transfer-encoding {coding[:40]!r}")
    parts: list[bytes] = []
    left = limit
    while True:
        match = _CHUNK.fullmatch(await reader.readuntil(b"\r\n"))
        if match is None:
            raise ValueError("a chunk without a size")
        size = int(match[1], 16)
        if size > left:
            return b"".join([*parts, await reader.read(max(left, 1))]), False
        if size == 0:
            break
        parts.append(await reader.readexactly(size))
        left -= size
        if await reader.readexactly(2) != b"\r\n":
            raise ValueError("a chunk without an end")
    for _ in range(MAX_TRAILERS):
        if await reader.readuntil(b"\r\n") == b"\r\n":
            return b"".join(parts), True
    raise ValueError("too many trailers")


async def _rest(reader: asyncio.StreamReader, limit: int) -> tuple[bytes, bool]:
    """A body that ends with the connection, whole or cut at the limit."""
    body = bytearray()
    while chunk := await reader.read(65536):
        body += chunk
        if len(body) > limit:
            return bytes(body[:limit]), False
    return bytes(body), True
