"""Client: one HTTP request at a time to one host, on aiohttp, with our rules about addresses, sizes and redirects.

Redirects are not followed, environment proxies are not used unless asked for, compressed bodies are not unpacked, and
the address that was vetted is the one that is connected to. Time is taken from aiohttp's trace hooks: from the moment
the request is sent to its last byte, and the opening of a connection where one had to be opened.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..errors import EnvironmentFailure, UsageError
from ..text import visible
from .address import Url, resolved, vetted_url
from .events import EventStream

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractResolver
    from yarl import URL

STREAMS = ("text/event-stream", "ndjson", "jsonl", "json-lines", "json-seq", "stream+json")  # parts of such types
WHOLE = 60  # how many times as long as one piece all of a file may take


class RequestFailed(Exception):
    """No answer came: the kind of failure, why, and whether it is worth trying again."""

    def __init__(self, kind: str, why: str, *, retry: bool = False) -> None:
        self.kind, self.why, self.retry = kind, why, retry
        super().__init__(f"{kind}: {why}")


class Reply(NamedTuple):
    """A response; `whole` is False where the body went past the limit and was cut."""

    status: int
    headers: Mapping[str, str]  # looked up in any case
    body: bytes
    whole: bool
    elapsed_ms: float
    events: EventStream | None = None  # of a stream
    first_ms: float | None = None  # until the first text of such a stream


class Wiring(NamedTuple):
    """How connections are made."""

    proxy: str = ""
    trust_env: bool = False  # proxies of the environment, and .netrc
    ca_file: str = ""  # certificates to trust besides the system's


class _Timing:
    """What the trace hooks note about one request."""

    __slots__ = ("connecting", "connection_ms", "reused", "sent")

    def __init__(self) -> None:
        self.sent = self.connecting = self.connection_ms = 0.0
        self.reused = False


class Client:
    """Requests to one host. Connections are kept and used again."""

    def __init__(self, url: Url, headers: Mapping[str, str], wiring: Wiring | None = None) -> None:
        self.url, self._headers = url, dict(headers)
        self._wiring = wiring or Wiring()
        if self._wiring.proxy:
            vetted_url(self._wiring.proxy, "--proxy")
        self._tls = _context(self._wiring.ca_file) if "https" in (url.scheme, self._wiring.proxy[:5]) else None
        self._session: aiohttp.ClientSession | None = None
        self._last: tuple[Url, URL] | None = None

    async def send(self, method: str, url: Url, payload: bytes | None, limits: Mapping[int, int], limit: int) -> Reply:
        """Send and read to the last byte; `limits` holds body limits by status, `limit` is that of the others."""
        while True:
            timing = _Timing()
            try:
                return await self._sent(method, url, payload, limits, limit, timing)
            except _Unanswered:
                if not timing.reused:  # a kept connection may have been closed while idle: that is nobody's failure
                    why = "the connection was closed before an answer came"
                    raise RequestFailed("reset", why, retry=True) from None

    async def save(self, method: str, url: Url, sink: BinaryIO, idle: float) -> tuple[int, Mapping[str, str]]:
        """Status and headers of a response whose body, if it is the thing itself, goes to the sink as it comes.

        Nothing may take longer than `idle` seconds: not the answer, not the next piece of it; and all of it no longer
        than `WHOLE` times that.
        """
        import aiohttp

        session, address, clock = self._opened(), self._address(url), asyncio.get_running_loop().time
        end = clock() + WHOLE * idle
        try:
            async with asyncio.timeout(idle) as deadline:
                async with session.request(
                    method, address, allow_redirects=False, trace_request_ctx=_Timing()
                ) as response:
                    while response.status == 200 and (chunk := await response.content.readany()):
                        sink.write(chunk)
                        deadline.reschedule(min(clock() + idle, end))
                    return response.status, response.headers
        except TimeoutError:
            late = f"nothing came for {idle:g} s" if clock() < end else f"it did not end within {WHOLE * idle:g} s"
            raise RequestFailed("timeout", late, retry=True) from None
        except aiohttp.ClientConnectorError as error:
            raise RequestFailed("unreachable", f"{url.authority}: {error.os_error}", retry=True) from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise _cut_off(error) from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _sent(
        self, method: str, url: Url, payload: bytes | None, limits: Mapping[int, int], limit: int, timing: _Timing
    ) -> Reply:
        import aiohttp

        session, address = self._opened(), self._address(url)
        answered = False
        try:
            async with session.request(
                method,
                address,
                data=payload,
                allow_redirects=False,
                proxy=self._wiring.proxy or None,
                trace_request_ctx=timing,
            ) as response:
                answered = True
                return await _read(response, limits.get(response.status, limit), timing)
        except aiohttp.ClientConnectorError as error:
            raise RequestFailed("unreachable", f"{url.authority}: {error.os_error}", retry=True) from None
        except aiohttp.ClientPayloadError as error:
            raise _cut_off(error) from None
        except aiohttp.ClientResponseError as error:
            raise RequestFailed("bad-http", f"the answer is not HTTP/1.1: {error.message or error}") from None
        except (aiohttp.ClientConnectionError, OSError) as error:
            if not answered:
                raise _Unanswered from error
            raise _cut_off(error) from None

    def _address(self, url: Url) -> URL:
        """The URL as aiohttp takes it; most requests go to the same one."""
        if self._last is None or self._last[0] != url:
            from yarl import URL

            self._last = url, URL(f"{url.scheme}://{url.authority}{url.path}", encoded=True)
        return self._last[1]

    def _opened(self) -> aiohttp.ClientSession:
        """The session, made at the first request: it belongs to the running loop."""
        if self._session is None:
            import aiohttp

            from .connections import QuietConnector

            connector = QuietConnector(
                limit=0, resolver=_vetting_resolver(), ssl=self._tls or True, limit_per_host=0, ttl_dns_cache=60
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=self._wiring.trust_env,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                trace_configs=[_hooks()],
            )
        return self._session


class _Unanswered(Exception):
    """The connection ended before an answer had begun."""


async def _read(response: aiohttp.ClientResponse, limit: int, timing: _Timing) -> Reply:
    clock = asyncio.get_running_loop().time
    framed = "transfer-encoding" in response.headers or "content-length" in response.headers
    streams = response.status == 200 and any(part in response.content_type for part in STREAMS)
    events = EventStream(framed) if streams else None
    parts: list[bytes] = []
    size, whole = 0, True
    while whole and (chunk := await response.content.readany()):
        size += len(chunk)
        if whole := size <= limit:
            parts.append(chunk)
        else:
            parts.append(chunk[: limit - size])
        if events is not None:
            events.feed(chunk, clock())
    elapsed = timing.connection_ms + (clock() - timing.sent) * 1000
    if not whole:
        response.close()  # the rest is not worth reading, and the connection can't be used again
    first = events.since if events is not None else None
    waited = None if first is None else timing.connection_ms + (first - timing.sent) * 1000
    return Reply(response.status, response.headers, b"".join(parts), whole, elapsed, events, waited)


def _cut_off(error: Exception) -> RequestFailed:
    """A body that did not come as it was announced: cut off, or framed wrongly."""
    cause = error.__cause__
    if type(cause).__name__ == "TransferEncodingError" and "Not enough data" not in str(cause):
        return RequestFailed("bad-http", f"the answer is not HTTP/1.1: {visible(str(cause), 100)}")
    return RequestFailed("reset", "the connection was closed in the middle of the answer", retry=True)


def _hooks() -> aiohttp.TraceConfig:
    """Notes when the request left and what opening a connection took; the rest is not charged to the target."""
    import aiohttp

    hooks = aiohttp.TraceConfig()

    async def connecting(session: object, context: Any, params: Any) -> None:
        context.trace_request_ctx.connecting = asyncio.get_running_loop().time()

    async def connected(session: object, context: Any, params: object) -> None:
        timing: _Timing = context.trace_request_ctx
        timing.connection_ms += (asyncio.get_running_loop().time() - timing.connecting) * 1000

    async def reused(session: object, context: Any, params: object) -> None:
        context.trace_request_ctx.reused = True

    async def sent(session: object, context: Any, params: Any) -> None:
        context.trace_request_ctx.sent = asyncio.get_running_loop().time()

    hooks.on_connection_create_start.append(connecting)
    hooks.on_connection_create_end.append(connected)
    hooks.on_connection_reuseconn.append(reused)
    hooks.on_request_headers_sent.append(sent)
    return hooks


def _vetting_resolver() -> AbstractResolver:
    from aiohttp.abc import AbstractResolver, ResolveResult

    class Vetting(AbstractResolver):
        """Looks at every address of a name before one of them is connected to."""

        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
            import socket

            results = []
            for address in await resolved(Url("http", host, port, "/")):
                kind = socket.AF_INET6 if ":" in address else socket.AF_INET
                results.append(
                    ResolveResult(
                        hostname=host, host=address, port=port, family=kind, proto=0, flags=socket.AI_NUMERICHOST
                    )
                )
            return results

        async def close(self) -> None:
            """Nothing is kept open."""

    return Vetting()


def _context(ca_file: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except FileNotFoundError:
            raise UsageError("no such file", where=visible(ca_file), hint="Check --ca-file.", code="no-file") from None
        except OSError as error:
            raise EnvironmentFailure(
                f"is not a file of certificates: {visible(str(error), 100)}",
                where=visible(ca_file),
                hint="Give PEM certificates.",
                code="ca-file",
            ) from None
    return context
