"""Connections: kept ones are used again only while nothing has come in on them that nobody asked for.

A server that sends more than it was asked for would otherwise shift every later answer by one question.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import aiohttp

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler


class QuietConnector(aiohttp.TCPConnector):
    """A connector that drops a kept connection with bytes on it, read already or still in the socket."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._kept: WeakSet[ResponseHandler] = WeakSet()

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            if protocol is None or protocol not in self._kept:  # a new one: what TLS sends by itself is no answer
                if protocol is not None:
                    self._kept.add(protocol)
                return connection
            if not (protocol.should_close or _has_bytes(protocol)):
                return connection
            connection.close()


def _has_bytes(protocol: ResponseHandler) -> bool:
    socket = protocol.transport.get_extra_info("socket") if protocol.transport is not None else None
    if socket is None or socket.fileno() < 0:
        return False
    if not hasattr(select, "poll"):  # Windows, where select takes any socket
        return bool(select.select([socket.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))
