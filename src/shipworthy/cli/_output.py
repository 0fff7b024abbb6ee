"""Output: how a decision leaves the program, and how far reading has come."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..engines import BEFORE, ENGINES, SETTINGS, unknown_engine
from ..errors import EnvironmentFailure
from ..report import FORMATS, form_of
from ._flags import F, text, together, whole
from ._say import say, say_json, tell, write_out

if TYPE_CHECKING:
    from ..core.board import Board
    from ..core.decision import Decision

    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # older releases have no type of choices

_VERBOSE = "shipworthy.verbose"
STAMPED = ("json", "html", "markdown")  # formats that say which build was judged


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
            help="Also write a report; the ending chooses the format (.html .json .md .tsv .txt .xml for JUnit, "
            ".svg for a badge, .badge.json for shields, .prom for OpenMetrics, .csv and .parquet for rows, "
            ".otlp.json for OpenTelemetry, .mlflow.json for MLflow). Repeatable.",
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
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_keep_verbose,
            help="Also show gates that pass, and what each metric means.",
        ),
    ):
        command = option(command)
    return command


def _keep_verbose(ctx: click.Context, _param: click.Parameter, verbose: bool) -> None:
    """Only printing asks for it, so that no command has to pass it on."""
    ctx.meta[_VERBOSE] = verbose


def is_verbose() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_VERBOSE))


class _EngineName(_Choice):
    """A name that an engine had before is answered with the one that it has now."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in BEFORE:
            raise unknown_engine(value)
        return super().convert(value, param, ctx)


def engine_flags(command: F) -> F:
    """--engine and its settings: how the work is done, which changes no byte of what comes out."""
    return together(
        (
            click.option(
                "--engine",
                type=_EngineName(list(ENGINES)),
                default="auto",
                show_default=True,
                help="How to run: `auto` uses all cores if the files are large.",
            ),
            whole("--jobs", 1, SETTINGS["jobs"], metavar="N"),
            text("--scheduler", "ADDRESS", SETTINGS["scheduler"]),
            text("--memory-limit", "SIZE", SETTINGS["memory_limit"]),
        )
    )(command)


def _check_endings(_ctx: click.Context, _param: click.Parameter, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """An ending that names no format is an error before anything is sent or scored."""
    for path in outputs:
        form_of(path)
    return outputs


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
        write_out(_rendered(decision, form))
    except OSError as error:
        say(f"shipworthy: the verdict can't be printed: {error.strerror or error}. [environment]", err=True)
        say(f"shipworthy: it is {decision.verdict}", err=True)
        return False
    return True


def finish(decision: Decision | Board, printed: bool, outputs: Iterable[str] = ()) -> int:
    """Write the reports and the job's summary of a decision that was printed, or not; the exit code of it all."""
    from ..report import pieces

    done = [printed, *(write_beside(path, pieces(decision, form_of(path))) for path in outputs)]
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        _summarise(decision, summary)
    return decision.exit_code if all(done) else EnvironmentFailure.exit_code


def write_beside(path: str, content: bytes | Iterable[bytes]) -> bool:
    """Write one file beside the verdict; False, and said, where that is impossible."""
    from ..report import write

    try:
        write(path, content)
    except EnvironmentFailure as error:
        say(f"shipworthy: the report is not written: {error}", err=True)
        return False
    return True


def _rendered(decision: Decision | Board, form: str) -> str | Iterable[bytes]:
    if form == "text":
        from ..report.terminal import for_stream

        return for_stream(decision, sys.stdout, is_verbose())
    from .. import report

    return report.pieces(decision, form)


def _summarise(decision: Decision | Board, path: str) -> None:
    """Append the Markdown to the job's summary; whatever happens there leaves the verdict as it is."""
    from .. import report

    try:
        with open(path, "ab") as stream:
            stream.write(report.summary(decision, stream.tell()))
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
        tell(f"\r{count:,} {self._what} read, {rate:,.0f}/s ")

    def close(self) -> None:
        if self._shown:
            tell("\r\x1b[K")
