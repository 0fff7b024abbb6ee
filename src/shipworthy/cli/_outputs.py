"""Outputs: no flag that names a file to write may name one that the same command reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from glob import glob
from typing import Any

import click

from ..errors import ShipworthyError, UsageError
from ..text import visible

# Flags that name a file to write; another name of such a flag may be that of an input of another command.
FILES = frozenset(
    (
        *("-o", "--output", "--out", "--comment", "--draft-gold", "--draft", "--csv", "--tsv", "--embed-cache"),
        *("--disagreements", "--ratings"),
    )
)
# Flags that name a folder, and what is written there.
FOLDERS = {
    "--write-trec": ("qrels.txt", "run.txt"),
    "--output-dir": ("reason-report.json", "[0-9][0-9][0-9]-*.json"),
    "--out": ("live.jsonl", "shadow.jsonl", "qrels.txt", "live.run.txt", "shadow.run.txt"),
}


def guarded(command: click.Command) -> click.Command:
    """The command, and those below it, with a look at the flags before anything is read, sent or written."""
    for inner in getattr(command, "commands", {}).values():
        guarded(inner)
    call = command.callback
    if call is not None and any(map(is_output, command.params)) and not hasattr(call, "__wrapped__"):
        command.callback = _looking(call)
    return command


def is_output(param: click.Parameter) -> bool:
    return not FILES.isdisjoint(param.opts) or not FOLDERS.keys().isdisjoint(param.opts)


def _looking(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def look_first(**given: Any) -> Any:
        context = click.get_current_context()
        if written := list(_written(context)):
            read = list(_read(context))
            for flag, path in written:
                _refuse(flag, path, read)
        return call(**given)

    return look_first


def _written(context: click.Context) -> Iterator[tuple[str, str]]:
    """Each file that a flag names to be written, if it is there already."""
    for param in filter(is_output, context.command.params):
        names = next((FOLDERS[name] for name in param.opts if name in FOLDERS and param.metavar == "DIR"), ())
        for path in _texts(context.params.get(param.name or "")):
            files = [file for name in names for file in glob(name, root_dir=path)]
            for file in [os.path.join(path, file) for file in files] if names else [path]:
                if os.path.isfile(file):
                    yield param.opts[-1], file


def _read(context: click.Context) -> Iterator[str]:
    """Every file that the command may read: those of its other flags, its config and what that names, their locks."""
    from ..config import find_config, load_config
    from ..reading.files import STANDARD_INPUT, files_of
    from ..reading.lock import locks_of

    named = [
        text
        for param in context.command.params
        if not is_output(param)
        for text in _texts(context.params.get(param.name or ""))
    ]
    if config := context.params.get("config") or find_config():
        named.append(str(config))
        if "config" in context.params:
            with suppress(ShipworthyError):  # what is wrong with it is told by the command
                suites = load_config(config).suites
                named += [
                    text for suite in suites for text in _texts([*suite.inputs.values(), *suite.options.values()])
                ]
    for text in named:
        for path in (STANDARD_INPUT if text == "-" else text, text.partition("=")[2]):
            if path and "://" not in path:
                yield from files_of(path)
                yield from locks_of(path)


def _texts(value: object) -> list[str]:
    """What a flag was given, once or several times."""
    if isinstance(value, (list, tuple)):
        return [text for one in value for text in _texts(one)]
    return [os.fspath(value)] if isinstance(value, (str, os.PathLike)) else []


def _refuse(flag: str, path: str, read: list[str]) -> None:
    for other in read:
        with suppress(OSError, ValueError):  # gone, or no path at all
            if os.path.samefile(path, other):
                raise UsageError(
                    f"{flag} would replace {visible(other)}, which this command reads",
                    where=visible(path),
                    hint="Give another file.",
                    code="output-is-input",
                )
