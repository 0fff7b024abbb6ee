"""`shipworthy latency`: how long a validated answer takes, and what that time buys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import EnvironmentFailure
from ._shared import Numbers, emit, gate_arguments, output_options
from ._suite import gold_flag, judging_flags, sweep_flag
from ._target import address_flags, make_room, taken

if TYPE_CHECKING:
    from ..decision import Decision
    from ..runner import Arm, LoadSummary

F = TypeVar("F", bound=Callable[..., Any])


def _loads(context: click.Context, option: click.Parameter, given: str) -> tuple[float, ...]:
    try:
        loads = tuple(float(part) for part in given.replace(",", " ").split())
    except ValueError:
        loads = ()
    if not loads or not all(0 < load < float("inf") for load in loads):
        raise click.BadParameter(f"expected requests per second like 1,5,20, got {given!r}")
    return loads


def _scoring_flags(command: F) -> F:
    """What shapes the verdict, for `score` and for `run`."""
    for option in (
        click.option("--scu-enforced", "--scu_enforced", is_flag=True, help="Constraints count: in precision, and as a gate."),
        click.option("--k", type=Numbers(), default=(5,), help="Depth of recall@k.  [default: 5]"),
        click.option("--arm", metavar="NAME", help="The arm to decide about.  [default: the only one, or the interactive one]"),
        click.option("--baseline", metavar="REPORT", help="An earlier latency report (JSON) on the same gold set."),
        click.option("--relaxed-budget-ms", metavar="MS", help="Budget of the batch choice.  [default: 1.25 × the budget]"),
        click.option("--budget-ms", default="2000", show_default=True, metavar="MS", help="Most that p95 may take."),
        click.option("--gates", multiple=True, metavar="NAME=VALUE,…",
                     help="Bars by name: p50 p90 p95 p99 tail_amplification llm_p95 cost_per_correct precision …; also "
                          "p95[load=5]<=2500 and p95<=baseline*1.10."),
        gold_flag,
    ):  # fmt: skip
        command = option(command)
    return command


@click.group("latency", context_settings={"max_content_width": 100})
def command() -> None:
    """How long does a validated answer take, on each arm, and what does that time buy?"""


@command.command("score", context_settings={"max_content_width": 100})
@click.option("--trace", required=True, metavar="FILE", help="Traces with their latency, JSON lines.")
@click.option("--arms", metavar="FILE|NAMES", help="Arms that must have traces: a TOML file, or names with commas.")
@sweep_flag
@_scoring_flags
@judging_flags
@output_options
def score(arms: str | None, form: str, outputs: Sequence[str], **given: Any) -> int:
    """Score time against accuracy and decide.

    \b
    shipworthy latency score --gold gold.jsonl --trace runs/latency.jsonl --budget-ms 2000
    shipworthy latency score --gold gold.jsonl --trace runs/latency.jsonl --baseline last.json
    """
    return emit(_score(arms=[arm.name for arm in _arms(arms)], **given), form, outputs)


@command.command("run", context_settings={"max_content_width": 100})
@address_flags
@click.option(
    "--trace",
    "--out",
    "trace",
    default="runs/latency.jsonl",
    show_default=True,
    metavar="FILE",
    help="Journal of traces to write; latency.csv goes beside it.",
)
@click.option(
    "--rps",
    "--loads",
    "loads",
    default="1,5,20",
    show_default=True,
    callback=_loads,
    metavar="N[,N…]",
    help="Requests per second: one load after the other.",
)
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Seconds that each load lasts at most.")
@click.option("--max-requests", type=click.IntRange(1), help="Requests of each load at most.")
@click.option("--warmup", type=click.IntRange(0), default=5, show_default=True, help="Questions asked first, not kept.")
@click.option(
    "--timeout-sec",
    "timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="For one request.",
)
@click.option("--arms", metavar="FILE", help="TOML file with one table [arms.NAME] of knobs an arm.")
@click.option(
    "--csv", "csv_path", metavar="FILE", help="Where the table of requests goes.  [default: latency.csv beside --trace]"
)
@click.option("--overwrite", is_flag=True, help="Drop the traces that the file holds.")
@_scoring_flags
@judging_flags
@output_options
def run(arms: str | None, trace: str, loads: tuple[float, ...], duration: float | None, max_requests: int | None,
        warmup: int, timeout: float, csv_path: str | None, overwrite: bool, form: str, outputs: Sequence[str],
        **given: Any) -> int:  # fmt: skip
    """Ask every question on every arm at each load, open loop, then score.

    Requests start at their scheduled times whatever the earlier ones do, and latency counts from the scheduled time.

    \b
    shipworthy latency run --gold gold.jsonl --http http://localhost:8080/qa --rps 5 --duration 60 --arms arms.toml
    """
    from ..contracts import read_gold
    from ..runner import run_load

    target, options = taken(given)
    found = _arms(arms)
    make_room(trace)
    summary = run_load(read_gold(given["gold"]), target, trace, arms=found or None, loads=loads, duration=duration,
                       max_requests=max_requests, warmup=warmup, timeout=timeout, csv_path=csv_path, overwrite=overwrite,
                       options=options)  # fmt: skip
    for step in summary.steps:
        click.echo(str(step), err=True)
    sent = sum(step.sent for step in summary.steps)
    if sent and sent == sum(step.failed for step in summary.steps):
        raise EnvironmentFailure("every run failed, so there is nothing to judge", where=trace, code="run-all-failed",
                                 hint="The errors are in the file. Mend what they say, then run again with --overwrite.")  # fmt: skip
    decision = _score(arms=[arm.name for arm in found], trace=trace, doubts=_doubts(summary), **given)
    return emit(decision, form, outputs)


def _doubts(summary: LoadSummary) -> list[str]:
    """Loads at which the generator was late itself: what they measured is partly its own time."""
    return [str(step) for step in summary.steps if not step.kept_schedule]


def _arms(given: str | None) -> tuple[Arm, ...]:
    """Arms of a TOML file, or just their names."""
    if not given:
        return ()
    from ..runner import Arm, read_arms

    if given.endswith(".toml"):
        return read_arms(given)
    return tuple(Arm(name.strip(), {}) for name in given.split(",") if name.strip())


def _score(gold: str, trace: str, gates: Sequence[str], more: Sequence[str], **given: Any) -> Decision:
    from ..scoring.latency import evaluate_latency

    return evaluate_latency(gold, trace, gates=gate_arguments(gates, more), **given)
