"""The flags of a run, made from the run options, for verbs that ask a system first and score afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..core.options import Field
from ..core.run_options import run_fields
from ..errors import EnvironmentFailure, UsageError
from ._flags import F, flag_of, text, together
from ._say import say

REQUEST = tuple(run_fields("request"))


def run_flags(*groups: str, only: Iterable[str] = (), **changes: dict[str, Any]) -> Callable[[F], F]:
    """A flag for each run option of these groups, or for those named; `changes` are other defaults and texts."""
    fields = [run_fields()[name] for name in only] or run_fields(*groups).values()
    return together(flag_of(field, **{**_default(field), **changes.get(field.name, {})}) for field in fields)


def _default(field: Field) -> dict[str, Any]:
    shown = field.kind != "flag" and field.default not in (None, "", ())
    return {} if field.kind in ("texts", "mapping") else {"default": field.default, "show_default": shown}


map_flag = run_flags(only=["mapping"])
asking_flags = run_flags("request")  # what is sent, how it gets there, and how the response is read
dedupe_flag = run_flags(only=["dedupe"])


_OTHERS = "Your system, if not an HTTP URL: cmd:…, py:module:function, chat:http://…, replay:FILE or demo."
target_flags = together(  # whom to ask, what to send, and how to read the response
    [
        text("--http", "URL", "Your system: a URL that takes a question and answers in JSON."),
        text("--target", "TARGET", _OTHERS),
        run_flags("request", "target"),
    ]
)


def announce(line: str) -> None:
    """What is about to be sent, before it is."""
    say(line, err=True)


def take_target(given: dict[str, Any], *groups: str) -> tuple[str, dict[str, Any]]:
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

    target, options = take_target(given, "limits", "file")
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
    refuse_failed(summary.failed, done, out)
    if summary.stopped:
        say(f"Stopped: {summary.stopped}. Continue with --resume.", err=True)


def refuse_failed(failed: int, done: int, out: str) -> None:
    """Where every run failed there is nothing to judge."""
    if done and failed == done:
        raise EnvironmentFailure(
            "every run failed, so there is nothing to judge",
            where=out,
            code="run-all-failed",
            hint="Each trace in the file has its error. Fix the cause, then run again with --overwrite.",
        )


def make_room(out: str) -> None:
    """The folder of a journal that is still to be written."""
    Path(os.path.dirname(out) or ".").mkdir(parents=True, exist_ok=True)
