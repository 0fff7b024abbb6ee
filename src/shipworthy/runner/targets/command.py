"""Command: start a program for each question, without a shell, and read one JSON object from its output."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Sequence

import msgspec

from ...errors import UsageError
from ...text import visible
from ..failures import SEEN, AskFailed
from ..plan import Ask
from ..redact import without_passwords
from ..shape import checked, mapped, parse_mapping, parsed
from .base import TargetOptions, request_of
from .program import Program


class CommandTarget:
    """An argv list. `{question}`, `{qid}`, `{seed}` and `{jitter}` in it are filled in; without `{question}` the
    request goes to standard input as JSON. The program inherits the environment, as any command that you start."""

    replays = False

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

    async def close(self) -> None:
        """Nothing stays open between questions."""

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
