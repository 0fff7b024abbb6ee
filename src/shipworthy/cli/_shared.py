"""What several verbs share: types of flags, and how a decision leaves the program."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import EnvironmentFailure, UsageError
from ..report import FORMATS, form_of

if TYPE_CHECKING:
    from ..decision import Board, Decision

F = TypeVar("F", bound=Callable[..., Any])


class Numbers(click.ParamType[tuple[int, ...]]):
    """`5` or `1,3,5,10`."""

    name = "N[,N…]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(part) for part in str(value).replace(",", " ").split())
        except ValueError:
            self.fail(f"{value!r} is not a number or a list of numbers such as 1,3,5.", param, ctx)


def profile_flag(command: F) -> F:
    return click.option("--profile", type=click.Choice(["strict", "reference"]), default="strict", show_default=True,
                        help="`reference` prints what the original scripts print.")(command)  # fmt: skip


def deciding_flags(command: F) -> F:
    """What every suite that reads lines and has gates of its own takes."""
    return click.option("--only-gates", is_flag=True, help="Decide by the gates named here alone.")(
        proving_flags(command)
    )


def proving_flags(command: F) -> F:
    """What every suite that reads lines takes, also where it has no gates but those that are named."""
    for option in (
        click.argument("more", nargs=-1, metavar="[NAME=VALUE]..."),
        click.option("--require-proof", "--proven", is_flag=True, help="A gate that is met but not proven does not hold."),
        click.option("--offenders", type=click.IntRange(0), default=10, show_default=True, help="How many offenders to show."),
        click.option("--lenient", is_flag=True, help="Skip bad lines, and say that the decision rests on partial data."),
    ):  # fmt: skip
        command = option(command)
    return command


def output_options(command: F) -> F:
    """--json, --format, --output: where the decision goes."""
    for option in (
        click.option("-o", "--output", "outputs", multiple=True, metavar="FILE",
                     callback=_known_forms,
                     help="Also write a report; the ending chooses the format (.html .json .md .tsv .txt .xml for JUnit). "
                          "Repeatable."),
        click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True,
                     help="What to print on standard output; `github` prints workflow annotations."),
        click.option("--json", "form", flag_value="json", help="Short for --format json."),
    ):  # fmt: skip
        command = option(command)
    return command


def _known_forms(_ctx: click.Context, _param: click.Parameter, outputs: tuple[str, ...]) -> tuple[str, ...]:
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


def gate_arguments(gates: Iterable[str], more: Iterable[str]) -> list[str]:
    """`--gates a=1 b=2` without quotes: the second one arrives as an argument of its own."""
    for text in more:
        if not any(sign in text for sign in "=<>≥≤"):
            raise UsageError(f"unexpected argument {text!r}", hint="Gates are written name=value.", code="argument")
    return [*gates, *more]


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
