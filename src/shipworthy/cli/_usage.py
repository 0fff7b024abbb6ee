"""What to type in place of a command line that click can't read: the exact command, where the words tell which."""

from __future__ import annotations

import shlex

import click

from ..text import visible


def suggestion(error: click.ClickException, words: list[str]) -> str:
    """`Did you mean: shipworthy latency score --gold g.jsonl`, or nothing; `words` are all that was typed."""
    if not isinstance(error, click.NoSuchOption) or (context := error.ctx) is None:
        return ""
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
