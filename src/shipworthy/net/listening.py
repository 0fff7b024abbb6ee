"""Listening: where a server of ours may be reached, and who may ask it by which name."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import EnvironmentFailure

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::[0-9]{1,5})?")


class HostCheck:
    """Serves only requests that name this server as their host.

    A web page can let its own name point at this address (DNS rebinding) and then read our answers in the visitor's
    browser; the Host header still has the page's name.
    """

    def __init__(self, app: ASGIApp, host: str, also: Iterable[str] = ()) -> None:
        """`also` are names under which a proxy passes requests on."""
        self._app, self._bound = app, plain_host(host)
        self._also = {plain_host(name) for name in also}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_ours(scope):
            message = "This server answers only to its own address. Ask it at the address that it listens on."
            body = {"error": {"code": "wrong-host", "field": "host", "message": message}}
            from starlette.responses import JSONResponse

            await JSONResponse(body, status_code=421)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        match = _HOST.fullmatch(named[0]) if len(named) == 1 else None
        if match is None:
            return False
        host = plain_host(match[1])
        # Bound to every address, it can't know its own ones; but no page can make a number its own name.
        anywhere = self._bound in ("0.0.0.0", "::") and is_address(host)
        return host == self._bound or host in self._also or is_loopback(host) or anywhere


_ANOTHER = "Give another --port or --host, or end what listens there."


def listen(host: str, port: int, code: str, hint: str = _ANOTHER) -> socket.socket:
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
                where=address(host, port),
                code=code,
                hint=hint,
            ) from None
        undo.pop_all()
        return listening


def address(host: str, port: int) -> str:
    plain = host.strip("[]")
    return f"http://[{plain}]:{port}" if ":" in plain else f"http://{plain}:{port}"


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    return is_address(host) and ipaddress.ip_address(host.strip("[]")).is_loopback


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def plain_host(host: str) -> str:
    return host.strip("[]").lower().removesuffix(".")
