"""The review page over HTTP, on the loopback only, at an address that has a token in it."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import threading
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import ShipworthyError
from ..net.listening import address, listen
from .review import LABELS, Refused, Review

Body = dict[str, Any]
MAX_BODY = 1 << 20
_ONE = threading.Lock()  # a review is one person's, and no second click overtakes the first
HOST = "127.0.0.1"
_KINDS = {"review.css": "text/css", "review.js": "text/javascript"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def create_app(review: Review, token: str) -> Starlette:
    """The page and what it asks for, all below `/TOKEN/`."""

    async def page(request: Request) -> Response:
        return Response(_asset("review.html"), media_type="text/html; charset=utf-8")

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        return Response(_asset(name), media_type=_KINDS[name]) if name in _KINDS else Response(status_code=404)

    async def following(request: Request) -> Response:
        return await _answered(review.next)

    def decide(body: Body) -> Body:
        decision, qid, question = (body.get(name) for name in ("decision", "qid", "question"))
        if not isinstance(decision, str) or decision not in LABELS or not isinstance(qid, str):
            raise _Unknown("unknown decision")
        wording = question if isinstance(question, str) else ""
        review.decide(qid, decision, question=wording, selection=_selection(body.get("selection")))
        return review.next() | {"saved": qid, "decision": LABELS[decision]}

    def undo(body: Body) -> Body:
        if qid := review.undo():
            return review.view(qid) | {"progress": review.progress(), "message": review.message, "undone": qid}
        return review.next() | {"undone": ""}

    def answer(body: Body) -> Body:
        if not isinstance(qid := body.get("qid"), str) or qid not in review.items:
            raise _Unknown("unknown candidate")
        return review.show_answer(qid)

    def lint(body: Body) -> Body:
        qid, question, expected = (str(body.get(name) or "")[:4000] for name in ("qid", "question", "expected"))
        return {"remarks": review.lint(qid, question, expected, body.get("answerable") is not False)}

    def search(body: Body) -> Body:
        return {"texts": msgspec.to_builtins(review.search(str(body.get("words") or "")[:1000]))}

    routes = [Route(f"/{token}/", page), Route(f"/{token}/next", following)]
    for work in (decide, undo, answer, lint, search):
        routes.append(Route(f"/{token}/{work.__name__}", _endpoint(work), methods=["POST"]))
    app = Starlette(routes=[*routes, Route(f"/{token}/{{name}}", asset)])
    app.add_middleware(Guard, token=token)
    return app


class Guard:
    """Only requests to this server's own name and with its token get further; every response has the headers."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        # A page elsewhere can let its own name point here (DNS rebinding); the Host header still has that name.
        ours = len(hosts) == 1 and hosts[0].rpartition(b":")[0] in (b"127.0.0.1", b"localhost")
        given = scope["path"].split("/")[1].encode("utf-8", "replace")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *named]}
            await send(message)

        if not ours or not hmac.compare_digest(given, self._token):
            await Response("Not found. Open the address that the terminal shows.", 404)(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)


def _asset(name: str) -> bytes:
    return (files(__package__) / "page" / name).read_bytes()


async def _body(request: Request) -> Body:
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > MAX_BODY:
            return {}
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _selection(value: object) -> dict[str, Any] | None:
    """A selection as the page sends it, each part of its kind; anything else is none."""
    if not isinstance(value, dict):
        return None
    kinds = {"id": str, "doc": str, "text": str, "offset": int, "start": int, "end": int}
    given = {name: value.get(name, kind()) for name, kind in kinds.items()}
    return given if all(type(given[name]) is kind for name, kind in kinds.items()) else None


class _Unknown(Exception):
    """What no page of ours sends."""


def _endpoint(work: Callable[[Body], Body]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        body = await _body(request)
        return await _answered(lambda: work(body))

    return endpoint


async def _answered(work: Callable[[], Body]) -> Response:
    """In a thread, one after the other; what can't be decided or saved is said and nothing is lost."""

    def alone() -> Body:
        with _ONE:
            return work()

    try:
        return JSONResponse(await run_in_threadpool(alone))
    except _Unknown as unknown:
        return JSONResponse({"refused": str(unknown)}, status_code=400)
    except Refused as refusal:
        return JSONResponse({"refused": str(refusal)}, status_code=409)
    except (OSError, ShipworthyError) as error:
        return JSONResponse({"refused": f"Not saved: {error}"}, status_code=500)


def serve(review: Review, *, port: int = 0, listening: Callable[[str], object] = print) -> None:
    """Serve the page until interrupted; `listening` hears the address."""
    token = secrets.token_urlsafe(18)
    with listen(HOST, port, "review-port", "Give another --port.") as socket:
        listening(f"{address(HOST, socket.getsockname()[1])}/{token}/")
        config = uvicorn.Config(create_app(review, token), log_level="warning", access_log=False)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[socket])
