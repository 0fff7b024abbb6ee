"""The flags of a run, made from the run options, for verbs that ask a system first and score afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from ..core.options import Field
from ..core.run_options import run_fields
from ..errors import EnvironmentFailure, UsageError
from ._lists import AmountList, NumberList
from ._say import say

F = TypeVar("F", bound=Callable[..., object])
REQUEST = tuple(run_fields("request"))


def run_flags(*groups: str, only: Iterable[str] = (), **changes: dict[str, Any]) -> Callable[[F], F]:
    """A flag for each run option of these groups, or for those named; `changes` are other defaults and texts."""
    fields = [run_fields()[name] for name in only] or run_fields(*groups).values()

    def decorate(command: F) -> F:
        for field in reversed(list(fields)):
            command = _run_flag(field, changes.get(field.name, {}))(command)
        return command

    return decorate


def _run_flag(field: Field, changes: Mapping[str, Any]) -> Callable[[F], F]:
    kinds: dict[str, dict[str, Any]] = {
        "flag": {"is_flag": True, "flag_value": field.default is not True},
        "whole": {"type": click.IntRange(field.opt.least, field.opt.most)},
        "amount": {"type": click.FloatRange(0, min_open=True)},
        "amounts": {"type": AmountList()},
        "numbers": {"type": NumberList()},
        "words": {"multiple": True, "callback": _words},
        "texts": {"multiple": True, "callback": pairs},
        "mapping": {"multiple": True, "callback": _mapping},
    }
    kind = {"type": click.Choice(field.choices)} if field.choices else kinds.get(field.kind, {})
    default = {} if field.kind in ("texts", "mapping") else {"default": field.default}
    shown = {"show_default": field.kind != "flag" and field.default not in (None, "", ())}
    usual = {"metavar": field.opt.metavar or None, "help": field.opt.help}
    return click.option(field.flag, field.name, **{**usual, **kind, **default, **shown, **changes})


map_flag = run_flags(only=["mapping"])
asking_flags = run_flags("request")  # what is sent, how it gets there, and how the response is read
dedupe_flag = run_flags(only=["dedupe"])


def pairs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE options as a dict. A bad one is not shown: it may be a secret."""
    if any("=" not in pair or not pair.partition("=")[0].strip() for pair in given):
        raise click.BadParameter(f"expected {option.metavar}.")
    return {name.strip(): value.strip() for name, _, value in (pair.partition("=") for pair in given)}


def _words(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def _mapping(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """A mapping that can't be read is refused before anything is sent."""
    from ..reading.mapping import FieldMap

    try:
        FieldMap.parse(given)
    except UsageError as error:
        raise click.BadParameter(f"{error.what}. {error.hint} [{error.code}]", context, option) from None
    return given


def target_flags(command: F) -> F:
    """Whom to ask, what to send, and how to read the response."""
    command = run_flags("request", "target")(command)
    command = click.option(
        "--target",
        metavar="TARGET",
        help="Your system, if not an HTTP URL: cmd:…, py:module:function, chat:http://…, replay:FILE or demo.",
    )(command)
    return click.option("--http", metavar="URL", help="Your system: a URL that takes a question and answers in JSON.")(
        command
    )


def announce(line: str) -> None:
    """What is about to be sent, before it is."""
    say(line, err=True)


def taken(given: dict[str, Any], *groups: str) -> tuple[str, dict[str, Any]]:
    """The target and its run options, of these groups too, taken out of the arguments."""
    http, other = given.pop("http"), given.pop("target")
    if bool(http) == bool(other):
        raise UsageError("no target was given", hint="Give --http URL or --target TARGET.", code="run-no-target")
    options = {name: given.pop(name) for name in run_fields("request", "target", *groups) if name in given}
    given["map"] = options["mapping"]  # the gold file is read by the same mapping
    return http or other, options


def run_target(given: dict[str, Any], out: str, **grid: Any) -> None:
    """Send the whole grid to the target; its flags are taken out of the arguments, what remains is for scoring."""
    from ..core.sources import read_gold
    from ..runner import run

    target, options = taken(given, "limits", "file")
    make_room(out)
    questions = read_gold(given["gold"], given["map"])
    summary = run(questions, target, out, progress=True, announce=announce, **grid, **options)
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
