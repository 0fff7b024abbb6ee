"""The command line: one verb, one file, one library call."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from .._version import __version__
from ..errors import ShipworthyError
from ..suites import SUITES

# verb → what `shipworthy --help` says of it; its module in this folder has a click command named `command`
COMMANDS = {
    "demo": "Ask the embedded pipeline, judge it with every suite, and see a gate fail on purpose.",
    "init": "Write a config, a starter gold set and a CI workflow.",
    "check": "Run every suite of the config and give one decision: the main job in CI.",
    "run": "Ask a live system the questions of a gold set and write traces.",
    "score": "Answers: precision, citations, refusals, constraints, recall.",
    "stability": "Do seeds and harmless rewording change the answers?",
    "latency": "Is it fast enough for how right it is?",
    "agreement": "Do two validators, or any number of raters, agree well enough?",
    "retrieval": "May the shadow index replace the live one?",
    "reason": "Reasoning quality: run, score, guard.",
    "outcomes": "Did people accept and act on it?",
    "controls": "Would these gates stop a pipeline that is known to be bad?",
    "gold": "Look after a gold set: lint, freeze, verify, diff.",
    "compare": "Two runs on the same gold: what flipped, and is it noise?",
    "history": "Earlier runs: list, show, trend, report, nightly.",
    "baseline": "Runs that were blessed by name.",
    "verify": "Recompute a report from its inputs.",
    "schema": "JSON Schemas for editors.",
}
_ELSEWHERE = ("answers", "reasoning", "raters", "guard")  # suites whose verb has another name
# A suite without a verb of its own gets one made from its inputs and options.
_MADE = {name: question for name, question in SUITES.items() if name not in COMMANDS and name not in _ELSEWHERE}
COMMANDS |= _MADE


class Lazy(click.Group):
    """A group that imports a verb only when it is called, so that --help and small runs start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in _MADE:
            from ._scoring import scoring_command

            return scoring_command(cmd_name, cmd_name)
        command: click.Command = import_module(f".{cmd_name}", __name__).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="shipworthy")
def group() -> None:
    """Is this pipeline allowed to ship?

    Reads a gold set and the traces of a RAG, grounded-QA or reasoning pipeline, scores them without any model call,
    and says SHIP or NO-SHIP, why, and how sure it is.

    \b
    Exit codes: 0 SHIP · 1 NO-SHIP · 2 usage · 3 no verdict (data) · 4 environment · 130 interrupted
    """


def main(args: list[str] | None = None) -> int:
    """Run the command line; every way out has its exit code."""
    try:
        code: Any = group.main(args, standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except ShipworthyError as error:
        click.echo(f"shipworthy: {error}", err=True)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("shipworthy: interrupted", err=True)
        code = 130
    except BrokenPipeError:  # the reader of our output has gone; say nothing to nobody
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except OSError as error:
        click.echo(f"shipworthy: {error.strerror or error}. [environment]", err=True)
        code = 4
    return code if isinstance(code, int) else 0
