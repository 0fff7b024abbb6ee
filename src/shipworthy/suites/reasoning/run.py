"""Run: ask a reasoner every case of a fixture; whatever it does, each case ends with an answer or an error."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from shipworthy.errors import DataError, EnvironmentFailure, UsageError
from shipworthy.suites.reasoning.answers import SEEN, NoAnswer, read_output
from shipworthy.suites.reasoning.fixture import REASON_ARGS, Fixture, ReasonCase, decode
from shipworthy.suites.reasoning.verdict import Answer

Ask = Callable[[ReasonCase], Mapping[str, Any]]
MOST_OUTPUT = 10_000_000  # bytes; more is an error of that case
TIMEOUT = 240


@dataclass(frozen=True)
class Overrides:
    """What the command line says for every case."""

    preset: str | None = None
    project: str | None = None
    model: str | None = None
    embed: str | None = None

    def applied(self, case: ReasonCase) -> ReasonCase:
        given = {name: value for name, value in vars(self).items() if value is not None}
        return replace(case, **given)


def ask_all(
    fixture: Fixture, ask: Ask, on_answer: Callable[[ReasonCase, Answer], None] = lambda case, answer: None
) -> dict[str, Answer]:
    """The answers to all cases; nothing that a reasoner does ends the run."""
    answers: dict[str, Answer] = {}
    for case in fixture.cases:
        try:
            answers[case.id] = read_output(ask(case))
        except NoAnswer as problem:
            answers[case.id] = Answer(error=problem.why, seen=problem.seen)
        except Exception as problem:  # a callable may raise anything, and the other cases still count
            answers[case.id] = Answer(error=f"the reasoner raised {type(problem).__name__}: {problem}"[:SEEN])
        on_answer(case, answers[case.id])
    return answers


def command_line(binary: list[str], case: ReasonCase, db: str | None = None) -> list[str]:
    """The command line of a case: BINARY [--db D] reason PROMPT --json and what the case says, in this order."""
    line = [*binary, *(["--db", db] if db else []), "reason", case.prompt, "--json"]
    for name in ("preset", "project", "model", "embed"):
        value = getattr(case, name)
        line += [f"--{name}", value] if value else []
    for name in REASON_ARGS:
        value = case.reason_args.get(name)
        flag = "--" + name.replace("_", "-")
        if value is True:
            line.append(flag)
        elif value is not None and value is not False:
            line += [flag, str(value)]
    return line


def split(binary: str) -> list[str]:
    """A command as its words, by the rules of a shell."""
    try:
        return shlex.split(binary)
    except ValueError as problem:
        hint = "Close the quotation, or put a backslash before a quote that is meant."
        raise UsageError(
            f"{binary!r} can't be read as a command ({problem})", hint=hint, code="reason-binary"
        ) from None


def find_binary(binary: str) -> list[str]:
    """The binary as the start of a command line; it may bring arguments, as `python -m reasoner`."""
    parts = [binary] if os.path.exists(binary) else split(binary)
    if not parts or shutil.which(parts[0]) is None:
        raise EnvironmentFailure(
            f"there is no program {binary!r}",
            hint="Give --binary an executable file or a command on the PATH.",
            code="reason-binary-missing",
        )
    if os.path.dirname(parts[0]):
        parts[0] = os.path.abspath(parts[0])
    return parts


def ask_command(binary: str, db: str | None = None, timeout: float = TIMEOUT) -> Ask:
    """A reasoner that is a command, run once a case."""
    parts = find_binary(binary)

    def ask(case: ReasonCase) -> Mapping[str, Any]:
        return _parsed(_run(command_line(parts, case, db), timeout))

    return ask


def ask_address(url: str, timeout: float = TIMEOUT) -> Ask:
    """A reasoner behind an address: the case is posted as JSON, the output object comes back."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not an address", hint="Start it with http:// or https://.", code="reason-url")
    import httpx2

    def ask(case: ReasonCase) -> Mapping[str, Any]:
        named = {name: getattr(case, name) for name in ("prompt", "preset", "project", "model", "embed")}
        body = {name: value for name, value in (named | case.reason_args).items() if value is not None}
        received, deadline = bytearray(), time.monotonic() + timeout
        try:
            with httpx2.stream("POST", url, json=body, timeout=timeout) as response:
                for piece in response.iter_bytes():
                    received += piece
                    if time.monotonic() > deadline:  # the client's own timeout is for each piece
                        raise NoAnswer(f"no answer within {timeout:g} seconds", _text(bytes(received[:SEEN])))
                    if len(received) > MOST_OUTPUT:
                        raise NoAnswer(f"more than {MOST_OUTPUT:,} bytes came", _text(bytes(received[:SEEN])))
                if response.status_code >= 400:
                    raise NoAnswer(f"the address answered {response.status_code}", _text(bytes(received)))
        except httpx2.HTTPError as problem:
            raise NoAnswer(f"the address can't be reached: {problem or type(problem).__name__}") from problem
        return _parsed(bytes(received))

    return ask


def ask_callable(function: Callable[..., Any]) -> Ask:
    """A reasoner that is a Python callable: called with the prompt and, by name, what the case says."""

    def ask(case: ReasonCase) -> Mapping[str, Any]:
        named = {name: getattr(case, name) for name in ("preset", "project", "model", "embed")}
        output = function(case.prompt, **{k: v for k, v in (named | case.reason_args).items() if v is not None})
        return {"content": output} if isinstance(output, str) else output

    return ask


def _parsed(raw: bytes) -> Mapping[str, Any]:
    text = _text(raw)
    try:
        output = decode(text, "the output")
    except DataError as problem:
        what = "the output is empty" if not text.strip() else "the output is not JSON"
        raise NoAnswer(what, text) from problem
    if not isinstance(output, dict):
        raise NoAnswer("the output is JSON but not an object", text)
    return output


def _run(line: list[str], timeout: float) -> bytes:
    """The standard output of a command that ended well within its time and its share of memory."""
    try:
        process = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except (OSError, ValueError) as problem:
        raise NoAnswer(f"the command can't be started: {problem}") from problem
    try:
        out, err, why = _collect(process, time.monotonic() + timeout)
    finally:
        _kill(process)
    if why == "timeout":
        raise NoAnswer(f"no answer within {timeout:g} seconds", _text(out or err))
    if why == "too much":
        raise NoAnswer(f"more than {MOST_OUTPUT:,} bytes came", _text(out[:SEEN]))
    code = process.wait()
    if code:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise NoAnswer(f"the command failed with {how}", _text(err or out)[-SEEN:])
    return out


def _collect(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes, str]:
    """Read both pipes until they close, the time is up or too much came."""
    assert process.stdout is not None and process.stderr is not None
    kept = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    out, err = kept.values()
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        for stream in (process.stdout, process.stderr):
            selector.register(stream.fileno(), selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return bytes(out), bytes(err), "timeout"
            ready = selector.select(min(left, 0.5))
            if not ready and process.poll() is not None:
                break  # it has ended; whoever still holds the pipe is not our reasoner
            for key, _ in ready:
                piece = os.read(key.fd, 65_536)
                if not piece:
                    selector.unregister(key.fd)
                elif len(kept[key.fd]) <= MOST_OUTPUT:
                    kept[key.fd] += piece
            if len(out) > MOST_OUTPUT:
                return bytes(out), bytes(err), "too much"
        if process.poll() is None:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                return bytes(out), bytes(err), "timeout"
    return bytes(out), bytes(err), ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the command and whatever it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def select(fixture: Fixture, overrides: Overrides, max_cases: int | None = None) -> Fixture:
    """The fixture with the command line's word on every case, cut to the first so many cases."""
    cases: Iterable[ReasonCase] = fixture.cases if max_cases is None else fixture.cases[:max_cases]
    return replace(fixture, cases=tuple(overrides.applied(case) for case in cases))
