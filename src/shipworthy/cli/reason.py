"""`shipworthy reason`: run a reasoner over a fixture, score answers, guard a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._shared import emit, gate_arguments, output_options
from ._shares import SHARE

if TYPE_CHECKING:
    from ..decision import Decision
    from ..suites.reasoning import Fixture
    from ..suites.reasoning.answers import AnswerSource

# bars of `guard` and their defaults, as the help says them; a test holds them against the suite's
GUARDRAILS = {
    "min_pass_rate": "0.8", "min_overall": "0.72", "min_grounding": "0.62", "min_actionability": "0.65",
    "min_usefulness": "0.68", "min_contradiction": "0.5", "max_error_rate": "0.05", "max_empty_content_rate": "0.02",
    "max_hard_failure_rate": "0.1", "min_cases": "20",
}  # fmt: skip


@click.group("reason", context_settings={"max_content_width": 100})
def command() -> None:
    """Reasoning quality: are answers right, sourced, decided and of use?"""


def _judging_options(function: Any) -> Any:
    for option in (
        click.argument("more", nargs=-1, metavar="[NAME=VALUE]..."),
        click.option("--require-proof", "--proven", is_flag=True, help="A gate that is met but not proven does not hold."),
        click.option("--offenders", type=click.IntRange(0), default=10, show_default=True,
                     help="How many offenders to show."),
        click.option("--only-gates", is_flag=True, help="Decide by the gates named here alone."),
        click.option("--gates", multiple=True, metavar="NAME=VALUE,…",
                     help="Bars in place of the fixture's, such as pass_rate=0.8,factual_grounding=0.7."),
        click.option("--max-cases", type=click.IntRange(1), help="Only the first so many cases."),
        click.option("--fail-on-errors", is_flag=True, help="Any case that ended in an error stops the suite."),
        click.option("--suite-min-pass-rate", type=SHARE, help="Overwrite the fixture's bar for the suite."),
        click.option("--case-min-overall", type=SHARE, help="Overwrite the fixture's bar for a case."),
        click.option("--profile", type=click.Choice(["grounded", "signals"]), default="grounded", show_default=True,
                     help="grounded decides; signals is the original format lint."),
        click.option("--fixture", metavar="FILE", help="The cases (default: the fixture that comes with the package)."),
    ):  # fmt: skip
        function = option(function)
    return output_options(function)


def _finite(context: click.Context, option: click.Parameter, value: float) -> float:
    if not value < float("inf"):  # nan is not below anything
        raise click.BadParameter(f"{value} is not a number of seconds.", context, option)
    return value


@command.command("run", context_settings={"max_content_width": 100})
@click.option("--binary", help="The reasoner: a program, run once a case as `BINARY reason PROMPT --json …`.")
@click.option("--url", help="Or its address: each case is posted as JSON.")
@click.option("--python", "function", metavar="MODULE:NAME", help="Or a Python callable.")
@click.option("--model", help="For every case.")
@click.option("--embed", help="For every case.")
@click.option("--preset", help="For every case.")
@click.option("--project", help="For every case.")
@click.option("--db", help="Handed on as --db before `reason`.")
@click.option("--timeout-sec", type=click.FloatRange(0, min_open=True), default=240, show_default=True, callback=_finite,
              help="How long one case may take.")  # fmt: skip
@click.option("--output-dir", metavar="DIR", help="Write reason-report.json and a file for each case here.")
@click.option("--dry-run", is_flag=True, help="Print the command lines and ask nobody.")
@_judging_options
def run_command(
    binary: str | None, url: str | None, function: str | None, model: str | None, embed: str | None,
    preset: str | None, project: str | None, db: str | None, timeout_sec: float, output_dir: str | None,
    dry_run: bool, fixture: str | None, max_cases: int | None, form: str, outputs: tuple[str, ...], **options: Any,
) -> int:  # fmt: skip
    """Ask a reasoner every case, judge the answers, and decide. Exits 0 when the suite ships, 1 when not.

    \b
    shipworthy reason run --binary "python -m shipworthy.demo.reasoner" -o report.json
    shipworthy reason run --python my_module:answer --fixture cases.json
    """
    from ..scoring.reasoning import read_fixture
    from ..suites.reasoning.run import Overrides, ask_all, select

    cases = select(read_fixture(fixture), Overrides(preset, project, model, embed), max_cases)
    if dry_run:
        return _print_commands(cases, binary or "BINARY", db)
    target = _target(binary, url, function, db, timeout_sec)
    _rehearse(cases, outputs, max_cases=max_cases, **options)
    answers = ask_all(cases, target, _progress(len(cases.cases)))
    decision = _decide(cases, answers, max_cases=max_cases, **options)
    if output_dir:
        _write_cases(decision, output_dir)
    return emit(decision, form, outputs)


@command.command("score", context_settings={"max_content_width": 100})
@click.option(
    "--answers", required=True, metavar="FILE", help="One JSON line a case: id, content, evidence?, repaired?."
)
@_judging_options
def score_command(answers: str, fixture: str | None, form: str, outputs: tuple[str, ...], **options: Any) -> int:
    """Judge answers from a file, and decide. Exits 0 when the suite ships, 1 when not.

    \b
    shipworthy reason score --answers answers.jsonl
    shipworthy reason score --fixture cases.json --answers answers.jsonl --gates under_refusal=0 -o report.html
    """
    return emit(_decide(fixture, answers, **options), form, outputs)


def _decide(
    fixture: Fixture | str | None, answers: AnswerSource, gates: tuple[str, ...], more: tuple[str, ...], **options: Any
) -> Decision:
    from ..scoring.reasoning import evaluate_reasoning

    return evaluate_reasoning(fixture, answers=answers, gates=gate_arguments(gates, more), **options)


def _rehearse(fixture: Fixture, outputs: tuple[str, ...], **options: Any) -> None:
    """A wrong flag is said before a reasoner is asked for what may take hours and cost money."""
    from ..report import form_of

    _decide(fixture, {}, **options)
    for path in outputs:
        form_of(path)


def _bars(function: Any) -> Any:
    for name, default in reversed(GUARDRAILS.items()):
        kind: Any = click.IntRange(0) if name == "min_cases" else SHARE
        function = click.option("--" + name.replace("_", "-"), type=kind, help=f"[default: {default}]")(function)
    return function


@command.command("guard", context_settings={"max_content_width": 100})
@click.option("--report", required=True, metavar="FILE", help="A JSON report of `reason run` or `reason score`.")
@_bars
@output_options
def guard_command(report: str, form: str, outputs: tuple[str, ...], **bars: Any) -> int:
    """Hold a finished report against its guardrails. Exits 0 when all hold, 1 when one does not.

    \b
    shipworthy reason guard --report report.json --min-cases 50
    """
    from ..scoring.guard import evaluate_guard

    given = {name: value for name, value in bars.items() if value is not None}
    return emit(evaluate_guard(report, bars=given), form, outputs)


def _target(binary: str | None, url: str | None, function: str | None, db: str | None, timeout: float) -> Any:
    from ..errors import UsageError
    from ..suites.reasoning.run import ask_address, ask_callable, ask_command

    if sum(given is not None for given in (binary, url, function)) != 1:
        hint = "Give one of --binary, --url, --python."
        raise UsageError("which reasoner is asked is not clear", hint=hint, code="reason-target")
    if binary is not None:
        return ask_command(binary, db, timeout)
    if url is not None:
        return ask_address(url, timeout)
    return ask_callable(_callable(function or ""))


def _callable(name: str) -> Any:
    from importlib import import_module

    from ..errors import UsageError

    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as problem:
        hint = "Write it as module:function, importable from here."
        raise UsageError(f"{name!r} can't be imported ({problem})", hint=hint, code="reason-callable") from problem


def _print_commands(fixture: Fixture, binary: str, db: str | None) -> int:
    import shlex

    from ..suites.reasoning.run import command_line, split

    for case in fixture.cases:
        click.echo(shlex.join(command_line(split(binary), case, db)))
    return 0


def _progress(total: int) -> Any:
    count = iter(range(1, total + 1))

    def say(case: Any, answer: Any) -> None:
        click.echo(f"{next(count)}/{total} {case.id}: {answer.error or 'answered'}", err=True)

    return say


def _write_cases(decision: Decision, folder: str) -> None:
    """The report and a file for each case."""
    from ..decision import encode
    from ..report import render, write

    write(f"{folder}/reason-report.json", render(decision, "json"))
    for position, result in enumerate(decision.report()["results"], 1):
        write(f"{folder}/{_file_name(position, result['id'])}.json", encode(result) + b"\n")


def _file_name(number: int, id_: str) -> str:
    return f"{number:03d}-" + "".join(c if c.isalnum() or c in "-_" else "_" for c in id_)[:80]
