"""Serve: the pages over HTTP, the bytes that `site` writes; besides there are uploads, live runs, health, metrics.

Bound to this machine it needs no token. Elsewhere every page needs one, as a bearer token or as the password that a
browser asks for. Pages are only read: no request but an upload changes anything.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import json
import signal
import socket
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .._version import __version__
from ..config import Config
from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..net.listening import HostCheck, address, is_loopback, listen
from ..text import visible
from .data import bring_up_to_date, reading
from .live import Judge, Live
from .render import ASSETS, asset
from .routes import find
from .uploads import LARGEST, Rejection, Uploads

PORT, PORTS = 8765, 20  # the port to begin with, and how many are tried
KEPT = 300  # pages that are kept ready
PER_MINUTE = 120  # uploads with one token
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".xml": "application/atom+xml; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)  # seconds


class Sent(NamedTuple):
    """A file that can be sent."""

    data: bytes
    kind: str
    sign: str  # its ETag


class Shelf:
    """Pages as they are now; those of a history that changed meanwhile are made again."""

    def __init__(self, url: str, redact: bool) -> None:
        self._url, self._redact = url, redact
        self._kept: OrderedDict[str, tuple[object, Sent | None]] = OrderedDict()
        self._lock = threading.Lock()

    def file(self, path: str) -> Sent | None:
        """What is at a path; None where there is nothing."""
        if path in ASSETS:
            return _sent(path, asset(path))
        with reading(self._url, self._redact) as source:
            with self._lock:
                stamp, found = self._kept.get(path, (None, None))
            if stamp == source.stamp:
                return found
            name = path.removesuffix(".json") + ".html" if path.endswith(".json") else path
            page = find(source, name)
            made = {file: _sent(file, data) for file, data in page.files.items()} if page else {}
            with self._lock:
                for file in {*made, path}:
                    self._kept[file] = (source.stamp, made.get(file))
                    self._kept.move_to_end(file)
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            return made.get(path)

    def runs(self) -> int:
        with reading(self._url) as source:
            return source.stamp[0]


def _sent(path: str, data: bytes) -> Sent:
    kind = _TYPES["." + path.rpartition(".")[2]]
    return Sent(data, kind, f'"{hashlib.sha256(data).hexdigest()[:20]}"')


class Figures:
    """What is counted for /metrics."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._within: Counter[float] = Counter()
        self._seconds, self._count = 0.0, 0

    def add(self, kind: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[kind, status] += 1
            self._seconds += seconds
            self._count += 1
            self._within.update(edge for edge in _BUCKETS if seconds <= edge)

    def text(self, runs: int) -> str:
        with self._lock:
            lines = ["# TYPE shipworthy_requests counter"]
            for (kind, status), count in sorted(self._requests.items()):
                lines.append(f'shipworthy_requests_total{{kind="{kind}",status="{status}"}} {count}')
            lines.append("# TYPE shipworthy_request_seconds histogram")
            lines += [f'shipworthy_request_seconds_bucket{{le="{edge:g}"}} {self._within[edge]}' for edge in _BUCKETS]
            lines.append(f'shipworthy_request_seconds_bucket{{le="+Inf"}} {self._count}')
            lines += [
                f"shipworthy_request_seconds_sum {self._seconds:.6f}",
                f"shipworthy_request_seconds_count {self._count}",
            ]
            lines += ["# TYPE shipworthy_runs gauge", f"shipworthy_runs {runs}", "# EOF"]
        return "\n".join(lines) + "\n"


class Watch:
    """Every answer gets the headers, is counted, and is told to the log; no header, query or token is."""

    def __init__(self, app: ASGIApp, figures: Figures, log: Callable[[str], object]) -> None:
        self._app, self._figures, self._log = app, figures, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, status, size = time.perf_counter(), 500, 0

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                more = [(name.encode(), text.encode()) for name, text in HEADERS.items() if name.encode() not in given]
                message = {**message, "headers": [*message["headers"], *more]}
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - began
            kind = "upload" if scope["path"] == "/api/runs" else "page"
            self._figures.add(kind, status, seconds)
            line = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "client": (scope.get("client") or ("",))[0],
                "method": visible(scope["method"], 10),
                "path": visible(scope["path"], 200),
                "status": status,
                "ms": round(seconds * 1000, 1),
                "bytes": size,
            }
            self._log(json.dumps(line))


def create_app(
    url: str,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    names: Iterable[str] = (),
    config: Config | None = None,
    judge: Judge | None = None,
    redact: bool = False,
    per_minute: int = PER_MINUTE,
    largest: int = LARGEST,
    log: Callable[[str], object] = lambda line: None,
) -> Starlette:
    """The application. With a `token` every page needs it; `names` are host names of a proxy before it.

    `judge` is what judges the answers of a check that is under way: `run_suite`.
    """
    shelf, figures, live = Shelf(url, redact), Figures(), Live(config, judge, redact)
    uploads = Uploads(url, per_minute=per_minute, largest=largest)

    async def show(request: Request) -> Response:
        if not _may_read(request, token):
            raise Rejection(401, "unauthorized", "Send the token as a bearer token, or as the password.")
        path = request.path_params["path"]
        path = f"{path}index.html" if not path or path.endswith("/") else path
        if path in ("live/index.html", "live/index.json"):
            made = await run_in_threadpool(live.page)
            found: Sent | None = _sent(path, made.files[path])
        elif path == "metrics":
            text = figures.text(await run_in_threadpool(shelf.runs))
            return Response(text, media_type="application/openmetrics-text; version=1.0.0; charset=utf-8")
        else:
            suffix = path[path.rfind(".") :] if "." in path else ""
            known = suffix in _TYPES and len(path) < 1000 and "//" not in path
            found = await run_in_threadpool(shelf.file, path) if known else None
        if found is None:
            raise Rejection(404, "not-found", "There is no such page.")
        if request.headers.get("if-none-match") == found.sign:
            return Response(status_code=304, headers={"etag": found.sign})
        return Response(found.data, media_type=found.kind, headers={"etag": found.sign})

    async def health(request: Request) -> Response:
        await run_in_threadpool(shelf.runs)
        return JSONResponse({"ok": True, "version": __version__})

    async def add(request: Request) -> Response:
        status, answer = await uploads(request)
        return JSONResponse(answer, status_code=status)

    return Starlette(
        routes=[
            Route("/health", health, methods=["GET"]),
            Route("/api/runs", add, methods=["POST"]),
            Route("/{path:path}", show, methods=["GET"]),
        ],
        exception_handlers={Rejection: _rejected, ShipworthyError: _failed, 404: _http_error, 405: _http_error},
        middleware=[
            Middleware(Watch, figures=figures, log=log),
            Middleware(HostCheck, host=host, also=tuple(names)),
        ],
    )


def _may_read(request: Request, token: str | None) -> bool:
    """Whether the token is there, as `Bearer TOKEN` or as the password that a browser sends."""
    if not token:
        return True
    kind, _, sent = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        try:
            sent = base64.b64decode(sent, validate=True).decode("utf-8", "replace").partition(":")[2]
        except (binascii.Error, ValueError):
            return False
    elif kind.lower() != "bearer":
        return False
    return hmac.compare_digest(sent.strip().encode(), token.encode())


async def _rejected(request: Request, error: Exception) -> Response:
    assert isinstance(error, Rejection)
    headers = {"retry-after": str(error.retry)} if error.retry else {}
    if error.status == 401 and request.method != "POST":
        headers["www-authenticate"] = 'Basic realm="shipworthy", charset="UTF-8"'
    if error.status == 413:
        headers["connection"] = "close"  # what is still to come is not read
    return _problem(error.status, error.code, error.message, headers)


async def _failed(request: Request, error: Exception) -> Response:
    """A history that can't be used now; where it is, is nobody's business."""
    assert isinstance(error, ShipworthyError)
    return _problem(503, error.code, "The history can't be used at the moment.", {"retry-after": "5"})


async def _http_error(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    message = "Pages are only read: use GET." if status == 405 else "There is no such page."
    return _problem(
        status, "method-not-allowed" if status == 405 else "not-found", message, getattr(error, "headers", None)
    )


def _problem(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status, headers=headers)


def serve(
    url: str,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    said: Callable[[str], object] = lambda text: None,
    log: Callable[[str], object] = lambda line: None,
    **more: object,
) -> None:
    """Serve until interrupted. Without a port the first free one from 8765 on; `said` hears the address."""
    if not token and not is_loopback(host):
        raise UsageError(
            f"{visible(host, 100)} can be reached from other machines and no token was given",
            where="--host",
            hint="Give --token, or SHIPWORTHY_TOKEN; or bind 127.0.0.1.",
            code="serve-token",
        )
    bring_up_to_date(url)
    listening = listen(host, port, "serve-port") if port is not None else _free(host)
    app = create_app(url, host=host, token=token, log=log, **more)  # type: ignore[arg-type]
    said(address(host, listening.getsockname()[1]))
    settings = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
        limit_concurrency=500,
        timeout_keep_alive=10,
    )
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does, with what was begun done
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(settings).run(sockets=[listening])


def _free(host: str) -> socket.socket:
    for port in range(PORT, PORT + PORTS - 1):
        with contextlib.suppress(EnvironmentFailure):
            return listen(host, port, "serve-port")
    return listen(host, PORT + PORTS - 1, "serve-port")
