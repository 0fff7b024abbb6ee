"""Command: a program without a shell, which is sent JSON and answers on standard output.

A command is started for each question and gives one object; the worker of a Python function (`python`) is the same kind
of program, and answers line by line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
from collections.abc import Callable, Sequence
from typing import Any, Self

import msgspec

from ...errors import UsageError
from ...text import visible
from ..failures import SEEN, AskFailed
from ..plan import Ask
from ..redact import without_passwords
from ..shape import checked, mapped, parse_mapping, parsed
from .base import OneByOne, TargetOptions, request_of

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


class CommandTarget(OneByOne):
    """An argv list. `{question}`, `{qid}`, `{seed}` and `{jitter}` in it are filled in; without `{question}` the
    request goes to standard input as JSON. The program inherits the environment, as any command that you start."""

    def __init__(self, line: str, options: TargetOptions) -> None:
        self.name = f"cmd:{without_passwords(options.secrets.hide(line))}"
        self.options, self._mapping = options, parse_mapping(options.mapping)
        try:
            self._argv = shlex.split(line)
        except ValueError as error:
            raise UsageError(f"the command can't be split: {error}", where="--target", code="target") from None
        if not self._argv or shutil.which(self._argv[0]) is None:
            raise UsageError(
                f"there is no command {visible(self._argv[0]) if self._argv else ''!r}",
                where="--target",
                hint="Check the path, and that it may be executed.",
                code="target",
            )
        self.by_wording = not any("{jitter}" in part for part in self._argv)
        self._on_stdin = not any("{question}" in part for part in self._argv)

    async def ask(self, ask: Ask) -> dict[str, object]:
        raw = await output_of(self._filled(ask), self.options, _request(ask) if self._on_stdin else b"")
        return checked(mapped(parsed(raw, "the output"), self._mapping))

    def _filled(self, ask: Ask) -> list[str]:
        values = {
            "{question}": ask.question,
            "{qid}": ask.qid,
            "{seed}": str(ask.seed),
            "{jitter}": ask.jitter,
        }
        plain = self._argv.index("--") if "--" in self._argv else len(self._argv)  # nothing behind it is an option
        return [
            _kept_from_options(part, _fill(part, values)) if place < plain else _fill(part, values)
            for place, part in enumerate(self._argv)
        ]


async def output_of(argv: Sequence[str], options: TargetOptions, request: bytes = b"") -> bytes:
    """The standard output of a program that ended well.

    When the output is too large, or the caller gives up at a deadline or by Ctrl-C, the program is killed with all that
    it started. A caller that gives up finds what had come so far as a note on its CancelledError.
    """
    if any("\0" in part for part in argv):
        raise AskFailed("bad-question", "a NUL can't be passed as an argument")
    try:
        program = await Program.started(argv, options.max_response_bytes)
    except (OSError, UnicodeEncodeError) as error:
        raise AskFailed("command", f"can't be started: {error}") from None
    try:
        program.send(request, last=True)
        output = await program.whole()
    except asyncio.CancelledError as cancelled:
        cancelled.add_note(options.secrets.hide(_text(program.out or program.err)[:SEEN]))
        raise
    finally:
        await program.dismiss()
    if program.exit_code:
        raise _exit(program.exit_code, program, options)
    return output


def _exit(code: int, program: Program, options: TargetOptions) -> AskFailed:
    text = options.secrets.hide(_text(program.err or program.out)).strip()
    shown = visible(options.secrets.hide(_text(program.err)).strip()[-200:])
    return AskFailed("command", f"signal {-code}" if code < 0 else f"exit {code}", shown=shown, seen=text[-SEEN:])


def _request(ask: Ask) -> bytes:
    try:
        return msgspec.json.encode(request_of(ask)) + b"\n"
    except UnicodeEncodeError:
        raise AskFailed("bad-question", "the question has half of a surrogate pair and can't be sent") from None


def _fill(part: str, values: dict[str, str]) -> str:
    """One pass over the argument, so that a question which holds `{qid}` stays as it is."""
    for name, value in values.items():
        if name in part:
            before, _, after = part.partition(name)
            return _fill(before, values) + value + _fill(after, values)
    return part


def as_argument(text: str) -> str:
    """A text that no program takes for an option: a blank before it changes no question."""
    return f" {text}" if text.startswith("-") else text


def _kept_from_options(template: str, filled: str) -> str:
    """Data at the start of an argument can't turn it into an option."""
    if template.startswith("{question}"):
        return as_argument(filled)
    if template.startswith("{qid}") and filled.startswith("-"):
        raise AskFailed("bad-question", "the qid starts with - and would be read as an option; put -- before {qid}")
    return filled


def _text(raw: bytes | bytearray) -> str:
    return raw.decode("utf-8", "replace")
