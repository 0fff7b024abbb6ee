"""The flags that name a target and bound a run, for verbs that ask a system first and score afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..core.options import MAP_HELP
from ..errors import EnvironmentFailure, UsageError
from ._say import say

if TYPE_CHECKING:
    from ..runner import TargetOptions

F = TypeVar("F", bound=Callable[..., object])
MOST_SEEDS = 10_000  # 0-999999999 is a slip of the finger, and would fill the memory before anything is asked
_LIMITS = (
    "concurrency",
    "rate",
    "timeout",
    "retries",
    "max_requests",
    "max_seconds",
    "max_cost_usd",
    "warmup",
    "resume",
    "overwrite",
    "dedupe",
)


def pairs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE options as a dict. A bad one is not shown: it may be a secret."""
    if any("=" not in pair or not pair.partition("=")[0].strip() for pair in given):
        raise click.BadParameter(f"expected {option.metavar}.")
    return {name.strip(): value.strip() for name, _, value in (pair.partition("=") for pair in given)}


def numbers(context: click.Context, option: click.Parameter, given: str) -> tuple[int, ...]:
    """`0,1,2` or `0-4` as numbers."""
    found: list[int] = []
    try:
        for part in given.split(","):
            first, dash, last = part.strip().partition("-")
            found += range(int(first), min(int(last), int(first) + MOST_SEEDS) + 1) if dash else [int(first)]
    except ValueError:
        raise click.BadParameter(f"expected numbers like 0,1,2 or 0-4, got {given[:80]!r}.") from None
    if len(found) > MOST_SEEDS:
        raise click.BadParameter(f"more than {MOST_SEEDS} numbers.")
    return tuple(found)


REQUEST = ("headers", "mapping", "method", "query", "body", "proxy", "trust_env", "ca_file")


def map_flag(command: F) -> F:
    """--map: which field of a record is which of ours."""
    return click.option("--map", "mapping", multiple=True, callback=_mapping, metavar="FIELD=PATH", help=MAP_HELP)(
        command
    )


def _mapping(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """A mapping that can't be read is refused before anything is sent."""
    from ..reading.mapping import FieldMap

    try:
        FieldMap.parse(given)
    except UsageError as error:
        raise click.BadParameter(f"{error.what}. {error.hint} [{error.code}]", context, option) from None
    return given


def asking_flags(command: F) -> F:
    """What is sent, how it gets there, and how the answer is read."""
    for option in (
        click.option(
            "--ca-file", default="", metavar="FILE", help="PEM file with certificates to trust besides the system's."
        ),
        click.option("--trust-env", is_flag=True, help="Use the proxies in HTTPS_PROXY and NO_PROXY."),
        click.option("--proxy", default="", metavar="URL", help="Send requests through this proxy."),
        click.option(
            "--header",
            "headers",
            multiple=True,
            callback=pairs,
            metavar="NAME=VALUE",
            help="Header to send with each request. ${ENV} is replaced by that variable and never written to a file.",
        ),
        click.option(
            "--query",
            multiple=True,
            callback=pairs,
            metavar="NAME=VALUE",
            help="Query parameter of the URL. The value may contain {question} and other placeholders. Repeatable.",
        ),
        click.option(
            "--body",
            metavar="JSON",
            help="Request body, or @FILE. It may contain {question}, {qid}, {seed}, {temperature}, {history}.",
        ),
        click.option("--method", default="", metavar="VERB", help="HTTP method.  [default: POST, or GET with --query]"),
    ):
        command = option(command)
    return map_flag(command)


def address_flags(command: F) -> F:
    """Whom to ask, what to send, and how to read the answer."""
    command = asking_flags(command)
    for option in (
        click.option(
            "--target",
            metavar="TARGET",
            help="Your system, if not an HTTP URL: cmd:…, py:module:function, chat:http://…, replay:FILE or demo.",
        ),
        click.option("--http", metavar="URL", help="Your system: a URL that takes a question and answers in JSON."),
    ):
        command = option(command)
    return command


def dedupe_flag(command: F) -> F:
    """--no-dedupe: whether a question that a rewording left as it is goes out again."""
    return click.option(
        "--no-dedupe",
        "dedupe",
        is_flag=True,
        flag_value=False,
        default=True,
        help="Send a question again even if a rewording did not change it.",
    )(command)


def announce(line: str) -> None:
    """What is about to be sent, before it is."""
    say(line, err=True)


def limit_flags(command: F) -> F:
    """How fast, how often and how far."""
    positive = click.FloatRange(0, min_open=True)
    for option in (
        dedupe_flag,
        click.option("--overwrite", is_flag=True, help="Replace the runs in the file."),
        click.option("--resume", is_flag=True, help="Send only the questions that the file does not have yet."),
        click.option(
            "--warmup",
            type=click.IntRange(0),
            default=0,
            show_default=True,
            help="Warm-up questions, sent first and not saved.",
        ),
        click.option("--max-cost-usd", type=positive, help="Stop once the reported cost_usd reaches this sum."),
        click.option("--max-seconds", type=positive, help="Send nothing after this many seconds."),
        click.option("--max-requests", type=click.IntRange(1), help="Stop after this many requests."),
        click.option(
            "--retries",
            type=click.IntRange(0, 100),
            default=3,
            show_default=True,
            help="Retries on 429, 5xx and lost connections.",
        ),
        click.option(
            "--timeout-sec",
            "timeout",
            type=positive,
            default=60.0,
            show_default=True,
            help="Timeout of one attempt.",
        ),
        click.option("--rate", type=positive, help="Most requests per second."),
        click.option(
            "--concurrency",
            type=click.IntRange(1, 10_000),
            default=8,
            show_default=True,
            help="Requests in flight.",
        ),
    ):
        command = option(command)
    return command


def target_flags(command: F) -> F:
    """Whom to ask, and how far to go."""
    return address_flags(limit_flags(command))


def taken(given: dict[str, Any]) -> tuple[str, TargetOptions]:
    """The target and its options, taken out of the arguments."""
    from ..runner import TargetOptions

    http, other = given.pop("http"), given.pop("target")
    if bool(http) == bool(other):
        raise UsageError("no target was given", hint="Give --http URL or --target TARGET.", code="run-no-target")
    named = {name: given.pop(name) for name in REQUEST}
    given["map"] = named["mapping"]  # the gold file is read by the same mapping
    options = TargetOptions(connections=given.get("concurrency") or 64, **named)
    return http or other, options


def run_target(given: dict[str, Any], out: str, **grid: Any) -> None:
    """Send the whole grid to the target; its flags are taken out of the arguments, what remains is for scoring."""
    from ..core.sources import read_gold
    from ..runner import run

    target, options = taken(given)
    limits = {name: given.pop(name) for name in _LIMITS}
    make_room(out)
    questions = read_gold(given["gold"], given["map"])
    summary = run(questions, target, out, options=options, progress=True, announce=announce, **grid, **limits)
    done = summary.resumed + summary.finished
    say(
        f"{done} of {summary.planned} runs in {summary.out}, {summary.failed} failed, "
        f"{summary.distinct_prompts} distinct prompts",
        err=True,
    )
    summary.check_mapping()
    if done and summary.failed == done:
        raise EnvironmentFailure(
            "every run failed, so there is nothing to judge",
            where=out,
            code="run-all-failed",
            hint="Each trace in the file has its error. Fix the cause, then run again with --overwrite.",
        )
    if summary.stopped:
        say(f"Stopped: {summary.stopped}. Continue with --resume.", err=True)


def make_room(out: str) -> None:
    """The folder of a journal that is still to be written."""
    Path(os.path.dirname(out) or ".").mkdir(parents=True, exist_ok=True)
