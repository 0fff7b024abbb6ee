"""The flags that name a target and bound a run, for verbs that ask a system first and score afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import EnvironmentFailure, UsageError
from .run import _pairs

F = TypeVar("F", bound=Callable[..., Any])
_LIMITS = ("concurrency", "rate", "timeout", "retries", "max_requests", "max_seconds", "max_cost_usd", "warmup",
           "resume", "overwrite")  # fmt: skip


def address_flags(command: F) -> F:
    """--http, --target, --header, --map: whom to ask and how to read the answer."""
    for option in (
        click.option(
            "--map",
            "mapping",
            multiple=True,
            metavar="FIELD=PATH",
            callback=_pairs,
            help="Where a field stands in the answer.",
        ),
        click.option(
            "--header",
            "headers",
            multiple=True,
            metavar="NAME=VALUE",
            callback=_pairs,
            help="Sent along; ${ENV} is filled in.",
        ),
        click.option(
            "--target", metavar="TARGET", help="cmd:…, py:module:function, chat:http://…, replay:FILE or demo."
        ),
        click.option("--http", metavar="URL", help="The target: POST one JSON object, get one back."),
    ):
        command = option(command)
    return command


def target_flags(command: F) -> F:
    """Whom to ask, and how far to go."""
    for option in (
        click.option("--overwrite", is_flag=True, help="Drop the runs that the file holds."),
        click.option("--resume", is_flag=True, help="Ask only what the file does not hold yet."),
        click.option("--warmup", type=click.IntRange(0), default=0, show_default=True, help="Questions asked first, not kept."),
        click.option("--max-cost-usd", type=click.FloatRange(0, min_open=True), help="Stop once the cost adds up to it."),
        click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Start nothing after so many seconds."),
        click.option("--max-requests", type=click.IntRange(1), help="Stop after so many requests."),
        click.option("--retries", type=click.IntRange(0, 100), default=3, show_default=True, help="On 429, 5xx, lost lines."),
        click.option("--timeout-sec", "timeout", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
                     help="For one attempt."),
        click.option("--rate", type=click.FloatRange(0, min_open=True), help="Requests per second at most."),
        click.option("--concurrency", type=click.IntRange(1, 10_000), default=8, show_default=True, help="Asked at a time."),
    ):  # fmt: skip
        command = option(command)
    return address_flags(command)


def taken(given: dict[str, Any]) -> tuple[str, Any]:
    """The target and its options, taken out of the arguments."""
    from ..runner import TargetOptions

    http, other = given.pop("http"), given.pop("target")
    if bool(http) == bool(other):
        raise UsageError("who shall be asked?", hint="Give --http URL, or --target.", code="run-no-target")
    options = TargetOptions(headers=given.pop("headers"), mapping=given.pop("mapping"),
                            connections=given.get("concurrency") or 64)  # fmt: skip
    return http or other, options


def run_target(given: dict[str, Any], out: str, **grid: Any) -> None:
    """Ask the target the whole grid; its flags are taken out of the arguments, what remains is for scoring."""
    from ..contracts import read_gold
    from ..runner import run

    target, options = taken(given)
    limits = {name: given.pop(name) for name in _LIMITS}
    make_room(out)
    summary = run(read_gold(given["gold"]), target, out, options=options, progress=True, **grid, **limits)
    done = summary.resumed + summary.finished
    click.echo(f"{done} of {summary.planned} runs in {summary.out}, {summary.failed} failed, "
               f"{summary.distinct_prompts} distinct prompts", err=True)  # fmt: skip
    if done and summary.failed == done:
        raise EnvironmentFailure("every run failed, so there is nothing to judge", where=out, code="run-all-failed",
                                 hint="The errors are in the file. Mend what they say, then run again with --overwrite.")  # fmt: skip
    if summary.stopped:
        click.echo(f"Stopped: {summary.stopped}. Go on with --resume.", err=True)


def make_room(out: str) -> None:
    """The folder of a journal that is still to be written."""
    Path(os.path.dirname(out) or ".").mkdir(parents=True, exist_ok=True)
