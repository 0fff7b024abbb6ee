"""Command: start a program for each question, without a shell, and read one JSON object from its output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
from typing import Any

import msgspec

from ...errors import UsageError
from ...text import visible
from ..plan import Ask
from ..shape import checked, mapped, parse_mapping, parsed
from .base import AskFailed, TargetOptions, request_of

_STDERR_KEPT = 4096
_LAST_WORDS = 2.0  # seconds for a killed program to be gone


class CommandTarget:
    """An argv list. `{question}`, `{qid}`, `{seed}` and `{jitter}` in it are filled in; without `{question}` the
    request goes to standard input as JSON. The program inherits the environment, as any command that you start."""

    replays = False

    def __init__(self, line: str, options: TargetOptions) -> None:
        self.name = f"cmd:{options.secrets.hide(line)}"
        self.options, self._mapping = options, parse_mapping(options.mapping)
        try:
            self._argv = shlex.split(line)
        except ValueError as error:
            raise UsageError(f"the command can't be split: {error}", where="--target", code="target") from None
        if not self._argv or shutil.which(self._argv[0]) is None:
            raise UsageError(f"there is no command {visible(self._argv[0]) if self._argv else ''!r}", where="--target",
                             hint="Check the path, and that it may be executed.", code="target")  # fmt: skip
        self._on_stdin = not any("{question}" in part for part in self._argv)

    async def ask(self, ask: Ask) -> dict[str, Any]:
        raw = await self._output(self._filled(ask), _request(ask) if self._on_stdin else b"")
        return checked(mapped(parsed(raw, "the output"), self._mapping))

    async def close(self) -> None:
        """Nothing stays open between questions."""

    def _filled(self, ask: Ask) -> list[str]:
        values = {
            "{question}": ask.question,
            "{qid}": ask.qid,
            "{seed}": str(ask.seed),
            "{jitter}": ask.jitter,
        }
        argv = [_fill(part, values) for part in self._argv]
        if any("\0" in part for part in argv):
            raise AskFailed("bad-question", "a NUL can't be passed as an argument")
        return argv

    async def _output(self, argv: list[str], request: bytes) -> bytes:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except (OSError, UnicodeEncodeError) as error:
            raise AskFailed("command", f"can't be started: {error}") from None
        talked = False
        try:
            out, err = await self._talked(process, request)
            talked = True
        finally:
            if not talked:  # a deadline, too much output or Ctrl-C: the program and all it started must go
                await _kill_group(process)
        if process.returncode != 0:
            shown = visible(self.options.secrets.hide(err.decode("utf-8", "replace")).strip()[-200:])
            raise AskFailed("command", f"exit {process.returncode}: {shown}")
        return out

    async def _talked(self, process: asyncio.subprocess.Process, request: bytes) -> tuple[bytes, bytes]:
        assert process.stdin and process.stdout and process.stderr
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_feed(process.stdin, request))
                out = group.create_task(_read(process.stdout, self.options.max_response_bytes))
                err = group.create_task(_tail(process.stderr))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        await process.wait()
        return out.result(), err.result()


def _request(ask: Ask) -> bytes:
    try:
        return msgspec.json.encode(request_of(ask)) + b"\n"
    except UnicodeEncodeError:
        raise AskFailed("bad-question", "the question holds half of a surrogate pair and can't be sent") from None


def _fill(part: str, values: dict[str, str]) -> str:
    """One pass over the argument, so that a question which holds `{qid}` stays as it is."""
    for name, value in values.items():
        if name in part:
            before, _, after = part.partition(name)
            return _fill(before, values) + value + _fill(after, values)
    return part


async def _feed(stdin: asyncio.StreamWriter, request: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # a program need not read its input
        stdin.write(request)
        await stdin.drain()
        stdin.close()


async def _read(stdout: asyncio.StreamReader, limit: int) -> bytes:
    kept = bytearray()
    while chunk := await stdout.read(65536):
        kept += chunk
        if len(kept) > limit:
            raise AskFailed("too-large", f"the output is larger than {limit} bytes")
    return bytes(kept)


async def _tail(stderr: asyncio.StreamReader) -> bytes:
    kept = b""
    while chunk := await stderr.read(65536):
        kept = (kept + chunk)[-_STDERR_KEPT:]
    return kept


async def _kill_group(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):  # something that left the group may still hold the pipes
        async with asyncio.timeout(_LAST_WORDS):
            assert process.stdout and process.stderr
            while await process.stdout.read(65536) or await process.stderr.read(65536):
                pass  # a full pipe would keep the end of the program from being seen
            await process.wait()
