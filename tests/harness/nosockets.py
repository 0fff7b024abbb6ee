"""Socket-blocked calls: whatever tries to reach another machine, or this one, is stopped and remembered.

    with no_sockets():
        evaluate(...)

Attempts are remembered besides being refused, because code that catches every error would hide them.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from unittest.mock import patch

_METHODS = ("connect", "connect_ex", "sendto", "bind")
_FUNCTIONS = ("create_connection", "getaddrinfo", "gethostbyname")


@contextmanager
def no_sockets() -> Iterator[list[str]]:
    """Fail at the end if anything opened a connection, bound a port or asked for a name."""
    attempts: list[str] = []

    def refuse(*args: Any, **more: Any) -> NoReturn:
        attempts.append(repr(args[1:] or args))
        raise OSError("the test allows no sockets")

    guarded = [patch.object(socket.socket, name, refuse) for name in _METHODS]
    guarded += [patch.object(socket, name, refuse) for name in _FUNCTIONS]
    for guard in guarded:
        guard.start()
    try:
        yield attempts
    finally:
        for guard in guarded:
            guard.stop()
    assert not attempts, f"a socket was used: {attempts[:5]}"
