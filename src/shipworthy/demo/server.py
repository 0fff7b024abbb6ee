"""The demo over HTTP: POST /qa, POST /retrieve, GET /healthz, GET /openapi.json; every answer is JSON."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import json
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import EnvironmentFailure, UsageError
from .faults import checked
from .pipeline import KNOBS, answer, retrieve
from .retrieval import index

MAX_BODY = 64 * 1024
MAX_QUESTION = 4000
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::[0-9]{1,5})?")
_FIELD_OF = {
    "demo-unknown-fault": "faults",
    "demo-unknown-knob": "knobs",
    "demo-bad-knob": "knobs",
    "demo-unknown-index": "index",
    "demo-bad-k": "k",
}
_NAMES = {int: "a whole number", str: "a string", dict: "an object", list: "a list of strings"}
Endpoint = Callable[[Request], Awaitable[Response]]


class Rejected(Exception):
    """A request that can't be served: the status, the field at fault and what is wrong with it."""

    def __init__(self, status: int, code: str, field: str, message: str) -> None:
        super().__init__(message)
        self.status, self.body = status, {"error": {"code": code, "field": field, "message": message}}


def create_app(token: str | None = None, faults: Collection[str] = (), host: str = "127.0.0.1") -> Starlette:
    """The application; `faults` are on for every request, a request may add its own. `host` is where it is bound."""
    standing = sorted(checked(faults))

    async def qa(request: Request) -> Response:
        body = await _body(request)
        fields = {"q": str, "qid": str, "seed": int, "jitter": str, "knobs": dict, "faults": list}
        if misplaced := next((name for name in KNOBS if name in body), None):
            raise Rejected(
                422, "demo-bad-knob", misplaced, f'{misplaced} is a knob: write "knobs": {{"{misplaced}": …}}.'
            )
        given = _checked(body, fields)
        switched_on = {*standing, *given.pop("faults", [])}
        return await _served(partial(answer, given.pop("q"), faults=switched_on, **given))

    async def look_up(request: Request) -> Response:
        body = await _body(request)
        given = _checked(body, {"q": str, "qid": str, "index": str, "k": int, "seed": int, "knobs": dict})
        if given.pop("knobs", None):
            raise Rejected(
                422, "demo-unknown-knob", "knobs", "/retrieve has no knobs: write index, k and seed beside q."
            )
        qid = given.pop("qid", "")
        who = {"qid": qid} if qid else {}
        return await _served(partial(retrieve, given.pop("q"), **given), who)

    async def healthz(request: Request) -> Response:
        return JSONResponse({"ok": True, "index_hash": index("live").hash, "faults": standing})

    async def openapi(request: Request) -> Response:
        return Response((files(__package__) / "openapi.json").read_bytes(), media_type="application/json")

    routes = [
        Route("/qa", _guarded(qa, token), methods=["POST"]),
        Route("/retrieve", _guarded(look_up, token), methods=["POST"]),
        Route("/healthz", healthz, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]
    return Starlette(
        routes=routes,
        exception_handlers={HTTPException: _not_served, Rejected: _rejected},
        middleware=[Middleware(HostCheck, host=host)],
    )


class HostCheck:
    """Serves only requests that name this server as their host.

    A web page can let its own name point at this address (DNS rebinding) and then read our answers in the visitor's
    browser; the Host header still has the page's name.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app, self._bound = app, _plain_host(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_ours(scope):
            message = "This server answers only to its own address. Ask it at the address that it listens on."
            body = {"error": {"code": "wrong-host", "field": "host", "message": message}}
            await JSONResponse(body, status_code=421)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        match = _HOST.fullmatch(named[0]) if len(named) == 1 else None
        if match is None:
            return False
        host = _plain_host(match[1])
        # Bound to every address, it can't know its own ones; but no page can make a number its own name.
        anywhere = self._bound in ("0.0.0.0", "::") and _is_address(host)
        return host == self._bound or _is_loopback(host) or anywhere


def serve(
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
    faults: Collection[str] = (),
    said: Callable[[str], object] = lambda text: None,
) -> None:
    """Serve until interrupted; anything but a loopback address needs a token. `said` hears where, once it listens."""
    if not token and not _is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines and no token was given",
            hint="Give a token, or bind 127.0.0.1.",
            code="demo-token-required",
        )
    app = create_app(token, faults, host)
    index("live")  # built before the first request, so that it is not counted as latency
    listening = _bound(host, port)
    said(f"{_address(host, listening.getsockname()[1])}/qa takes POST requests; Ctrl-C ends it")
    with contextlib.suppress(KeyboardInterrupt):  # how one ends a server
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    """A socket at that address, so that a port in use is told before anything is promised.

    It names TCP as its protocol: asyncio switches Nagle's delay off only then, and 40 ms an answer is much here.
    """
    with contextlib.ExitStack() as undo:
        try:
            infos = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            family, kind, protocol, _, place = infos[0]
            listening = undo.enter_context(socket.socket(family, kind, protocol))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen()  # from now on a request waits in the queue rather than being refused
        except OSError as error:
            raise EnvironmentFailure(
                f"can't listen: {error.strerror or error}",
                where=_address(host, port),
                code="demo-port",
                hint="Give another --port or --host, or end what listens there.",
            ) from None
        undo.pop_all()
        return listening


def _address(host: str, port: int) -> str:
    plain = host.strip("[]")
    return f"http://[{plain}]:{port}" if ":" in plain else f"http://{plain}:{port}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host.strip("[]")).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _plain_host(host: str) -> str:
    return host.strip("[]").lower().removesuffix(".")


def _guarded(endpoint: Endpoint, token: str | None) -> Endpoint:
    """The endpoint behind the token, if there is one."""
    if not token:
        return endpoint
    wanted = f"Bearer {token}".encode()

    async def behind_token(request: Request) -> Response:
        sent = request.headers.get("authorization", "").encode("latin-1", "replace")
        if not hmac.compare_digest(sent, wanted):
            raise Rejected(401, "unauthorized", "authorization", "Send the header Authorization: Bearer TOKEN.")
        return await endpoint(request)

    return behind_token


async def _body(request: Request) -> dict[str, object]:
    """The body as a JSON object, read no further than the limit."""
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_BODY:
            raise Rejected(413, "body-too-large", "body", f"The body is larger than {MAX_BODY} bytes.")
    try:
        body = json.loads(raw, parse_float=_number)
    except (ValueError, RecursionError):
        raise Rejected(400, "body-not-json", "body", "The body is not JSON.") from None
    if not isinstance(body, dict):
        raise Rejected(422, "field-invalid", "body", "The body must be a JSON object.")
    return body


def _number(written: str) -> int | float:
    """2.0 is a whole number in JSON, as it is in JSON Schema."""
    value = float(written)
    return int(value) if value.is_integer() else value


def _checked(body: Mapping[str, object], kinds: Mapping[str, type]) -> dict[str, Any]:
    """The fields we know, each of its kind; fields that we don't know are ignored."""
    if "q" not in body:
        raise Rejected(422, "field-missing", "q", "q is missing: the question as a string.")
    for name, kind in kinds.items():
        if name in body:
            problem = _problem(name, body[name], kind)
            if problem:
                raise Rejected(422, "field-invalid", name, f"{name} {problem}.")
    return {name: body[name] for name in kinds if name in body}


def _problem(name: str, value: object, kind: type) -> str:
    """What is wrong with a value, or nothing."""
    if type(value) is not kind or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
        return f"must be {_NAMES[kind]}"
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        return "must fit in 32 bits"
    if isinstance(value, list) and len(value) > 20:
        return "has more than 20 entries"
    limit = MAX_QUESTION if name == "q" else 200
    if isinstance(value, str) and len(value) > limit:
        return f"is longer than {limit} characters"
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "holds half of a surrogate pair"
    return ""


async def _served(work: Callable[[], dict[str, object]], extra: Mapping[str, object] | None = None) -> Response:
    """Run in a thread, so that a slow answer does not hold up the others."""
    try:
        return JSONResponse({**(extra or {}), **await run_in_threadpool(work)})
    except UsageError as error:
        raise Rejected(422, error.code, _FIELD_OF.get(error.code, "body"), f"{error.what}. {error.hint}") from None


async def _rejected(request: Request, error: Exception) -> Response:
    assert isinstance(error, Rejected)
    return JSONResponse(error.body, status_code=error.status)


async def _not_served(request: Request, error: Exception) -> Response:
    """404 and 405 in the same shape as our own errors."""
    assert isinstance(error, HTTPException)
    what = {404: "No such path.", 405: "This path does not take that method."}.get(error.status_code, error.detail)
    code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "http-error")
    body = {"error": {"code": code, "field": "path" if error.status_code == 404 else "method", "message": what}}
    return JSONResponse(body, status_code=error.status_code, headers=error.headers)
