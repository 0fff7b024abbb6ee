"""`shipworthy run`: ask a target every question of the plan and journal the traces."""

from __future__ import annotations

from typing import Any

import click

from ..core.contracts import Gold
from ..core.sources import read_gold
from ..core.subset import choose, parse_where
from ..errors import EnvironmentFailure, UsageError
from ..runner import Plan, RunSummary, make_plan, read_arms, run
from ..text import plural
from ._flags import many, switch, text
from ._say import say, say_json
from ._target import announce, run_flags


@click.command("run")
@click.option(
    "--gold", required=True, type=click.Path(), metavar="FILE", help="Gold set: JSON lines, JSON, CSV or Parquet."
)
@click.option(
    "--target",
    required=True,
    help="Your system: http(s)://…, chat:http://…, cmd:…, py:module:function, replay:FILE or demo.",
)
@click.option("-o", "--out", type=click.Path(), metavar="FILE", help="Where to save the traces, JSON lines.")
@run_flags("grid", "limits", "file")
@text("--filter-failing", "REPORT", "Send only the questions that failed in this report.")
@many("--where", "FIELD=VALUE", "Send only questions with this field, such as tier=smoke. Repeatable.")
@switch("--dry-run", "Print the plan as JSON lines; send nothing.")
@run_flags("request", "target")
def command(gold: str, target: str, out: str | None, filter_failing: str | None, dry_run: bool, **given: Any) -> int:
    """Send every question to your system and save the responses as traces.

    Each question is sent once per seed, rewording, paraphrase and arm. Continue a stopped run with --resume:
    nothing is lost or sent twice.

    \b
    shipworthy run --gold gold.jsonl --target http://localhost:8080/qa --out runs/trace.jsonl
    shipworthy run --gold gold.jsonl --target "cmd:./my_pipeline --json" --out runs/trace.jsonl
    shipworthy run --gold gold.jsonl --target py:mypkg.pipeline:answer --seeds 0-2 --jitters none,ws --out runs/s.jsonl
    shipworthy run --gold gold.jsonl --target demo --filter-failing report.json --out runs/again.jsonl
    """
    given["arms"] = read_arms(given["arms"]) if given["arms"] else None
    wanted = parse_where(given.pop("where"))
    questions = choose(read_gold(gold, given["mapping"], wanted), wanted)
    if filter_failing:
        questions = _failing(questions, filter_failing)
        if not questions:
            say(f"Nothing failed in {filter_failing}, so nothing is sent.")
            return 0
    if dry_run:
        _print_plan(make_plan(questions, **given))
        return 0
    if not out:
        raise UsageError("no output file was given", hint="Add --out FILE.jsonl.", code="run-no-out")
    return _run(questions, target, out, given)


def _failing(questions: list[Gold], report: str) -> list[Gold]:
    """Those of the questions that failed in a report; a report of another gold set is a mistake worth telling."""
    from ..jobs.check import failing_qids

    qids = failing_qids(report)
    found = [item for item in questions if str(item.qid) in qids]
    if qids and not found:
        raise UsageError(
            f"none of the {len(qids)} failing questions is in the gold set",
            where=report,
            hint="Use the gold set that the report was made with.",
            code="run-filter",
        )
    return found


def _run(questions: list[Gold], target: str, out: str, given: dict[str, Any]) -> int:
    try:
        summary = run(questions, target, out, progress=True, announce=announce, **given)
    except KeyboardInterrupt:
        say(f"Interrupted. Finished runs are in {out}; continue with --resume.", err=True)
        return 130
    _print_summary(summary)
    summary.check_mapping()
    if not summary.complete:
        return 3
    if summary.failed == summary.planned:
        raise EnvironmentFailure(
            "every run failed",
            where=out,
            code="run-all-failed",
            hint=_remedy(summary, target),
        )
    return 0


def _remedy(summary: RunSummary, target: str) -> str:
    """What to do where no request was understood: the request is most likely not what the service takes."""
    if set(summary.errors) <= {"http-400", "http-415", "http-422"} and target.startswith(("http:", "https:")):
        return f"Say what it takes with --body, or let `shipworthy init --url {target}` find out."
    return "Fix the cause of the first error, then run again with --overwrite."


def _print_plan(plan: Plan) -> None:
    for ask in plan:
        # the arm names its knobs
        shown = {name: getattr(ask, name) for name in ask.__struct_fields__ if name not in ("knobs", "history")}
        if ask.temperature is None:
            del shown["temperature"]
        say_json(shown, indent=None)


def _print_summary(summary: RunSummary) -> None:
    done = summary.resumed + summary.finished
    reused = f"{summary.reused} reused, " if summary.reused else ""
    say(
        f"{done} of {summary.planned} runs in {summary.out}: {summary.failed} failed, {summary.resumed} resumed, "
        f"{reused}{plural(summary.requests, 'request')}, {summary.seconds:.1f} s"
    )
    if summary.distinct_prompts < summary.planned:
        say(f"{summary.distinct_prompts} distinct prompts: seeds, arms and some rewordings send the same text again")
    if summary.errors:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.errors.items())
        say(f"Failures: {kinds}. First: {summary.first_error[:300]}", err=True)
    if summary.stopped:
        say(f"Stopped: {summary.stopped}. Continue with --resume.", err=True)
