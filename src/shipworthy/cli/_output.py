"""Output: how a decision leaves the program, and how far reading has come."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import EnvironmentFailure
from ..report import FORMATS, form_of

if TYPE_CHECKING:
    from ..core.board import Board
    from ..core.decision import Decision

F = TypeVar("F", bound=Callable[..., Any])


def output_flags(command: F) -> F:
    """--json, --format, --output: where the decision goes."""
    for option in (
        click.option(
            "-o",
            "--output",
            "outputs",
            multiple=True,
            metavar="FILE",
            callback=_check_endings,
            help="Also write a report; the ending chooses the format (.html .json .md .tsv .txt .xml for JUnit). "
            "Repeatable.",
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice(list(FORMATS)),
            default="text",
            show_default=True,
            help="What to print on standard output; `github` prints workflow annotations.",
        ),
        click.option("--json", "form", flag_value="json", help="Short for --format json."),
    ):
        command = option(command)
    return command


def _check_endings(_ctx: click.Context, _param: click.Parameter, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """An ending that names no format is told before anything is asked or scored."""
    for path in outputs:
        form_of(path)
    return outputs


def emit(decision: Decision | Board, form: str, outputs: Iterable[str] = ()) -> int:
    """Print the decision, write the files that were asked for, and return the exit code.

    A file that can't be written is a warning: where a report goes never changes a verdict.
    """
    from .. import report

    try:
        _print(decision, form)
    except BrokenPipeError:  # a reader who has seen enough, such as `head`; the verdict stands
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for path in outputs:
        try:
            report.write(path, report.render(decision, form_of(path)))
        except EnvironmentFailure as error:
            click.echo(f"shipworthy: the report is not written: {error}", err=True)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        _summarise(decision, summary)
    return decision.exit_code


def _print(decision: Decision | Board, form: str) -> None:
    if form == "text":
        from ..report.terminal import print_board

        print_board(decision)
    else:
        from .. import report

        sys.stdout.flush()
        sys.stdout.buffer.write(report.render(decision, form))
    sys.stdout.flush()


def _summarise(decision: Decision | Board, path: str) -> None:
    """Append the Markdown to the job's summary; whatever happens there leaves the verdict as it is."""
    from .. import report

    try:
        with open(path, "ab") as stream:
            stream.write(report.summary(decision, stream.tell()))
    except OSError as error:
        click.echo(f"shipworthy: the job summary can't be written: {error.strerror or error}. [summary]", err=True)


class Ticker:
    """A line on standard error that says how far reading has come, once a second, only for people."""

    def __init__(self, what: str) -> None:
        self._what, self._start = what, time.monotonic()
        self._last = self._start
        self._shown = False

    @classmethod
    def for_people(cls, what: str) -> Ticker | None:
        """A ticker where somebody may be watching, else none: a pipe wants no progress, and no cost for it."""
        return cls(what) if sys.stderr.isatty() else None

    def __call__(self, count: int) -> None:
        now = time.monotonic()
        if now - self._last < 1:
            return
        self._last, self._shown = now, True
        rate = count / max(now - self._start, 1e-9)
        sys.stderr.write(f"\r{count:,} {self._what} read, {rate:,.0f}/s ")
        sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
