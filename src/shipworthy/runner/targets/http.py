"""HTTP: POST a question as JSON, read one JSON object back, within a size and to the last byte."""

from __future__ import annotations

import email.utils
import time
from typing import Any

import msgspec

from ...errors import UsageError
from ...text import visible
from ..failures import SEEN, AskFailed
from ..plan import Ask
from ..redact import headers_from
from ..shape import checked, mapped, parse_mapping, parsed
from .address import Url, vetted_url
from .base import TargetOptions, request_of
from .wire import Reply, Wire

SNIPPET = 200  # characters of a failed response that are kept
MAX_HOPS = 3
_SUCCESS = range(200, 300)
_OF_A_FAILURE = 4096  # bytes of a failed response that are read


class HttpClient:
    """POSTs to one URL; anything but a success is an AskFailed that says what came. `where` names the flag."""

    def __init__(self, template: str, options: TargetOptions, where: str = "--target") -> None:
        self.options, self.secrets = options, options.secrets
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # a compressed body could be a bomb
            "User-Agent": "shipworthy",
        }
        given = headers_from(options.headers, options.secrets)
        named = {name.lower() for name in given}
        self.url = vetted_url(options.secrets.filled(template, where), where)
        usual = {name: value for name, value in headers.items() if name.lower() not in named}
        self._wire = Wire(self.url, usual | given, options.connections)
        self._limits = dict.fromkeys(_SUCCESS, options.max_response_bytes)

    async def post(self, body: dict[str, Any]) -> bytes:
        payload, url = _encoded(body), self.url
        for _ in range(MAX_HOPS + 1):
            reply = await self._posted(url, payload)
            if reply.status // 100 != 3:
                return self._body(reply)
            url = self._redirected(reply, url)
        raise AskFailed("redirect", f"more than {MAX_HOPS} redirects")

    async def close(self) -> None:
        await self._wire.close()

    async def _posted(self, url: Url, payload: bytes) -> Reply:
        try:
            return await self._wire.post(url.path, payload, self._limits, _OF_A_FAILURE)
        except AskFailed as failed:
            raise AskFailed(failed.kind, self._shown(failed.what), retry=failed.retry) from None

    def _body(self, reply: Reply) -> bytes:
        if reply.status not in _SUCCESS:
            raise self._refused(reply)
        if not reply.whole:
            seen = self.secrets.hide(reply.body[:SEEN].decode("utf-8", "replace"))
            limit = self.options.max_response_bytes
            raise AskFailed("too-large", f"the response is larger than {limit:,} bytes", seen=seen)
        encoding = reply.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise AskFailed("bad-encoding", f"the response is compressed ({visible(encoding, 40)}), none was asked for")
        return reply.body

    def _refused(self, reply: Reply) -> AskFailed:
        status, text = reply.status, reply.body.decode("utf-8", "replace").strip()
        retry = status == 429 or 500 <= status <= 599
        after = _seconds(reply.headers.get("retry-after")) if retry else None
        seen = self.secrets.hide(text)[:SEEN]
        return AskFailed(
            f"http-{status}", f"HTTP {status}", shown=self._shown(text), seen=seen, retry=retry, retry_after=after
        )

    def _redirected(self, reply: Reply, url: Url) -> Url:
        """The next URL: same host, still a POST, and only where redirects are allowed."""
        place = reply.headers.get("location", "")
        shown = f"HTTP {reply.status} to {self._shown(place) or 'nowhere'}"
        if not self.options.allow_redirects:
            raise AskFailed("redirect", f"{shown}; redirects are off")
        try:
            following = url.joined(place)
        except (UsageError, ValueError):
            raise AskFailed("redirect", f"{shown}; not a URL that is asked") from None
        if reply.status not in (307, 308) or not following.same_origin(url):
            raise AskFailed("redirect", f"{shown}; only 307 and 308 on the same host are followed")
        return following

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


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        raise AskFailed("bad-question", "the question holds half of a surrogate pair and can't be sent") from None


def _seconds(after: str | None) -> float | None:
    """Retry-After as seconds from now: a number, or an HTTP date."""
    if after is None:
        return None
    if after.isascii() and after.isdigit():
        return float(after[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
