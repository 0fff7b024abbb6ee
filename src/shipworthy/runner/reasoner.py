"""Reasoner: ask a reasoner every case of a fixture; whatever it does, each case ends with an answer or an error.

A reasoner is a target like any other; only what is sent to it differs:

command   BINARY [--db D] reason PROMPT --json [--preset P] …
address   POST {"prompt", "preset", …}
function  function(prompt, preset=…, …)
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from ..errors import EnvironmentFailure, UsageError
from ..net.blocking import run_blocking
from ..suites.reasoning.contracts import REASON_ARGS, Fixture, ReasonCase, ReasonerAnswer, read_output
from .execute import ask_once
from .failures import SEEN, AskFailed
from .plan import Ask
from .redact import Secrets, without_password
from .shape import parsed
from .targets.base import OneByOne, Target, TargetOptions
from .targets.command import as_argument, output_of
from .targets.http import HttpClient
from .targets.python import Workers, call

TIMEOUT = 240.0  # seconds for one case
MOST_OUTPUT = 10_000_000  # bytes; more is an error of that case
SETTINGS = ("preset", "project", "model", "embed")
# How an error of a case is worded, by the kind of the failure; the others speak for themselves.
_ERRORS = {
    "timeout": "no answer within {timeout:g} seconds",
    "command": "the command failed: {why}",
    "python": "the reasoner raised {why}",
    "unreachable": "the address can't be reached: {why}",
    "http": "the address answered {why}",
}


def select(fixture: Fixture, max_cases: int | None = None, **settings: str | None) -> Fixture:
    """The fixture cut to the first so many cases, each with the preset, project, model and embed that are given."""
    given = {name: value for name, value in settings.items() if value is not None}
    return replace(fixture, cases=tuple(replace(case, **given) for case in fixture.cases[:max_cases]))


def ask_all(
    cases: Iterable[ReasonCase],
    target: Target,
    *,
    timeout: float = TIMEOUT,
    on_answer: Callable[[ReasonCase, ReasonerAnswer], None] = lambda case, answer: None,
) -> dict[str, ReasonerAnswer]:
    """The answers to all cases by id, asked one after the other; nothing that a reasoner does ends the run."""
    return run_blocking(_ask_all(cases, target, timeout, on_answer))


async def _ask_all(
    cases: Iterable[ReasonCase], target: Target, timeout: float, on_answer: Callable[[ReasonCase, ReasonerAnswer], None]
) -> dict[str, ReasonerAnswer]:
    answers: dict[str, ReasonerAnswer] = {}
    try:
        for case in cases:
            answers[case.id] = await _answer(target, case, timeout)
            on_answer(case, answers[case.id])
    finally:
        await target.close()
    return answers


def reasoner_target(
    *,
    binary: str | None = None,
    url: str | None = None,
    function: str | Callable[..., object] | None = None,
    db: str | None = None,
) -> Target:
    """The one reasoner that was named: a command, an address, or a function (`module:function`, or itself)."""
    if sum(given is not None for given in (binary, url, function)) != 1:
        raise UsageError(
            "it is not clear which reasoner to use", hint="Give one of --binary, --url, --python.", code="reason-target"
        )
    if binary is not None:
        return CommandReasoner(binary, db)
    if url is not None:
        return HttpReasoner(url)
    return PythonReasoner(function) if callable(function) else NamedReasoner(function or "")


class CommandReasoner(OneByOne):
    """A program that is started once a case; it may bring arguments, as `python -m reasoner`."""

    def __init__(self, binary: str, db: str | None = None) -> None:
        self.name, self._db = f"cmd:{binary}", db
        self._words = _find_binary(binary)
        self._options = TargetOptions(max_response_bytes=MOST_OUTPUT)

    async def ask(self, ask: Ask) -> dict[str, object]:
        return parsed(await output_of(command_line(self._words, ask, self._db), self._options), "the output")


class HttpReasoner:
    """A reasoner behind an address: the case is posted as JSON, the output object comes back."""

    replays = False

    def __init__(self, url: str) -> None:
        if not url.startswith(("http://", "https://")):
            shown = without_password(url)
            raise UsageError(
                f"{shown!r} is not an address", hint="Start it with http:// or https://.", code="reason-url"
            )
        self.name = url.partition("?")[0]
        self._client = HttpClient(url, TargetOptions(max_response_bytes=MOST_OUTPUT), "--url")

    async def ask(self, ask: Ask) -> dict[str, object]:
        raw = await self._client.post({"prompt": ask.question, **ask.knobs})
        return parsed(self._client.secrets.hide_bytes(raw), "the output")

    async def close(self) -> None:
        await self._client.close()


class PythonReasoner(OneByOne):
    """A Python function object, called with the prompt and, by name, what the case sets; it gives a dict or a text."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self.name = f"py:{getattr(function, '__qualname__', function)}"

    async def ask(self, ask: Ask) -> dict[str, object]:
        output = await call(self._function, ask.question, ask.knobs, Secrets())
        if not isinstance(output, (str, Mapping)):
            raise AskFailed("wrong-shape", f"the function gave {type(output).__name__}, expected a dict or a string")
        return {"content": output} if isinstance(output, str) else dict(output)


class NamedReasoner:
    """A Python function that is named by text; it runs in a process of its own, which it may end but not us."""

    replays = False

    def __init__(self, place: str) -> None:
        self.name, self._place = f"py:{place}", place
        self._workers = Workers(place, TargetOptions(max_response_bytes=MOST_OUTPUT), drops=True)

    async def ready(self) -> None:
        try:
            await self._workers.ready()
        except UsageError as error:
            raise UsageError(
                f"{self._place!r} {error.what}",
                hint="Write it as module:function, importable from here.",
                code="reason-callable",
            ) from None

    async def ask(self, ask: Ask) -> dict[str, object]:
        output = await self._workers.ask(ask.question, ask.knobs)
        return {"content": output} if isinstance(output, str) else output

    async def close(self) -> None:
        await self._workers.close()


def ask_of(case: ReasonCase) -> Ask:
    """A case as the runner's targets are asked it: the knobs are what the case sets."""
    settings = {name: getattr(case, name) for name in SETTINGS} | case.reason_args
    knobs = {name: value for name, value in settings.items() if value is not None}
    return Ask(case.id, case.id, 0, "none", 0, "", case.prompt, knobs)


def command_line(words: Sequence[str], ask: Ask, db: str | None = None) -> list[str]:
    """The command line of a case: BINARY [--db D] reason PROMPT --json and what the case sets, in this order.

    What a case says never is an option: a prompt that starts like one gets a blank before it, a setting is tied to its
    flag with `=`.
    """
    line = [*words, *(["--db", db] if db else []), "reason", as_argument(ask.question), "--json"]
    for name in (*SETTINGS, *REASON_ARGS):
        value = ask.knobs.get(name)
        flag = "--" + name.replace("_", "-")
        if value is True:
            line.append(flag)
        elif value not in (None, "") and value is not False:
            line += [f"{flag}={value}"] if str(value).startswith("-") else [flag, str(value)]
    return line


def command_lines(cases: Iterable[ReasonCase], binary: str, db: str | None = None) -> list[str]:
    """What would be run for each case, as it is typed in a shell; the binary need not exist."""
    words = _split(binary)
    return [shlex.join(command_line(words, ask_of(case), db)) for case in cases]


async def _answer(target: Target, case: ReasonCase, timeout: float) -> ReasonerAnswer:
    output, _, failure = await ask_once(target, ask_of(case), timeout)
    if failure is not None:
        return ReasonerAnswer(error=_error(failure, timeout), seen=failure.seen[:SEEN])
    try:
        return read_output(output)
    except Exception as problem:  # a function may give back anything, and the other cases still count
        return ReasonerAnswer(error=f"the output can't be read: {type(problem).__name__}: {problem}"[:SEEN])


def _error(failure: AskFailed, timeout: float) -> str:
    wording = _ERRORS.get(failure.kind.partition("-")[0], "{why}")
    return wording.format(why=failure.why, timeout=timeout)[:SEEN]


def _split(binary: str) -> list[str]:
    """A command as its words, by the rules of a shell."""
    try:
        return shlex.split(binary)
    except ValueError as problem:
        raise UsageError(
            f"{binary!r} can't be read as a command ({problem})",
            hint="Close the quotation, or put a backslash before a quote that is meant.",
            code="reason-binary",
        ) from None


def _find_binary(binary: str) -> list[str]:
    """The words of the command; the program is looked for before anything is asked."""
    words = [binary] if os.path.exists(binary) else _split(binary)
    if not words or shutil.which(words[0]) is None:
        raise EnvironmentFailure(
            f"there is no program {binary!r}",
            hint="Give --binary an executable file or a command on the PATH.",
            code="reason-binary-missing",
        )
    if os.path.dirname(words[0]):
        words[0] = os.path.abspath(words[0])
    return words
