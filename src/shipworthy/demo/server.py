"""The demo over HTTP: POST /qa, POST /retrieve, GET /healthz, GET /openapi.json; every answer is JSON."""

from __future__ import annotations

import contextlib
import hmac
import json
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

from ..errors import UsageError
from ..net.listening import HostCheck, address, is_loopback, listen
from .pipeline import KNOBS, answer, checked, retrieve
from .retrieval import index

MAX_BODY = 64 * 1024
MAX_QUESTION = 4000
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


def serve(
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
    faults: Collection[str] = (),
    said: Callable[[str], object] = lambda text: None,
) -> None:
    """Serve until interrupted; anything but a loopback address needs a token. `said` hears where, once it listens."""
    if not token and not is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines and no token was given",
            hint="Give a token, or bind 127.0.0.1.",
            code="demo-token-required",
        )
    app = create_app(token, faults, host)
    index("live")  # built before the first request, so that it is not counted as latency
    listening = listen(host, port, "demo-port")
    said(f"{address(host, listening.getsockname()[1])}/qa takes POST requests; Ctrl-C ends it")
    with contextlib.suppress(KeyboardInterrupt):  # how one ends a server
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listening])


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
