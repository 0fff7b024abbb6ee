"""Program: a started process that is sent lines of JSON and answers on standard output, once or line by line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any, Self

from ..failures import SEEN, AskFailed

_STDERR_KEPT = 4096
_LAST_WORDS = 2.0  # seconds for a killed program to be gone
_PIPES_HELD = 0.5  # seconds for the pipes to close after the program has ended


class Program(asyncio.SubprocessProtocol):
    """A program in a session of its own: Ctrl-C is ours to handle, and all that it starts can be ended with it."""

    def __init__(self, limit: int) -> None:
        self.out, self.err, self._limit = bytearray(), bytearray(), limit
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._exited, self._pipes = False, {1, 2}
        self._news = asyncio.Event()

    @classmethod
    async def started(cls, argv: Sequence[str], limit: int, **how: Any) -> Self:
        """It may write `limit` bytes. OSError where it can't be started."""
        loop = asyncio.get_running_loop()
        _, program = await loop.subprocess_exec(lambda: cls(limit), *argv, start_new_session=True, **how)
        return program

    def send(self, request: bytes, last: bool = False) -> None:
        """Write a request to standard input, which the program need not read; with `last` there is no more."""
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        stdin.write(request)
        if last:
            stdin.close()

    async def whole(self) -> bytes:
        """All that it writes until it has ended."""
        await self._until(self._over.done, "the output")
        return bytes(self.out)

    async def line(self) -> bytes:
        """The next line; EOFError where there is none any more."""
        await self._until(lambda: b"\n" in self.out or not self.speaks, "the result")
        line, end, rest = self.out.partition(b"\n")
        if not end:
            raise EOFError
        self.out = rest
        return bytes(line)

    @property
    def speaks(self) -> bool:
        """Whether there may come more."""
        return 1 in self._pipes and not self._over.done()

    @property
    def exit_code(self) -> int | None:
        return self._transport.get_returncode()

    def kill(self) -> None:
        """End it, with all that it started; on Windows it alone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)
            else:
                self._transport.kill()
        self._transport.close()

    async def gone(self, seconds: float = _LAST_WORDS) -> None:
        """Wait until it has ended and both pipes are closed, so long."""
        await asyncio.wait([self._over], timeout=seconds)

    async def dismiss(self) -> None:
        """End what is left of it: all that it started, if it did not end by itself."""
        if self._pipes or not self._exited:
            self.kill()
        self._transport.close()
        await self.gone()

    async def _until(self, done: Callable[[], bool], what: str) -> None:
        while len(self.out) <= self._limit:
            if done():
                return
            self._news.clear()
            await self._news.wait()
        seen = self.out[:SEEN].decode("utf-8", "replace")
        raise AskFailed("too-large", f"{what} is larger than {self._limit:,} bytes", seen=seen)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.err += data
            del self.err[:-_STDERR_KEPT]
        elif len(self.out) <= self._limit:  # the rest is not worth keeping
            self.out += data
            self._news.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._pipes.discard(fd)
        self._look()

    def process_exited(self) -> None:
        self._exited = True
        self._look()
        if self._pipes:  # whoever still holds them a while later is not the program
            asyncio.get_running_loop().call_later(_PIPES_HELD, self._look, True)

    def _look(self, late: bool = False) -> None:
        if (late or (self._exited and not self._pipes)) and not self._over.done():
            self._over.set_result(None)
        self._news.set()
