"""`shipworthy reason`: run a reasoner over a fixture, score answers, guard a report, lint a fixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..core.decision import Decision, encode
from ..errors import EnvironmentFailure
from ..report import render, write
from ..report.json import dumps
from ..suites import load_suite
from ..suites.reasoning.contracts import ReasonCase, ReasonerAnswer, answer_row, read_fixture
from ..suites.reasoning.lint import lint
from ._flags import score_suite, scoring_command, scoring_flags, switch, text
from ._output import emit, show_findings, write_beside
from ._say import say
from ._target import run_flags

SUITE = load_suite("reasoning")


@click.group("reason")
def command() -> None:
    """Reasoning quality: are answers correct, grounded, decisive and useful?"""


def _finite(context: click.Context, option: click.Parameter, value: float) -> float:
    if not value < float("inf"):  # nan is not below anything
        raise click.BadParameter(f"{value} is not a number of seconds.", context, option)
    return value


@command.command("run")
@click.option("--binary", help="The reasoner: a program, run once per case as `BINARY reason PROMPT --json …`.")
@click.option("--url", help="Or its URL: each case is sent by POST as JSON.")
@text("--python function", "MODULE:NAME", "Or a Python callable.")
@click.option("--model", help="Model to use for every case.")
@click.option("--embed", help="Embedding model to use for every case.")
@click.option("--preset", help="Preset to use for every case.")
@click.option("--project", help="Project to use for every case.")
@click.option("--db", help="Database, passed to the program as --db before `reason`.")
@run_flags(only=["timeout"], timeout={"default": 240.0, "callback": _finite, "help": "Timeout of one case."})
@text(
    "--answers --out answers",
    "FILE",
    "Where to save the answers, one JSON line per case.",
    default="runs/answers.jsonl",
)
@text("--output-dir", "DIR", "Write reason-report.json and a file for each case here.")
@switch("--dry-run", "Print the command lines without running them.")
@scoring_flags(SUITE, without=["answers"])
def run_command(
    timeout: float,
    answers: str,
    output_dir: str | None,
    dry_run: bool,
    form: str,
    outputs: tuple[str, ...],
    **given: Any,
) -> int:
    """Send every case to a reasoner, save the answers, score them and decide. Exits 0 on SHIP, 1 on NO-SHIP.

    \b
    shipworthy reason run --binary "python -m shipworthy.demo.reasoner" -o report.json
    shipworthy reason run --python my_module:answer --fixture cases.json
    """
    from ..runner.reasoner import SETTINGS, ask_all, command_lines, reasoner_target, select

    settings = {name: given.pop(name) for name in SETTINGS}
    asked = {name: given.pop(name) for name in ("binary", "url", "function", "db")}
    cases = select(read_fixture(given["fixture"]), given["max_cases"], **settings).cases
    if dry_run:
        for line in command_lines(cases, asked["binary"] or "BINARY", asked["db"]):
            say(line)
        return 0
    target = reasoner_target(**asked)
    score_suite(SUITE, {**given, "answers": {}})  # a wrong flag is told before a reasoner is asked for hours
    _write_answers(answers, ask_all(cases, target, timeout=timeout, on_answer=_progress(len(cases))))
    decision = score_suite(SUITE, {**given, "answers": answers})
    code = emit(decision, form, outputs)
    if output_dir and not _write_cases(decision, output_dir):
        return EnvironmentFailure.exit_code
    return code


command.add_command(scoring_command("reasoning", "score"))
command.add_command(scoring_command("guard", "guard"))


@command.command("lint")
@text("--fixture", "FILE", "The cases (default: the fixture that comes with the package).")
@switch("--strict", "Warnings count as errors.")
@switch("--json as_json", "Print the findings as JSON.")
def lint_command(fixture: str | None, strict: bool, as_json: bool) -> int:
    """Find cases that can't fail, can't pass, or expect what the evidence does not say.

    \b
    shipworthy reason lint --fixture cases.json

    Exits 1 when there are errors (with --strict, warnings too), else 0.
    """
    return show_findings(lint(fixture), strict, as_json)


def _progress(total: int) -> Callable[[ReasonCase, ReasonerAnswer], None]:
    count = iter(range(1, total + 1))

    def tell(case: ReasonCase, answer: ReasonerAnswer) -> None:
        say(f"{next(count)}/{total} {case.id}: {answer.error or 'answered'}", err=True)

    return tell


def _write_answers(path: str, answers: dict[str, ReasonerAnswer]) -> None:
    write(path, b"".join(encode(answer_row(id_, answer), indent=None) + b"\n" for id_, answer in answers.items()))


def _write_cases(decision: Decision, folder: str) -> bool:
    """The report and a file for each case; False as soon as one can't be written."""
    return write_beside(f"{folder}/reason-report.json", render(decision, "json")) and all(
        write_beside(f"{folder}/{_file_name(position, result['id'])}.json", dumps(result) + b"\n")
        for position, result in enumerate(decision.report()["results"], 1)
    )


def _file_name(number: int, id_: str) -> str:
    return f"{number:03d}-" + "".join(c if c.isalnum() or c in "-_" else "_" for c in id_)[:80]
