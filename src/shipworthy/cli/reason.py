"""`shipworthy reason`: run a reasoner over a fixture, score answers, guard a report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ._shares import SHARE

if TYPE_CHECKING:
    from ..suites.reasoning import Fixture, Scorecard


@click.group("reason")
def command() -> None:
    """Reasoning quality: are answers right, sourced, decided and of use?"""


def _fixture_options(function: Any) -> Any:
    for option in (
        click.option("--fixture", metavar="FILE", help="The cases (default: the fixture that comes with the package)."),
        click.option("--profile", type=click.Choice(["grounded", "signals"]), default="grounded", show_default=True,
                     help="grounded decides; signals is the original format lint."),
        click.option("--case-min-overall", type=SHARE, help="Overwrite the fixture's bar for a case."),
        click.option("--suite-min-pass-rate", type=SHARE, help="Overwrite the fixture's bar for the suite."),
        click.option("--fail-on-errors", is_flag=True, help="Any case that ended in an error stops the suite."),
        click.option("--max-cases", type=click.IntRange(1), help="Only the first so many cases."),
        click.option("-o", "--output", metavar="FILE", help="Write the JSON report here."),
        click.option("--json", "as_json", is_flag=True, help="Print the JSON report."),
    ):  # fmt: skip
        function = option(function)
    return function


@command.command("run")
@click.option("--binary", help="The reasoner: a program, run once a case as `BINARY reason PROMPT --json …`.")
@click.option("--url", help="Or its address: each case is posted as JSON.")
@click.option("--python", "function", metavar="MODULE:NAME", help="Or a Python callable.")
@click.option("--model", help="For every case.")
@click.option("--embed", help="For every case.")
@click.option("--preset", help="For every case.")
@click.option("--project", help="For every case.")
@click.option("--db", help="Handed on as --db before `reason`.")
@click.option("--timeout-sec", type=click.FloatRange(0, min_open=True), default=240, show_default=True)
@click.option("--output-dir", metavar="DIR", help="Write reason-report.json and a file for each case here.")
@click.option("--dry-run", is_flag=True, help="Print the command lines and ask nobody.")
@_fixture_options
def run_command(
    binary: str | None, url: str | None, function: str | None, model: str | None, embed: str | None,
    preset: str | None, project: str | None, db: str | None, timeout_sec: float, output_dir: str | None,
    dry_run: bool, **options: Any,
) -> int:  # fmt: skip
    """Ask a reasoner every case, judge the answers, and decide. Exits 0 when the suite ships, 1 when not."""
    from ..suites.reasoning.run import Overrides, ask_all, select

    fixture = select(_fixture(options), Overrides(preset, project, model, embed), options["max_cases"])
    if dry_run:
        return _print_commands(fixture, binary or "BINARY", db)
    answers = ask_all(fixture, _target(binary, url, function, db, timeout_sec), _progress(len(fixture.cases)))
    return _finish(fixture, answers, options, output_dir)


@command.command("score")
@click.option(
    "--answers", required=True, metavar="FILE", help="One JSON line a case: id, content, evidence?, repaired?."
)
@_fixture_options
def score_command(answers: str, **options: Any) -> int:
    """Judge answers from a file, and decide. Exits 0 when the suite ships, 1 when not."""
    from ..suites.reasoning.run import Overrides, read_answers, select

    fixture = select(_fixture(options), Overrides(), options["max_cases"])
    found, counts = read_answers(answers, fixture)
    for name, count in counts.items():
        if count:
            click.echo(f"warning: {count} {name.replace('_', ' ')} in {answers}", err=True)
    return _finish(fixture, found, options, None)


def _bars(function: Any) -> Any:
    from ..suites.reasoning.guard import BARS

    for name, default in reversed(BARS.items()):
        kind: click.ParamType[Any] = click.IntRange(0) if name == "min_cases" else SHARE
        flag = "--" + name.replace("_", "-")
        function = click.option(flag, type=kind, help=f"[default: {float(default):g}]")(function)
    return function


@command.command("guard")
@click.option("--report", required=True, metavar="FILE", help="A report of `reason run` or `reason score`.")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
@_bars
def guard_command(report: str, as_json: bool, **bars: Any) -> int:
    """Hold a finished report against its guardrails. Exits 0 when all hold, 1 when one does not."""
    from fractions import Fraction

    from ..suites.reasoning.guard import guard, load_report

    given = {name: Fraction(value) for name, value in bars.items() if value is not None}
    checks = guard(load_report(report), given, report)
    held = all(check.holds for check in checks)
    if as_json:
        rows = [
            {"bar": c.name, "value": None if c.value is None else float(c.value), "bound": float(c.bound), "n": c.n, "holds": c.holds}
            for c in checks
        ]  # fmt: skip
        click.echo(json.dumps({"checks": rows, "passed": held}, indent=2))
    else:
        for check in checks:
            click.echo(f"{'ok  ' if check.holds else 'FAIL'}  {check}")
        click.echo("GUARDED" if held else "NOT GUARDED")
    return 0 if held else 1


def _fixture(options: dict[str, Any]) -> Fixture:
    from dataclasses import replace
    from importlib.resources import as_file, files

    from ..suites.reasoning import load_fixture

    if options["fixture"]:
        fixture = load_fixture(options["fixture"])
    else:
        with as_file(files("shipworthy") / "data" / "reason-v1.json") as path:
            fixture = load_fixture(path)
    bars = {name: options[name] for name in ("case_min_overall", "suite_min_pass_rate") if options[name] is not None}
    return replace(fixture, thresholds=replace(fixture.thresholds, **bars))


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

    from ..suites.reasoning.run import command_line

    for case in fixture.cases:
        click.echo(shlex.join(command_line(shlex.split(binary), case, db)))
    return 0


def _progress(total: int) -> Any:
    count = iter(range(1, total + 1))

    def say(case: Any, answer: Any) -> None:
        click.echo(f"{next(count)}/{total} {case.id}: {answer.error or 'answered'}", err=True)

    return say


def _finish(fixture: Fixture, answers: Any, options: dict[str, Any], output_dir: str | None) -> int:
    """Score, write what was asked for, print, and return the exit code."""
    from ..report import write
    from ..suites.reasoning import report, score

    card = score(fixture, answers, options["profile"], options["fail_on_errors"])
    body = report(card)
    outputs = [(options["output"], body)] if options["output"] else []
    if output_dir:
        outputs.append((f"{output_dir}/reason-report.json", body))
        outputs += [(f"{output_dir}/{_file_name(n, r['id'])}.json", r) for n, r in enumerate(body["results"], 1)]
    for path, content in outputs:
        write(path, (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace"))
    if options["as_json"]:
        click.echo(json.dumps(body, ensure_ascii=True, indent=2))
    else:
        _print(card)
    return 0 if card.ships else 1


def _file_name(number: int, id_: str) -> str:
    return f"{number:03d}-" + "".join(c if c.isalnum() or c in "-_" else "_" for c in id_)[:80]


def _print(card: Scorecard) -> None:
    from ..suites.reasoning import DIMENSIONS
    from ..text import visible

    for verdict in card.verdicts:
        overall = "   -  " if verdict.overall is None else f"{float(verdict.overall):.4f}"
        why = ", ".join(verdict.hard_failures)
        click.echo(
            f"{'ok  ' if verdict.passed else 'FAIL'}  {overall}  {visible(verdict.case_id)}{'  ' + why if why else ''}"
        )
    click.echo("")
    for name in DIMENSIONS:
        mean, n = card.average(name)
        click.echo(f"{name:<23} {'undefined' if mean is None else f'{float(mean):.4f}'}  n={n}")
    for name, (count, among) in card.refusals().items():
        click.echo(f"{name:<23} {count}/{among}")
    click.echo(f"{'passed':<23} {card.passed}/{len(card.verdicts)}, {card.errors} errors")
    if card.profile == "signals":
        click.echo("signals is a format lint: it does not know what is true")
    for reason in card.reasons():
        click.echo(f"because {reason}")
    click.echo("SHIP" if card.ships else "NO-SHIP")
