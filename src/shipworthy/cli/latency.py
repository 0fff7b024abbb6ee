"""`shipworthy latency`: how long a validated answer takes, and what that time buys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..core.sources import read_gold
from ..suites import load_suite
from ._flags import AmountList, score_suite, scoring_flags, text
from ._output import emit
from ._say import say
from ._target import make_room, refuse_failed, run_flags, take_target, target_flags

if TYPE_CHECKING:
    from ..runner import Arm, LoadSummary

SUITE = load_suite("latency")


@click.group("latency")
def command() -> None:
    """Is it fast enough, and what does speed cost in accuracy?"""


@command.command("score")
@text("--arms", "FILE|NAMES", "Arms that must have traces: a TOML file, or names separated by commas.")
@scoring_flags(SUITE, without=["arms"])
def score(arms: str | None, form: str, outputs: tuple[str, ...], **given: object) -> int:
    """Score latency and accuracy together and decide.

    \b
    shipworthy latency score --gold gold.jsonl --trace runs/latency.jsonl --budget-ms 2000
    shipworthy latency score --gold gold.jsonl --trace runs/latency.jsonl --baseline last.json
    """
    given["arms"] = [arm.name for arm in _arms(arms)]
    return emit(score_suite(SUITE, given), form, outputs)


@command.command("run")
@target_flags
@text(
    "--trace --out trace", "FILE", "Where to save the traces; latency.csv goes beside it.", default="runs/latency.jsonl"
)
@click.option(
    "--rps",
    "--loads",
    "loads",
    type=AmountList(),
    default="1,5,20",
    show_default=True,
    help="Requests per second; several loads are run one after the other.",
)
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Most seconds per load.")
@run_flags(
    only=["max_requests", "warmup", "timeout", "arms", "overwrite"],
    max_requests={"help": "Most requests per load."},
    warmup={"default": 5},
)
@text("--csv csv_path", "FILE", "Where the table of requests goes.  [default: latency.csv beside --trace]")
@scoring_flags(SUITE, without=["trace", "arms", "sweep", "map"])
def run(
    arms: str | None,
    trace: str,
    loads: tuple[float, ...],
    duration: float | None,
    csv_path: str | None,
    form: str,
    outputs: tuple[str, ...],
    **given: Any,
) -> int:
    """Send every question on every arm at each load (open loop), then score.

    Requests start at their scheduled times even if earlier ones are still running. Latency counts from the scheduled
    time.

    \b
    shipworthy latency run --gold gold.jsonl --http http://localhost:8080/qa --rps 5 --duration 60 --arms arms.toml
    """
    from ..runner import run_load

    target, options = take_target(given, "limits", "file")
    chosen = _arms(arms)
    make_room(trace)
    summary = run_load(
        read_gold(given["gold"], given["map"]),
        target,
        trace,
        arms=chosen or None,
        loads=loads,
        duration=duration,
        csv_path=csv_path,
        **options,
    )
    _report_steps(summary, trace)
    # Loads at which the generator was late itself: what they measured is partly its own time.
    doubts = [str(step) for step in summary.steps if not step.kept_schedule]
    given |= {"arms": [arm.name for arm in chosen], "trace": trace, "doubts": doubts}
    return emit(score_suite(SUITE, given), form, outputs)


def _report_steps(summary: LoadSummary, trace: str) -> None:
    for step in summary.steps:
        say(str(step), err=True)
    refuse_failed(sum(step.failed for step in summary.steps), sum(step.sent for step in summary.steps), trace)


def _arms(given: str | None) -> tuple[Arm, ...]:
    """Arms of a TOML file, or just their names."""
    if not given:
        return ()
    from ..runner import Arm, read_arms

    if given.endswith(".toml"):
        return read_arms(given)
    return tuple(Arm(name.strip(), {}) for name in given.split(",") if name.strip())
