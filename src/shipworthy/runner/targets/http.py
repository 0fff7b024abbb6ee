"""HTTP: send a question, read one JSON object or a stream of events back, within a size and to the last byte."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec

from ...errors import UsageError
from ...net.address import Url, vetted_url
from ...net.client import Client, Reply, RequestFailed, Wiring
from ...reading.proposal import fields_of, flags, propose
from ...text import visible
from ..failures import SEEN, AskFailed
from ..plan import Ask
from ..redact import headers_from
from ..shape import checked, mapped, only_retrieves, parse_mapping, parsed, reads
from ..template import asks_question, check, fill, parse_body
from .base import TargetOptions, Timed, request_of

FORM = "application/x-www-form-urlencoded"
SNIPPET = 200  # characters of a failed response that are kept
MAX_HOPS = 3
_SUCCESS = range(200, 300)
_BODILESS = ("GET", "HEAD")
_MAY_BE_ABSENT = {"error", "refused", "cost_usd", "e2e_ms", "confidence", "claim"}
_OF_A_FAILURE = 4096  # bytes of a failed response that are read


class HttpClient:
    """Sends to one URL; anything but a success is an AskFailed that says what came. `where` names the flag."""

    def __init__(self, template: str, options: TargetOptions, where: str = "--target") -> None:
        self.options, self.secrets = options, options.secrets
        headers = {
            "Content-Type": "application/json",
            "Accept": "*/*",  # an endpoint that streams says so itself
            "Accept-Encoding": "identity",  # a compressed body could be a bomb
            "User-Agent": "shipworthy",
        }
        given = headers_from(options.headers, options.secrets)
        named = {name.lower() for name in given}
        self.url = vetted_url(options.secrets.filled(template, where), where)
        usual = {name: value for name, value in headers.items() if name.lower() not in named}
        wiring = Wiring(options.secrets.filled(options.proxy, "--proxy"), options.trust_env, options.ca_file)
        self._client = Client(self.url, usual | given, wiring)
        self._limits = dict.fromkeys(_SUCCESS, options.max_response_bytes)

    async def post(self, body: object) -> bytes:
        """The bytes that come back for a JSON body."""
        return (await self.send("POST", _encoded(body))).body

    async def send(self, method: str, payload: bytes | None, query: Mapping[str, str] | None = None) -> Reply:
        url = self.url.queried(query) if query else self.url
        for _ in range(MAX_HOPS + 1):
            reply = await self._sent(method, url, payload)
            if reply.status // 100 != 3:
                return self._whole(reply)
            url = self._redirected(reply, url)
        raise AskFailed("redirect", f"more than {MAX_HOPS} redirects")

    async def close(self) -> None:
        await self._client.close()

    async def _sent(self, method: str, url: Url, payload: bytes | None) -> Reply:
        try:
            return await self._client.send(method, url, payload, self._limits, _OF_A_FAILURE)
        except RequestFailed as failed:
            raise AskFailed(failed.kind, self._shown(failed.why), retry=failed.retry) from None

    def _whole(self, reply: Reply) -> Reply:
        if reply.status not in _SUCCESS:
            raise self._refused(reply)
        if not reply.whole:
            seen = self.secrets.hide(reply.body[:SEEN].decode("utf-8", "replace"))
            limit = self.options.max_response_bytes
            raise AskFailed("too-large", f"the response is larger than {limit:,} bytes", seen=seen)
        encoding = reply.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            what = f"the response is compressed ({visible(encoding, 40)}), which was not requested"
            raise AskFailed("bad-encoding", what)
        return reply

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
            raise AskFailed("redirect", f"{shown}; not an allowed URL") from None
        if reply.status not in (307, 308) or not following.same_origin(url):
            raise AskFailed("redirect", f"{shown}; only 307 and 308 on the same host are followed")
        return following

    def _shown(self, text: str) -> str:
        return visible(self.secrets.hide(text), SNIPPET)


class HttpTarget:
    """An endpoint that takes our request or a template's, and gives our response or a mapped one."""

    replays = False
    by_wording = True

    def __init__(self, template: str, options: TargetOptions) -> None:
        self.name = template.partition("?")[0]
        self._mapping = parse_mapping(options.mapping)
        template, query = _split_query(template)
        self._query = query | dict(options.query)
        check(dict(self._query), "--query")
        self._body = None if options.body is None else parse_body(options.body)
        self._is_form = any(name.lower() == "content-type" and FORM in of for name, of in options.headers.items())
        self._method = _method(options.method, self._query, self._body)
        self._check_question()
        self._client = HttpClient(template, options)
        self._matched: set[str] = set()
        self._example: dict[str, object] = {}

    def unmatched(self) -> dict[str, tuple[str, str]]:
        """Mapped fields that no response had, each with what the responses have and the flag that fits them."""
        names = set(self._mapping.sources) - self._matched - _MAY_BE_ABSENT if self._example else set()
        likely = propose(self._example) if names else {}
        return {
            name: (fields_of(self._example), flags({name: likely[name]}) if name in likely else "")
            for name in sorted(names)
        }

    async def ask(self, ask: Ask) -> dict[str, object]:
        return checked(
            self._trace(*await self._answer(ask, partial(reads, self._mapping))), not only_retrieves(self._mapping)
        )

    async def raw(self, ask: Ask) -> dict[str, object]:
        """The response as it came, for those who want to see it before they map it."""
        return (await self._answer(ask, lambda body: True))[0]

    async def close(self) -> None:
        await self._client.close()

    async def _answer(self, ask: Ask, reads: Callable[[dict[str, object]], bool]) -> tuple[dict[str, object], Reply]:
        query = {name: _as_text(fill(value, ask)) for name, value in self._query.items()}
        reply = await self._client.send(self._method, self._payload(ask), query)
        if reply.events is None:
            return parsed(_utf8(reply), reads=reads), reply
        body = reply.events.whole()
        if not reply.events.is_one and not reply.events.lacking:
            return parsed(_utf8(reply), reads=reads), reply  # it says that it is a stream, and is not
        if reply.events.lacking:
            raise AskFailed("cut-off", reply.events.lacking, seen=self._client.secrets.hide(reply.events.text)[:SEEN])
        return body, reply

    def _payload(self, ask: Ask) -> bytes | None:
        if self._body is not None:
            filled = fill(self._body, ask)
            return _as_form(filled) if self._is_form and isinstance(filled, dict) else _encoded(filled)
        return None if self._query or self._method in _BODILESS else _encoded(request_of(ask))

    def _trace(self, body: dict[str, object], reply: Reply) -> Timed:
        if reply.events is not None and not self._mapping and not (body.get("error") or "answer_json" in body):
            body = {**body, "answer_json": {"claim": body["text"]}}
        trace = Timed(mapped(body, self._mapping))
        self._note(body, trace)
        trace.elapsed_ms, trace.ttft_ms = reply.elapsed_ms, reply.first_ms
        return trace

    def _note(self, body: dict[str, object], trace: Mapping[str, Any]) -> None:
        """Which mapped fields came; a mapping that never finds anything is a mistake that the run tells."""
        if not self._mapping.sources.keys() <= self._matched:
            self._example = body
            flat = {**trace, **(trace.get("answer_json") or {})}
            self._matched |= {name for name, value in flat.items() if value not in (None, [], "")}

    def _check_question(self) -> None:
        """A template without the question would ask the same thing every time."""
        own_request = self._body is None and not self._query and self._method not in _BODILESS
        if not own_request and not asks_question(self._body, dict(self._query)):
            raise UsageError(
                "the question is not part of the request",
                where="--body" if self._body is not None else "--query",
                hint="""Write {question} where it belongs: --body '{"question": "{question}"}'.""",
                code="body-question",
            )


def _utf8(reply: Reply) -> bytes:
    """The body as UTF-8, where it says that it is in another charset."""
    named = re.search(r"charset=[\"']?([\w.:-]+)", reply.headers.get("content-type", ""), re.IGNORECASE)
    if named is None or named[1].lower().replace("_", "-") in ("utf-8", "utf8", "us-ascii", "ascii"):
        return reply.body
    try:
        return reply.body.decode(named[1]).encode("utf-8", "surrogatepass")
    except (LookupError, UnicodeError):
        return reply.body


def _split_query(template: str) -> tuple[str, dict[str, str]]:
    """A URL whose query holds placeholders, without it; and the query by name."""
    base, mark, query = template.partition("?")
    if "{" in base.replace("${", ""):
        raise UsageError(
            "the path of a URL takes no placeholder",
            where="--target",
            hint="Put {question} into --body or --query.",
            code="body-placeholder",
        )
    if not mark or "{" not in query.replace("${", ""):
        return template, {}
    return base, dict(parse_qsl(query, keep_blank_values=True))


def _method(given: str, query: Mapping[str, str], body: object) -> str:
    method = given.upper() or ("GET" if query and body is None and asks_question(dict(query)) else "POST")
    if not method.isascii() or not method.isalpha() or len(method) > 20:
        raise UsageError(
            f"{visible(given, 40)!r} is not a method", where="--method", hint="Write GET or POST.", code="http-method"
        )
    return method


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _encoded(body: object) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        raise AskFailed("bad-question", "the question has half of a surrogate pair and can't be sent") from None


def _as_form(body: Mapping[str, object]) -> bytes:
    return urlencode({name: _as_text(value) for name, value in body.items()}, errors="replace").encode()


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
