"""`shipworthy run`: ask a target every question of the plan and journal the traces."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ..errors import EnvironmentFailure, UsageError

if TYPE_CHECKING:
    from ..contracts import Gold
    from ..runner import Plan, RunSummary


def _pairs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE options as a dict. A bad one is not shown: it may be a secret."""
    if any("=" not in pair or pair.startswith("=") for pair in given):
        raise click.BadParameter("expected NAME=VALUE.")
    return {name.strip(): value.strip() for name, _, value in (pair.partition("=") for pair in given)}


def _numbers(context: click.Context, option: click.Parameter, given: str) -> tuple[int, ...]:
    """`0,1,2` or `0-4` as numbers."""
    numbers: list[int] = []
    try:
        for part in given.split(","):
            first, dash, last = part.strip().partition("-")
            numbers += range(int(first), int(last) + 1) if dash else [int(first)]
    except ValueError:
        raise click.BadParameter(f"expected numbers like 0,1,2 or 0-4, got {given!r}") from None
    return tuple(numbers)


def _names(context: click.Context, option: click.Parameter, given: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",") if name.strip())


@click.command("run", short_help="Ask a live system and write traces.")
@click.option("--gold", required=True, type=click.Path(), help="Gold set, JSON lines.")
@click.option(
    "--target", required=True, help="http(s)://…, chat:http://…, cmd:…, py:module:function, replay:FILE, demo"
)
@click.option("--out", type=click.Path(), help="Journal of traces to write, JSON lines.")
@click.option("--seeds", default="0", callback=_numbers, show_default=True, help="Like 0,1,2 or 0-4.")
@click.option("--jitters", default="none", callback=_names, show_default=True, help="Of none,ws,punct,syn,order,para.")
@click.option("--paraphrases", is_flag=True, help="Ask each paraphrase of the gold set too.")
@click.option("--arms", "arms_file", type=click.Path(), help="TOML file with one table [arms.NAME] of knobs an arm.")
@click.option("--profile", default="strict", type=click.Choice(["strict", "reference"]), help="Which jitters.")
@click.option("--concurrency", default=8, show_default=True, type=click.IntRange(1, 10_000), help="Asked at a time.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Requests per second at most.")
@click.option("--timeout-sec", default=60.0, show_default=True, type=click.FloatRange(0, min_open=True),
              help="For one attempt, to the last byte.")  # fmt: skip
@click.option(
    "--retries",
    default=3,
    show_default=True,
    type=click.IntRange(0, 100),
    help="On 429, 5xx, lost connections.",
)
@click.option("--max-requests", type=click.IntRange(1), help="Stop after so many requests.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Start nothing after so many seconds.")
@click.option("--max-cost-usd", type=click.FloatRange(0, min_open=True), help="Stop once cost_usd adds up to it.")
@click.option("--warmup", default=0, show_default=True, type=click.IntRange(0), help="Questions asked first, not kept.")
@click.option("--resume", is_flag=True, help="Ask only what --out does not hold yet.")
@click.option("--overwrite", is_flag=True, help="Drop what --out holds.")
@click.option("--dry-run", is_flag=True, help="Print the plan as JSON lines and ask nothing.")
@click.option("--header", "headers", multiple=True, callback=_pairs, metavar="NAME=VALUE",
              help="Sent with each request; ${ENV} is filled in and kept out of everything written.")  # fmt: skip
@click.option("--map", "mapping", multiple=True, callback=_pairs, metavar="FIELD=PATH",
              help="Where a field stands in the answer: claim=data.answer.text, citations=docs[*].id.")  # fmt: skip
@click.option("--model", default="", help="Model of a chat target.")
@click.option("--evidence", default="", type=click.Path(), help="Evidence by qid for a chat target, JSON lines.")
@click.option("--allow-redirects", is_flag=True, help="Follow 307 and 308 on the same host.")
@click.option(
    "--max-response-bytes", default=4_000_000, show_default=True, type=click.IntRange(1), help="Larger fails."
)
def command(gold: str, target: str, out: str | None, dry_run: bool, **given: Any) -> None:
    """Ask TARGET every question × seed × jitter × paraphrase × arm and write the traces to OUT.

    A run that was stopped goes on with --resume: nothing is lost or asked twice.
    """
    from ..contracts import read_gold
    from ..runner import make_plan, read_arms

    arms_file = given.pop("arms_file")
    grid = {name: given.pop(name) for name in ("seeds", "jitters", "paraphrases", "profile")}
    grid["arms"] = read_arms(arms_file) if arms_file else None
    questions = read_gold(gold)
    if dry_run:
        _print_plan(make_plan(questions, **grid))
        return
    if not out:
        raise UsageError("where shall the traces go?", hint="Add --out FILE.jsonl.", code="run-no-out")
    _run(questions, target, out, grid, given)


def _run(questions: list[Gold], target: str, out: str, grid: dict[str, Any], given: dict[str, Any]) -> None:
    from ..runner import TargetOptions, run

    named = ("headers", "mapping", "allow_redirects", "max_response_bytes", "model", "evidence")
    options = TargetOptions(connections=given["concurrency"], **{name: given.pop(name) for name in named})
    try:
        summary = run(questions, target, out, timeout=given.pop("timeout_sec"), options=options, progress=True,
                      **grid, **given)  # fmt: skip
    except KeyboardInterrupt:
        click.echo(f"Interrupted. What was finished is in {out}; go on with --resume.", err=True)
        sys.exit(130)
    _print_summary(summary)
    if not summary.complete:
        sys.exit(3)
    if summary.failed == summary.planned:
        raise EnvironmentFailure("every run failed", where=out, code="run-all-failed",
                                 hint="Mend what the first error says, then run again with --overwrite.")  # fmt: skip


def _print_plan(plan: Plan) -> None:
    import msgspec

    for ask in plan:
        sys.stdout.buffer.write(msgspec.json.encode(ask) + b"\n")


def _print_summary(summary: RunSummary) -> None:
    from ..text import visible

    done = summary.resumed + summary.finished
    click.echo(f"{done} of {summary.planned} runs in {summary.out}: {summary.failed} failed, {summary.resumed} kept from "
               f"before, {summary.requests} requests, {summary.seconds:.1f} s")  # fmt: skip
    if summary.distinct_prompts < summary.planned:
        click.echo(f"{summary.distinct_prompts} distinct prompts: some jitters or seeds send the same text again")
    if summary.errors:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.errors.items())
        click.echo(f"Failures: {kinds}. The first: {visible(summary.first_error, 300)}", err=True)
    if summary.stopped:
        click.echo(f"Stopped: {summary.stopped}. Go on with --resume.", err=True)
