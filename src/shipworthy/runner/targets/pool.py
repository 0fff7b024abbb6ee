"""Pool: worker processes for a Python function that is named by text; a worker that dies or hangs is replaced."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...errors import EnvironmentFailure, UsageError
from ...text import visible
from ...web.blocking import run_blocking
from ..failures import SEEN, AskFailed
from ..journal import encoded
from ..shape import parsed
from .base import TargetOptions
from .worker import INHERITS, NO_CHANNEL, SIZE

_PROGRAM = str(Path(__file__).with_name("worker.py"))
_WITHIN = "SHIPWORTHY_WORKER"  # set in the environment of a worker
_NOISE_KEPT = 4096  # bytes of what a worker printed last
_LAST_WORDS = 2.0  # seconds for workers to clean up once everything was asked
_EXIT_SEEN = 1.0  # seconds for a process to end after it has hung up
_KINDS = ("python", "wrong-shape", "too-large")
_TOKEN, _TOKEN_SECONDS = 32, 5.0  # bytes of it, and how long they may take
_FRAME = 1000  # bytes that a frame is larger than the result in it


class FunctionUnavailable(Exception):
    """The function can't be had: what the worker says of it."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What every worker of a pool is started with."""

    place: str
    cwd: str
    path: list[str]
    accepts: list[str] | None  # names that are left out where the function has no parameter for them
    drops: bool
    limit: int


class Worker:
    """One process and the socket to it. Used by one call at a time."""

    def __init__(self, job: Job) -> None:
        self._limit, self._count, self.killed = job.limit + _FRAME, 0, False
        self._noise = bytearray()
        self.takes: tuple[str, ...] = ()  # names of the arguments that the function has a parameter for
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as undo:
            # Where nothing is inherited by its number, the worker connects to ours and proves itself by a token.
            self._socket, other = socket.socketpair() if INHERITS else (_listening(), socket.socket())
            self._token = b"" if INHERITS else secrets.token_bytes(_TOKEN)
            undo.callback(self._socket.close)
            theirs.callback(other.close)
            reading, writing = os.pipe()
            undo.callback(os.close, reading)
            theirs.callback(os.close, writing)
            given = other.fileno() if INHERITS else self._socket.getsockname()[1]
            self._process = _started(given, writing, job.cwd, self._token)
            undo.pop_all()
        self._socket.setblocking(False)
        self._drain = threading.Thread(target=_drained, args=(reading, self._noise), daemon=True)
        self._drain.start()

    @classmethod
    async def started(cls, job: Job, seconds: float) -> Worker:
        """A worker that has imported the function. FunctionUnavailable if it can't, AskFailed if it dies or hangs."""
        worker = cls(job)
        try:
            async with asyncio.timeout(seconds):
                await worker._met()
                first = await worker._exchanged(encoded(msgspec.to_builtins(job)))
            if first.get("ready") is not True:
                raise FunctionUnavailable(str(first.get("refused")))
            worker.takes = tuple(map(str, first.get("takes") or ()))
        except BaseException as error:
            worker.kill()
            worker.reap()
            if isinstance(error, TimeoutError):
                raise AskFailed("timeout", f"the import took longer than {seconds:g} s") from None
            raise
        return worker

    async def ask(self, question: str, given: Mapping[str, object]) -> dict[str, object]:
        """The reply to one call. After any exception the worker is of no more use."""
        self._count += 1
        reply = await self._exchanged(encoded({"id": self._count, "question": question, "given": dict(given)}))
        if reply.get("id") != self._count:
            raise AskFailed("crash", "the function's process sent something that is not the result of this call")
        return reply

    @property
    def usable(self) -> bool:
        """Whether nothing came since the last reply: neither its end, nor a result that nobody asked for."""
        if not hasattr(select, "poll"):  # Windows, where select takes any socket
            return not select.select([self._socket], [], [], 0)[0]
        watch = select.poll()
        watch.register(self._socket, select.POLLIN)
        return not watch.poll(0)

    def hang_up(self) -> None:
        """Let it clean up and end."""
        self._socket.close()

    def kill(self) -> None:
        """End it, with all that it started; on Windows it alone."""
        self.killed = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._socket.close()

    def reap(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WORDS)

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def last_words(self, limit: int = SEEN) -> str:
        return self._noise.decode("utf-8", "replace").strip()[-limit:]

    async def _met(self) -> None:
        """Put the connection of our own worker in the place of the socket that it was to connect to."""
        loop, listening = asyncio.get_running_loop(), self._socket
        while self._token:
            self._socket, _ = await loop.sock_accept(listening)
            self._socket.setblocking(False)
            with contextlib.suppress(OSError, EOFError):  # a stranger's connection, silent or not, is let go
                async with asyncio.timeout(_TOKEN_SECONDS):
                    shown = await self._exactly(loop, _TOKEN)
                if secrets.compare_digest(shown, self._token):
                    listening.close()
                    return
            self._socket.close()

    async def _exchanged(self, payload: bytes) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._socket, len(payload).to_bytes(SIZE, "big") + payload)
            return await self._received(loop)
        except (OSError, EOFError):
            raise await self._ended() from None
        except asyncio.CancelledError as cancelled:
            cancelled.add_note(self.last_words())
            raise

    async def _received(self, loop: asyncio.AbstractEventLoop) -> dict[str, object]:
        size = int.from_bytes(await self._exactly(loop, SIZE), "big")
        if size > self._limit:
            raise AskFailed("too-large", f"the result is larger than {self._limit - _FRAME:,} bytes")
        return parsed(await self._exactly(loop, size), "the result")

    async def _exactly(self, loop: asyncio.AbstractEventLoop, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = await loop.sock_recv(self._socket, min(size - len(parts), 1 << 18))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    async def _ended(self) -> AskFailed:
        """Why nothing came: how the process ended, and what it said last."""
        await _until_gone([self], _EXIT_SEEN)
        code = self.exit_code
        self.kill()
        self._drain.join(0.1)
        words = self.last_words()
        return AskFailed("crash", _ending(code), shown=visible(words[-200:]), seen=words)


class Workers:
    """As many workers as calls are under way, started when they are needed."""

    def __init__(
        self, place: str, options: TargetOptions, *, accepts: Iterable[str] | None = None, drops: bool = False
    ) -> None:
        names = None if accepts is None else list(accepts)
        limit = options.max_response_bytes
        path = [folder for folder in sys.path if isinstance(folder, str)]
        self._job = Job(place=place, cwd=os.getcwd(), path=path, accepts=names, drops=drops, limit=limit)
        self._secrets, self._seconds, self._most = (
            options.secrets,
            options.start_seconds,
            options.connections or sys.maxsize,
        )
        self._idle: list[Worker] = []
        self._starting, self._freed = 0, asyncio.Event()
        self._all: set[Worker] = set()
        weakref.finalize(self, _abandoned, self._all)  # where an error keeps close() from being called
        self.takes: tuple[str, ...] = ()
        run_blocking(self._start())  # what can't be imported is told before anything is asked
        if not INHERITS:  # Windows ties a socket to the loop that first used it, and the run will have another
            self._dismiss(self._idle.pop())

    async def ready(self) -> None:
        """Start one more worker if none is free. Done before the clock of a call starts: it is not the function's."""
        for worker in [worker for worker in self._idle if not worker.usable]:
            self._idle.remove(worker)
            self._dismiss(worker)
        if self._idle or not self._room():
            return
        try:
            await self._start()
        except FunctionUnavailable as refusal:
            raise AskFailed("python", self._secrets.hide(visible(str(refusal), 200))) from None
        except OSError as error:
            raise AskFailed("crash", f"no process could be started for the function: {error.strerror}") from None

    async def _start(self) -> None:
        self._starting += 1
        try:
            worker = await Worker.started(self._job, self._seconds)
        finally:
            self._starting -= 1
        self._all.add(worker)
        self.takes = worker.takes
        self._give_back(worker)

    async def ask(self, question: str, given: Mapping[str, object]) -> Any:
        """What the function gave, a dict or a string; whatever else it did is an AskFailed."""
        worker = await self._taken()
        try:
            reply = await worker.ask(question, given)
        except BaseException as error:
            self._dismiss(worker)
            if isinstance(error, AskFailed):
                raise self._hidden(error) from None
            raise
        self._give_back(worker)
        if "failed" in reply:
            # The process may write what it likes: a kind of failure that means more than "failed" is not taken from it.
            kind = reply["failed"] if reply["failed"] in _KINDS else "python"
            raise AskFailed(kind, visible(self._secrets.hide(str(reply.get("why"))), 200))
        if not isinstance(reply.get("value"), (str, dict)):
            raise AskFailed("wrong-shape", "the function gave neither a dict nor a string")
        return reply["value"]

    async def close(self) -> None:
        """Let every worker end, and make those end that don't."""
        for worker in self._all:
            worker.hang_up()
        await _until_gone(self._all, _LAST_WORDS)
        _abandoned(self._all)
        self._idle.clear()

    def _room(self) -> bool:
        self._all.difference_update([worker for worker in self._all if worker.exit_code is not None])
        return sum(not worker.killed for worker in self._all) + self._starting < self._most

    async def _taken(self) -> Worker:
        while True:
            await self.ready()
            if self._idle:
                return self._idle.pop()
            await self._freed.wait()

    def _give_back(self, worker: Worker) -> None:
        self._idle.append(worker)
        self._wake()

    def _dismiss(self, worker: Worker) -> None:
        worker.kill()
        self._wake()

    def _wake(self) -> None:
        """Whoever waits for a worker looks again."""
        self._freed.set()
        self._freed = asyncio.Event()

    def _hidden(self, failed: AskFailed) -> AskFailed:
        hide = self._secrets.hide
        return AskFailed(failed.kind, hide(failed.what), seen=hide(failed.seen))


def workers_for(place: str, options: TargetOptions, **given: Any) -> Workers:
    """The pool of a function; a UsageError where there is no such function to be had."""
    if os.environ.get(_WITHIN):  # else a script that asks a function of its own would start itself for ever
        raise UsageError(
            "a pipeline under test asks a pipeline itself",
            where=f"py:{visible(place)}",
            hint='Put the call of a script that is imported behind if __name__ == "__main__".',
            code="target",
        )
    try:
        return Workers(place, options, **given)
    except (FunctionUnavailable, AskFailed) as refusal:
        text = f"can't be imported: {refusal.what}" if isinstance(refusal, AskFailed) else str(refusal)
        raise UsageError(
            visible(options.secrets.hide(text), 400),
            where=f"py:{visible(place)}",
            hint="Write py:package.module:function.",
            code="target",
        ) from None
    except OSError as error:
        raise EnvironmentFailure(
            f"no process could be started for the function: {error.strerror}",
            where=f"py:{visible(place)}",
            hint="Lower --concurrency, or raise the limit of open files and processes.",
            code="environment",
        ) from None


def _listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def _started(channel: int, noise: int, cwd: str, token: bytes) -> subprocess.Popen[bytes]:
    """The program, in a session of its own: Ctrl-C is ours to handle, and all that it starts can be ended with it."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-u", _PROGRAM, "fd" if INHERITS else "port", str(channel)],
        stdin=subprocess.PIPE if token else subprocess.DEVNULL,
        stdout=noise,  # the judge's own output is a report: a pipeline must not write into it
        stderr=noise,
        pass_fds=[channel] if INHERITS else (),
        start_new_session=True,
        cwd=cwd,
        env={**os.environ, _WITHIN: "1"},
    )
    if process.stdin:
        with process.stdin as stdin, contextlib.suppress(OSError):  # it may have ended already, which shows later
            stdin.write(token)
    return process


def _ending(code: int | None) -> str:
    if code is None or code == NO_CHANNEL:
        return "the function's process closed the connection that its result goes through"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"the function's process was ended by {signal.Signals(-code).name}"
    return f"the function's process ended with exit code {code} before it answered"


async def _until_gone(workers: Iterable[Worker], seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while any(worker.exit_code is None for worker in workers):
                await asyncio.sleep(0.005)


def _abandoned(workers: set[Worker]) -> None:
    """Kill them all, and wait until they are gone: nothing of a pipeline outlives its run."""
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.reap()
    workers.clear()


def _drained(fd: int, kept: bytearray) -> None:
    """Read what a worker prints, so that it never waits for us; the end of it is kept."""
    while chunk := os.read(fd, 65536):
        kept += chunk
        del kept[:-_NOISE_KEPT]
    os.close(fd)
