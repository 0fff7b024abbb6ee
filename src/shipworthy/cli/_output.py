"""Output: how a decision leaves the program, how far reading has come; and no output takes the place of an input."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..report import form_of, pieces, summary, write
from ..text import visible
from ._say import say, say_json, tell, write_out

if TYPE_CHECKING:
    from ..core.board import Board
    from ..core.decision import Decision


VERBOSE = "shipworthy.verbose"
STAMPED = ("json", "html", "markdown")  # formats that say which build was judged


def is_verbose() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(VERBOSE))


def emit(decision: Decision | Board, form: str, outputs: Iterable[str] = ()) -> int:
    """Print the decision, write the files that were asked for, and return the exit code.

    The verdict stays what it is, whatever becomes of a destination. Where one that was asked for can't be written, the
    exit code says so: 4, after everything else was done.
    """
    if form in STAMPED or outputs or os.environ.get("GITHUB_STEP_SUMMARY"):
        from ..jobs.commit import stamp

        stamp(decision, ask_git=False)
    return finish(decision, show(decision, form), outputs)


def shows_items(form: str, outputs: Iterable[str]) -> bool:
    """Whether anything that was asked for may show a row for each item; what is printed for people does not."""
    return form != "text" or bool(outputs) or bool(os.environ.get("GITHUB_STEP_SUMMARY"))


def show(decision: Decision | Board, form: str) -> bool:
    """Print the decision; False where standard output takes no more, such as on a full disk."""
    try:
        if form == "text":
            from ..report.terminal import for_stream

            write_out(for_stream(decision, sys.stdout, is_verbose()))
        else:
            write_out(pieces(decision, form))
    except OSError as error:
        say(f"shipworthy: the verdict can't be printed: {error.strerror or error}. [environment]", err=True)
        say(f"shipworthy: it is {decision.verdict}", err=True)
        return False
    return True


def finish(decision: Decision | Board, printed: bool, outputs: Iterable[str] = ()) -> int:
    """Write the reports and the job's summary of a decision that was printed, or not; the exit code of it all."""
    done = [printed, *(write_beside(path, pieces(decision, form_of(path))) for path in outputs)]
    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        _summarise(decision, place)
    return decision.exit_code if all(done) else EnvironmentFailure.exit_code


def write_beside(path: str, content: bytes | Iterable[bytes]) -> bool:
    """Write one file beside the verdict; False, and said, where that is impossible."""
    try:
        write(path, content)
    except EnvironmentFailure as error:
        say(f"shipworthy: the report is not written: {error}", err=True)
        return False
    return True


def _summarise(decision: Decision | Board, path: str) -> None:
    """Append the Markdown to the job's summary; whatever happens there leaves the verdict as it is."""
    try:
        with open(path, "ab") as stream:
            stream.write(summary(decision, stream.tell()))
    except OSError as error:
        say(f"shipworthy: the job summary can't be written: {error.strerror or error}. [summary]", err=True)


def show_findings(findings: Sequence[Any], strict: bool, as_json: bool) -> int:
    """Print what a lint found; the exit code is 1 where there are errors, or with `strict` warnings."""
    import msgspec

    from ..text import plural

    errors, warnings = (sum(one.severity == kind for one in findings) for kind in ("error", "warning"))
    if as_json:
        say_json(msgspec.to_builtins(findings))
    else:
        for finding in findings:
            say(f"{finding.severity}: {finding}")
        say(f"{plural(errors, 'error')}, {plural(warnings, 'warning')}")
    return 1 if errors or (strict and warnings) else 0


class Ticker:
    """A line on standard error that says how far reading has come, once a second, only for people."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._shown = False

    def __call__(self, count: int) -> None:
        now = time.monotonic()
        if now - self._last < 1:
            return
        self._last, self._shown = now, True
        rate = count / max(now - self._start, 1e-9)
        tell(f"\r{count:,} records read, {rate:,.0f}/s ")

    def close(self) -> None:
        if self._shown:
            tell("\r\x1b[K")


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
    if call is None or not any(map(is_output, command.params)) or hasattr(call, "__wrapped__"):
        return command

    @wraps(call)
    def look_first(**given: Any) -> Any:
        context = click.get_current_context()
        if written := list(_written(context)):
            read = list(_read(context))
            for flag, path in written:
                _refuse(flag, path, read)
        return call(**given)

    command.callback = look_first
    return command


def is_output(param: click.Parameter) -> bool:
    return not FILES.isdisjoint(param.opts) or not FOLDERS.keys().isdisjoint(param.opts)


def _written(context: click.Context) -> Iterator[tuple[str, str]]:
    """Each file that a flag names to be written, if it is there already."""
    for param in filter(is_output, context.command.params):
        names = next((FOLDERS[name] for name in param.opts if name in FOLDERS and param.metavar == "DIR"), ())
        for path in _texts(context.params.get(param.name or "")):
            for file in _in_folder(path, names) if names else [path]:
                if os.path.isfile(file):
                    yield param.opts[-1], file


def _in_folder(path: str, names: tuple[str, ...]) -> list[str]:
    from glob import glob  # which a small score does without

    return [os.path.join(path, file) for name in names for file in glob(name, root_dir=path)]


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
