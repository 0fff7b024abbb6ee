"""Python: a function of the pipeline under test.

Named by text it runs in worker processes, which are replaced when they die or hang. An object is called in threads of
this process, as the demo is: a call that never returns is left behind at its deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...errors import EnvironmentFailure, UsageError
from ...text import visible
from ..failures import SEEN, AskFailed
from ..journal import encoded
from ..plan import Ask
from ..redact import Secrets
from ..shape import checked, mapped, parse_mapping, parsed
from .base import OneByOne, TargetOptions
from .command import Program
from .worker import NO_CHANNEL, text_of
from .worker import encoded as result_of

_OFFERED = ("qid", "seed", "jitter", "knobs")
_WHERE_GIVEN = ("temperature", "history")
_COMMAND = (sys.executable, "-P", "-u", str(Path(__file__).with_name("worker.py")))
_WITHIN = "SHIPWORTHY_WORKER"  # set in the environment of a worker
_EXIT_SEEN = 1.0  # seconds for a process to end after it has hung up
_KINDS = ("python", "wrong-shape", "too-large")
_AROUND = 1000  # bytes that a line is longer than the result in it

Outcome = tuple[Any, BaseException | None]


def _offered(ask: Ask) -> dict[str, object]:
    """What a function may take by name; the rarer things only where the plan has them."""
    given = {name: getattr(ask, name) for name in _OFFERED}
    return given | {name: value for name in _WHERE_GIVEN if (value := getattr(ask, name)) not in (None, [])}


class PythonTarget:
    """`module:function`, called with the question and those of qid, seed, jitter and knobs that it has a name for.

    It gives back a trace's fields, or a string, which is the claim.
    """

    replays = False

    def __init__(self, place: str, options: TargetOptions) -> None:
        self.name, self._mapping = f"py:{place}", parse_mapping(options.mapping)
        self._workers = Workers(place, options, accepts=(*_OFFERED, *_WHERE_GIVEN))

    @property
    def by_wording(self) -> bool:
        return "jitter" not in (self._workers.takes or ())

    async def ready(self) -> None:
        await self._workers.ready()

    async def ask(self, ask: Ask) -> dict[str, object]:
        value = await self._workers.ask(ask.question, _offered(ask))
        return checked(mapped({"answer_json": {"claim": value}} if isinstance(value, str) else value, self._mapping))

    async def close(self) -> None:
        await self._workers.close()


class DemoTarget(OneByOne):
    """The embedded pipeline, in this process: it is part of the package and not under test."""

    by_wording = True

    def __init__(self, faults: str, options: TargetOptions) -> None:
        named = tuple(fault.strip() for fault in faults.split(",") if fault.strip())
        self.name = f"demo:{faults}" if named else "demo"
        self._mapping, self._fixed = parse_mapping(options.mapping), {"faults": named} if named else {}
        # It lives beside the runner, so it is found by name and not imported at the top.
        self._function, self._secrets = importlib.import_module("shipworthy.demo").answer, options.secrets

    async def ask(self, ask: Ask) -> dict[str, object]:
        given = {name: getattr(ask, name) for name in _OFFERED} | self._fixed
        try:
            result = await call(self._function, ask.question, given, self._secrets)
        except AskFailed as failed:
            if isinstance(failed.__cause__, UsageError):  # the demo lacks that fault or knob: no run can go well
                raise failed.__cause__ from None
            raise
        return checked(mapped(parsed(result_of(result), "the result"), self._mapping))


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
    """One process. Used by one call at a time."""

    def __init__(self, program: Program) -> None:
        self.program, self.killed = program, False
        self.takes: tuple[str, ...] = ()  # names of the arguments that the function has a parameter for

    @classmethod
    async def started(cls, job: Job, seconds: float) -> Worker:
        """A worker that has imported the function. FunctionUnavailable if it can't, AskFailed if it dies or hangs."""
        environment = {**os.environ, _WITHIN: "1"}
        worker = cls(await Program.started(_COMMAND, job.limit + _AROUND, cwd=job.cwd, env=environment))
        try:
            async with asyncio.timeout(seconds):
                first = await worker._exchanged(msgspec.to_builtins(job))
            if first.get("ready") is not True:
                raise FunctionUnavailable(str(first.get("refused")))
            worker.takes = tuple(map(str, first.get("takes") or ()))
        except BaseException as error:
            worker.kill()
            await worker.program.gone()
            if isinstance(error, TimeoutError):
                raise AskFailed("timeout", f"the import took longer than {seconds:g} s") from None
            raise
        return worker

    async def ask(self, question: str, given: Mapping[str, object]) -> dict[str, object]:
        """The reply to one call. After any exception the worker is of no more use."""
        name = secrets.token_hex(8)  # no other line can pass for the reply
        reply = await self._exchanged({"id": name, "question": question, "given": dict(given)})
        if reply.get("id") != name:
            raise AskFailed("crash", "the function's process sent something that is not the result of this call")
        return reply

    @property
    def usable(self) -> bool:
        """Whether nothing came since the last reply: neither its end, nor a result that nobody asked for."""
        return self.program.speaks and not self.program.out

    def kill(self) -> None:
        self.killed = True
        self.program.kill()

    async def _exchanged(self, request: dict[str, object]) -> dict[str, Any]:
        try:
            self.program.send(encoded(request))
            return parsed(await self.program.line(), "the result")
        except EOFError:
            raise await self._ended() from None
        except asyncio.CancelledError as cancelled:
            cancelled.add_note(self._last_words())
            raise

    async def _ended(self) -> AskFailed:
        """Why nothing came: how the process ended, and what it said last."""
        await self.program.gone(_EXIT_SEEN)
        code = self.program.exit_code
        self.kill()
        words = self._last_words()
        return AskFailed("crash", _ending(code), shown=visible(words[-200:]), seen=words)

    def _last_words(self) -> str:
        return self.program.err.decode("utf-8", "replace").strip()[-SEEN:]


class Workers:
    """As many workers as calls are under way, started when they are needed."""

    def __init__(
        self, place: str, options: TargetOptions, *, accepts: Iterable[str] | None = None, drops: bool = False
    ) -> None:
        if os.environ.get(_WITHIN):  # else a script that asks a function of its own would start itself for ever
            raise UsageError(
                "a pipeline under test asks a pipeline itself",
                where=f"py:{visible(place)}",
                hint='Put the call of a script that is imported behind if __name__ == "__main__".',
                code="target",
            )
        names = None if accepts is None else list(accepts)
        limit = options.max_response_bytes
        path = [folder for folder in sys.path if isinstance(folder, str)]
        self._job = Job(place=place, cwd=os.getcwd(), path=path, accepts=names, drops=drops, limit=limit)
        self._secrets, self._seconds = options.secrets, options.start_seconds
        self._most = options.connections or sys.maxsize
        self._idle: list[Worker] = []
        self._starting, self._freed = 0, asyncio.Event()
        self._all: set[Worker] = set()
        self.takes: tuple[str, ...] | None = None  # None until one was started

    async def ready(self) -> None:
        """Start one more worker if none is free. Done before the clock of a call starts: it is not the function's.

        What can't be started at all is an error of the user's; where it could be before, it is a failed run.
        """
        for worker in [worker for worker in self._idle if not worker.usable]:
            self._idle.remove(worker)
            self._dismiss(worker)
        if self._idle or not self._room():
            return
        try:
            await self._start()
        except (FunctionUnavailable, AskFailed, OSError) as error:
            if self.takes is None:
                raise self._unusable(error) from None
            if isinstance(error, FunctionUnavailable):
                raise AskFailed("python", self._secrets.hide(visible(str(error), 200))) from None
            if isinstance(error, OSError):
                raise AskFailed("crash", f"no process could be started for the function: {error.strerror}") from None
            raise

    async def _start(self) -> None:
        self._starting += 1
        try:
            worker = await Worker.started(self._job, self._seconds)
        finally:
            self._starting -= 1
        self._all.add(worker)
        self.takes = worker.takes
        self._give_back(worker)

    def _unusable(self, error: Exception) -> UsageError | EnvironmentFailure:
        where = f"py:{visible(self._job.place)}"
        if isinstance(error, OSError):
            return EnvironmentFailure(
                f"no process could be started for the function: {error.strerror}",
                where=where,
                hint="Lower --concurrency, or raise the limit of open files and processes.",
                code="environment",
            )
        text = f"can't be imported: {error.what}" if isinstance(error, AskFailed) else str(error)
        hint = "Write py:package.module:function."
        return UsageError(visible(self._secrets.hide(text), 400), where=where, hint=hint, code="target")

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
        """Let every worker clean up and end, and make those end that don't: nothing of a pipeline outlives its run."""
        for worker in self._all:
            if not worker.killed:
                worker.program.send(b"", last=True)
        await asyncio.gather(*(worker.program.gone() for worker in self._all))
        for worker in self._all:
            worker.kill()
        await asyncio.gather(*(worker.program.gone() for worker in self._all))
        self._all.clear()
        self._idle.clear()

    def _room(self) -> bool:
        self._all = {worker for worker in self._all if not (worker.killed and worker.program.exit_code is not None)}
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


def _ending(code: int | None) -> str:
    if code is None or code == NO_CHANNEL:
        return "the function's process closed the connection that its result goes through"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"the function's process was ended by {signal.Signals(-code).name}"
    return f"the function's process ended with exit code {code} before it answered"


async def call(
    function: Callable[..., object], question: str, arguments: Mapping[str, object], secrets: Secrets
) -> object:
    """What a function object, sync or async, gives for a question; whatever it raises, SystemExit too, is an AskFailed.

    A daemon thread for each call: one that never returns can then not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()

    def resolve(outcome: Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    def work() -> None:
        outcome: Outcome
        try:
            value = function(question, **arguments)
            outcome = (asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value, None)
        except BaseException as error:
            outcome = (None, error)
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(resolve, outcome)

    threading.Thread(target=work, name="ask", daemon=True).start()
    value, error = await future
    if error is not None:
        raise AskFailed("python", visible(secrets.hide(text_of(error)), 200)) from error
    return value


async def _awaited(value: Any) -> Any:
    return await value
