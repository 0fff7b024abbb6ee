"""The review page over HTTP, on the loopback only, at an address that has a token in it."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import threading
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import EnvironmentFailure, ShipworthyError
from .review import LABELS, Refused, Review

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

    async def decide(request: Request) -> Response:
        body = await _body(request)
        decision, qid = body.get("decision"), body.get("qid")
        if decision not in LABELS or not isinstance(qid, str):
            return JSONResponse({"refused": "unknown decision"}, status_code=400)
        question, selection = body.get("question"), body.get("selection")

        def work() -> dict[str, Any]:
            review.decide(
                qid,
                decision,
                question=question if isinstance(question, str) else "",
                selection=_selection(selection),
            )
            return review.next() | {"saved": qid, "decision": LABELS[decision]}

        return await _answered(work)

    async def undo(request: Request) -> Response:
        def work() -> dict[str, Any]:
            if qid := review.undo():
                shown = review.view(qid) | {"progress": review.progress(), "message": review.message}
                return shown | {"undone": qid}
            return review.next() | {"undone": ""}

        return await _answered(work)

    async def answer(request: Request) -> Response:
        body = await _body(request)
        qid = body.get("qid")
        if qid not in review.items:
            return JSONResponse({"refused": "unknown candidate"}, status_code=400)
        return await _answered(lambda: review.show_answer(qid))

    async def lint(request: Request) -> Response:
        body = await _body(request)
        qid, question, expected = (str(body.get(name) or "")[:4000] for name in ("qid", "question", "expected"))
        answerable = body.get("answerable") is not False
        return await _answered(lambda: {"remarks": review.lint(qid, question, expected, answerable)})

    async def search(request: Request) -> Response:
        import msgspec

        words = str((await _body(request)).get("words") or "")[:1000]
        return await _answered(lambda: {"texts": msgspec.to_builtins(review.search(words))})

    routes = [
        Route(f"/{token}/", page),
        Route(f"/{token}/next", following),
        Route(f"/{token}/decide", decide, methods=["POST"]),
        Route(f"/{token}/undo", undo, methods=["POST"]),
        Route(f"/{token}/answer", answer, methods=["POST"]),
        Route(f"/{token}/lint", lint, methods=["POST"]),
        Route(f"/{token}/search", search, methods=["POST"]),
        Route(f"/{token}/{{name}}", asset),
    ]
    app = Starlette(routes=routes)
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


async def _body(request: Request) -> dict[str, Any]:
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


async def _answered(work: Callable[[], dict[str, Any]]) -> Response:
    """In a thread, one after the other; what can't be decided or saved is said and nothing is lost."""

    def alone() -> dict[str, Any]:
        with _ONE:
            return work()

    try:
        return JSONResponse(await run_in_threadpool(alone))
    except Refused as refusal:
        return JSONResponse({"refused": str(refusal)}, status_code=409)
    except (OSError, ShipworthyError) as error:
        return JSONResponse({"refused": f"Not saved: {error}"}, status_code=500)


def serve(review: Review, *, port: int = 0, listening: Callable[[str], object] = print) -> None:
    """Serve the page until interrupted; `listening` hears the address."""
    token = secrets.token_urlsafe(18)
    with contextlib.ExitStack() as stack:
        socket_ = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP))
        socket_.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            socket_.bind(("127.0.0.1", port))
            socket_.listen()
        except OSError as error:
            raise EnvironmentFailure(
                f"can't listen: {error.strerror or error}",
                where=f"http://{HOST}:{port}",
                hint="Give another --port.",
                code="review-port",
            ) from None
        listening(f"http://{HOST}:{socket_.getsockname()[1]}/{token}/")
        config = uvicorn.Config(create_app(review, token), log_level="warning", access_log=False)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[socket_])
