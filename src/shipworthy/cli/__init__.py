"""The command line: one verb, one file, one library call."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from keyword import iskeyword
from typing import Any

import click

from .._version import __version__
from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..suites import SUITES
from ..text import visible
from ._say import flushed, open_streams, reader_left, say, say_json

# verb → what `shipworthy --help` says of it; its module in this folder has a click command named `command`
COMMANDS = {
    "demo": "Try it: score a built-in pipeline with every suite, healthy or with a fault.",
    "init": "Connect your service (--url), or write a starter project with a CI workflow.",
    "check": "Run every suite of the config and give one decision: the main job in CI.",
    "run": "Send every question to your system and save the responses.",
    "import": "Turn exports of tracing and evaluation tools into traces.",
    "push": "Write results back to the traces of Phoenix, Langfuse or LangSmith.",
    "score": "Are the answers correct, cited, and refused when they should be?",
    "explain": "Explain a metric, a reason, one question of the last report, or an error code.",
    "stability": "Do seeds and harmless rewording change the answers?",
    "latency": "Is it fast enough, and what does speed cost in accuracy?",
    "agreement": "Do two validators, or any number of raters, agree well enough?",
    "retrieval": "Does retrieval find the right text, and may a new index replace the live one?",
    "reason": "Are reasoned answers grounded, decisive and useful? Run, score, guard, lint.",
    "outcomes": "Did people accept the answers and act on them?",
    "controls": "Would your gates stop a pipeline that is known to be bad?",
    "gold": "Make, review and maintain a gold set: build, review, refresh, lint, freeze.",
    "compare": "Compare two runs on the same gold set: what changed, and is it noise?",
    "aa": "Compare two runs of the same pipeline: how often would the decision flip?",
    "power": "How many questions do your gates need?",
    "history": "Earlier runs: one question over time, trends, flaky questions, nights.",
    "site": "Write the history as static pages: what is red, since when, what it answered.",
    "serve": "Serve these pages live, take reports from many repositories.",
    "baseline": "Named baselines: bless a run, list them.",
    "verify": "Recompute a report from its inputs.",
    "schema": "Print JSON Schemas for editors.",
    "mcp": "Let a coding assistant check, explain and compare (MCP server).",
}
# Verbs beside another one, in its module, as `VERB_command`.
_WITH = {
    **dict.fromkeys(("aa", "power", "verify"), "compare"),
    **dict.fromkeys(("baseline", "serve", "site"), "history"),
    **dict.fromkeys(("mcp", "schema"), "init"),
    "push": "import",
}
_ELSEWHERE = ("answers", "reasoning", "raters", "guard")  # suites whose verb has another name
_WITHOUT_VERB = {name: question for name, question in SUITES.items() if name not in (*COMMANDS, *_ELSEWHERE)}
# Verbs that need nothing but a suite's inputs and options are made from these: verb → suite.
_MADE = {"score": "answers", "outcomes": "outcomes"} | {name: name for name in _WITHOUT_VERB}
COMMANDS |= _WITHOUT_VERB


class Lazy(click.Group):
    """A group that imports a verb only when it is called, so that --help and small runs start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        home = "_flags" if cmd_name in _MADE else _WITH.get(cmd_name, cmd_name)
        module = import_module(f".{home}{'_' * iskeyword(home)}", __name__)
        if cmd_name in _MADE:
            command = module.scoring_command(_MADE[cmd_name], cmd_name)
        else:
            command = getattr(module, f"{cmd_name}_command" if cmd_name in _WITH else "command")
        gc.freeze()  # what is loaded now stays to the end: to look through it for cycles is a tenth of a small run
        from ._output import guarded

        return guarded(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:
            reader_left()
            raise click.exceptions.Exit(0) from None

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb. What it meets is told by its own exit code: click would make 1, NO-SHIP, of some of it."""
        try:
            return super().invoke(ctx)
        except SystemExit:
            raise EnvironmentFailure("called code tried to exit the program", code="internal") from None
        except KeyboardInterrupt:
            raise click.Abort from None
        except BrokenPipeError as error:
            if reader_left():  # in the middle of a page of help: click's output, all other is looked after by `say`
                raise click.exceptions.Exit(0) from None
            raise EnvironmentFailure(f"a connection ended early: {error.strerror}", code="environment") from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="shipworthy")
def group() -> None:
    """Is this pipeline good enough to ship?

    Scores the responses of a RAG, grounded-QA or reasoning pipeline against a gold set, without calling a model.
    Prints SHIP or NO-SHIP, why, and how certain that is.

    \b
    Exit codes: 0 SHIP · 1 NO-SHIP · 2 usage · 3 no verdict (data) · 4 environment · 130 interrupted
    """


def main(args: list[str] | None = None) -> int:
    """Run the command line; every way out has its exit code, and nobody who stopped reading changes it."""
    open_streams()
    code, error = _run(args)
    if error is not None and _asks_json(sys.argv[1:] if args is None else args):
        _print_error(code, error)
    return code if flushed() else EnvironmentFailure.exit_code


def _run(args: list[str] | None) -> tuple[int, ShipworthyError | None]:
    """The exit code, and the error that it comes from, if any, which was told on standard error."""
    try:
        code: object = group.main(args, standalone_mode=False)
        return code if isinstance(code, int) else 0, None
    except click.exceptions.Exit as stop:
        return stop.exit_code, None
    except SystemExit as stop:  # click's, at the end of shell completion
        return stop.code if isinstance(stop.code, int) else 0, None
    except click.ClickException as error:
        return UsageError.exit_code, _show_usage(error, sys.argv[1:] if args is None else args)
    except ShipworthyError as error:
        first, *others = error.lines or [str(error)]
        for line in (f"shipworthy: {first}", *others):
            say(line, err=True)
        return error.exit_code, error
    except (KeyboardInterrupt, click.Abort):
        say("shipworthy: interrupted", err=True)
        return 130, ShipworthyError("interrupted", hint="Run it again.", code="interrupted")
    except OSError as error:
        found = EnvironmentFailure(_reason(error), code="environment")
        say(f"shipworthy: {found}", err=True)
        return found.exit_code, found
    except Exception as error:
        return EnvironmentFailure.exit_code, _show_fault(error)


def _asks_json(args: list[str]) -> bool:
    """Whether standard output is to be JSON, asked of the words: a call that is wrong has no parsed flags."""
    form = ""
    for word, following in pairwise([*args, ""]):
        if word == "--":
            break
        if word == "--json":
            form = "json"
        elif word == "--format" or word.startswith("--format="):
            form = word.partition("=")[2] or following
    return form == "json"


def _print_error(code: int, error: ShipworthyError) -> None:
    """The error as an object, so that no reader of the JSON takes the absence of a report for a pass."""
    told = {"code": error.code, "where": error.where, "what": error.what, "hint": error.hint}
    with suppress(OSError):  # a full disk: the exit code says the same
        say_json({"decision": "NO VERDICT", "pass": False, "exit_code": code, "error": told})


def _reason(error: OSError) -> str:
    named = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{named}"


def _show_usage(error: click.ClickException, words: list[str]) -> UsageError:
    """What click says of a wrong argument, which it quotes, and what to type instead, where that can be told."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    what, where, hint = " ".join(error.format_message().split()), "", ""
    if context is not None and type(error).__name__ == "NoArgsIsHelpError":  # which click 8.1 does not have
        for line in context.get_help().splitlines():
            say(line)
        return UsageError("a command is missing", where=context.command_path, code="usage")
    if context is not None:
        where, hint = context.command_path, f"Try '{context.command_path} --help' for help."
        for line in context.get_usage().splitlines():
            say(line, err=True)
        say(hint, err=True)
        say("", err=True)
    if meant := suggestion(error, words):
        what, hint = what.partition(" Did you mean")[0], meant  # click's guess is an option of the wrong command
    say(f"Error: {what} {meant}".rstrip(), err=True)
    return UsageError(what, where=where, hint=hint, code="usage")


def _show_fault(error: Exception) -> EnvironmentFailure:
    """A fault of ours: all that is needed to report it, as lines that start with nothing but our own words."""
    import traceback

    for part in traceback.format_exception(error):
        for line in part.splitlines():
            say(f"  {line}", err=True)
    what = f"{type(error).__name__}: {error}"
    found = EnvironmentFailure(what, hint="There is no verdict; please report this.", code="internal")
    say(f"shipworthy: {found}", err=True)
    return found


def suggestion(error: click.ClickException, words: list[str]) -> str:
    """`Did you mean: shipworthy latency score --gold g.jsonl`, or nothing; `words` are all that was typed."""
    if not isinstance(error, click.NoSuchOption) or (context := error.ctx) is None:
        return ""
    import shlex

    depth = _depth(context)
    rest, command = words[depth:], context.command
    if isinstance(command, click.Group):
        meant = _with_verb(command, context, rest, error.option_name)
    else:
        meant = _with_argument(command, context, rest, error.option_name)
    return f"Did you mean: {visible(shlex.join(['shipworthy', *words[:depth], *meant]), 400)}" if meant else ""


def _depth(context: click.Context) -> int:
    """How many of the words name the command."""
    return 0 if context.parent is None else 1 + _depth(context.parent)


def _with_verb(group: click.Group, context: click.Context, rest: list[str], option: str) -> list[str]:
    """The words with the verb that is missing, or in the wrong place: one that knows all options; `score` first."""
    knows = {
        name: {spelling for param in verb.params for spelling in param.opts}
        for name in group.list_commands(context)
        if (verb := group.get_command(context, name)) is not None
    }
    if named := next((word for word in rest if word in knows), None):
        return [named, *(word for word in rest if word != named)] if option in knows[named] else []
    typed = {word.partition("=")[0] for word in rest if word.startswith("--") and word != "--"}
    able = [name for name, known in knows.items() if typed <= known]
    able = able or [name for name, known in knows.items() if option in known]
    return ["score" if "score" in able else able[0], *rest] if able else []


def _with_argument(command: click.Command, context: click.Context, rest: list[str], option: str) -> list[str]:
    """The words without the option's name, where its value is what the command takes without a name, and lacks."""
    place = next((place for place, word in enumerate(rest) if word.partition("=")[0] == option), len(rest))
    before, after = rest[:place], rest[place + 1 :]
    value = rest[place].partition("=")[2] if "=" in rest[place] else after.pop(0) if after else ""
    if not value or value.startswith("-") or _suffices(command, context, [*before, *after]):
        return []
    meant = [*before, value, *after]
    return meant if _suffices(command, context, meant) else []


def _suffices(command: click.Command, context: click.Context, words: list[str]) -> bool:
    """Whether the words have all that the command must be given without a name, and nothing unknown."""
    try:
        found, left, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError:
        return False
    required = [param.name or "" for param in command.params if isinstance(param, click.Argument) and param.required]
    given = (found.get(name) for name in required)  # a mark of click's where there is nothing
    return bool(required) and not left and all(isinstance(one, (str, tuple)) and one for one in given)
