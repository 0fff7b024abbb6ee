"""HTTP: POST a question as JSON, read one JSON object back, within a size and to the last byte."""

from __future__ import annotations

import asyncio
import email.utils
import ssl
import time
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from ...text import visible
from ..plan import Ask
from ..redact import headers_from
from ..shape import checked, mapped, parse_mapping, parsed
from .address import VettingResolver, vetted_url
from .base import AskFailed, TargetOptions, request_of

SNIPPET = 200  # characters of a failed response that are kept
MAX_HOPS = 3


class HttpClient:
    """One session of keep-alive connections. Opened by the first request, in the loop that asks."""

    def __init__(self, template: str, options: TargetOptions) -> None:
        self.options, self.secrets = options, options.secrets
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # a compressed body could be a bomb
            "User-Agent": "shipworthy",
            **headers_from(options.headers, options.secrets),
        }
        self.url = vetted_url(options.secrets.filled(template, "--target"))
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: dict[str, Any]) -> bytes:
        """The body of a 200 answer; anything else is an AskFailed that says what came."""
        payload, url = _encoded(body), self.url
        for _ in range(MAX_HOPS + 1):
            try:
                async with self._opened().post(url, data=payload, allow_redirects=False) as response:
                    if response.status // 100 != 3:
                        return await self._read(response)
                    url = self._redirected(response, url)
            except aiohttp.ClientError as error:
                raise self._connection_failed(error) from None
            except (ConnectionError, ssl.SSLError) as error:
                raise AskFailed("reset", self._shown(str(error)), retry=True) from None
        raise AskFailed("redirect", f"more than {MAX_HOPS} redirects")

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, resolver=VettingResolver(), ttl_dns_cache=300)
            self._session = aiohttp.ClientSession(
                connector=connector, headers=self.headers, auto_decompress=False, trust_env=False,
                timeout=aiohttp.ClientTimeout(total=None), cookie_jar=aiohttp.DummyCookieJar(),
            )  # fmt: skip
        return self._session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        if response.status != 200:
            raise self._refused(response, await self._body(response, 4096, cut=True))
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise AskFailed(
                "bad-encoding",
                f"the response is compressed ({visible(encoding, 40)}) though none was asked for",
            )
        return await self._body(response, self.options.max_response_bytes, cut=False)

    async def _body(self, response: aiohttp.ClientResponse, limit: int, cut: bool) -> bytes:
        chunks, size = [], 0
        while chunk := await response.content.readany():
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                response.close()
                if cut:
                    break
                raise AskFailed("too-large", f"the response is larger than {limit} bytes")
        return b"".join(chunks)

    def _refused(self, response: aiohttp.ClientResponse, body: bytes) -> AskFailed:
        status, text = response.status, body.decode("utf-8", "replace").strip()
        retry = status == 429 or 500 <= status <= 599
        after = _seconds(response.headers.get("Retry-After")) if retry else None
        return AskFailed(f"http-{status}", f"HTTP {status}: {self._shown(text)}", retry=retry, retry_after=after)

    def _redirected(self, response: aiohttp.ClientResponse, url: URL) -> URL:
        """The next URL: same host, still a POST, and only where redirects are allowed."""
        place = response.headers.get("Location", "")
        shown = f"HTTP {response.status} to {self._shown(place) or 'nowhere'}"
        if not self.options.allow_redirects:
            raise AskFailed("redirect", f"{shown}; redirects are off")
        try:
            following = url.join(URL(place))
        except ValueError:
            raise AskFailed("redirect", f"{shown}; not a URL") from None
        if response.status not in (307, 308) or following.origin() != url.origin():
            raise AskFailed("redirect", f"{shown}; only 307 and 308 on the same host are followed")
        return following

    def _connection_failed(self, error: aiohttp.ClientError) -> AskFailed:
        what = self._shown(str(error)) or type(error).__name__
        if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            return AskFailed("unreachable", what, retry=True)
        if isinstance(error, aiohttp.ClientResponseError):
            return AskFailed("bad-http", what)
        return AskFailed("reset", what, retry=True)

    def _shown(self, text: str) -> str:
        return visible(self.secrets.hide(text), SNIPPET)


class HttpTarget:
    """An endpoint that speaks our request, and our response or a mapped one."""

    replays = False

    def __init__(self, template: str, options: TargetOptions) -> None:
        self.name = template.partition("?")[0]
        self._mapping = parse_mapping(options.mapping)
        self._client = HttpClient(template, options)

    async def ask(self, ask: Ask) -> dict[str, Any]:
        return checked(mapped(parsed(await self._client.post(request_of(ask))), self._mapping))

    async def close(self) -> None:
        await self._client.close()
        await asyncio.sleep(0)  # lets the transports close before the loop does


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        raise AskFailed("bad-question", "the question holds half of a surrogate pair and can't be sent") from None


def _seconds(after: str | None) -> float | None:
    """Retry-After as seconds from now: a number, or an HTTP date."""
    if after is None:
        return None
    if after.strip().isdecimal():
        return float(after.strip()[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
