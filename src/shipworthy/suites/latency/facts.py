"""What the latency suite counts besides the facts about answers, and its metrics and gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from ... import stats
from ...gates import Gate
from ...metrics import Computed, Count, Measure, Metric, Percentile, Rate
from ...tally import Fact, Tally
from .. import answers
from .times import PER_MS, STAGES
from .verdict import Options, Run

PERCENTILES = (50, 90, 95, 99)
ALIASES = answers.ALIASES | {"median": "p50", "tail": "tail_amplification", "cost": "cost_per_correct"}
ACCURACY = ("precision", "chr", "under_refusal", "over_refusal")
AGAINST_BASELINE = ("p95 <= baseline * 1.15", "precision >= baseline - 0.02", "p50 <= baseline * 1.2",
                    "p90 <= baseline * 1.5", "cost_per_correct <= baseline * 1.3")  # fmt: skip
_MS = Fraction(1, PER_MS)


def run_facts(run: Run) -> Iterator[Fact]:
    """The facts about one run: its time, its stages, its cost, and whether that bought a right answer."""
    yield "runs"
    if run.cost is not None:
        yield "cost_usd", run.cost  # a failed run has to be paid for too
    elif not run.failed:
        yield "runs_without_cost"
    if run.failed:
        yield "runs_failed"
        return
    if run.times.total is None:
        yield "runs_untimed"
    else:
        yield "e2e", run.times.total
        if run.times.summed:
            yield "runs_summed"
    for stage, value in run.times.stages.items():
        yield f"in_{stage}", value
    if run.correct:
        yield "runs_correct"


def metrics(options: Options) -> dict[str, Metric]:
    """The percentiles, what they cost, and every metric of the answers suite."""
    found: list[Metric] = [
        *(_percentile(f"p{p}", "question received to validated answer", "e2e", p) for p in PERCENTILES),
        Computed("tail_amplification", "p99 over p50: how much worse the tail is than the middle", "lower", high=None,
                 formula=_tail),
        *(_percentile(f"{stage}_p{p}", f"time in {stage}", f"in_{stage}", p) for stage in STAGES for p in PERCENTILES),
        Computed("cost_per_correct", "total cost over correct answers", "lower", high=None, unit=" USD", formula=_cost),
        Rate("failed_runs", "runs that failed; their time is in no percentile", "lower", of="runs_failed", among="runs"),
        Count("untimed", "runs that don't say how long they took", "lower", high=None, of=("runs_untimed",), completes=True),
    ]  # fmt: skip
    return {metric.name: metric for metric in found} | answers.metrics(options.answers)


def _percentile(name: str, says: str, of: str, p: int) -> Percentile:
    return Percentile(name, f"{says}: percentile {p}", "lower", high=None, unit=" ms", of=of, p=Fraction(p), scale=_MS)


def _tail(tally: Tally) -> Measure:
    times: Mapping[Any, int] = tally.values("e2e")
    p99, p50 = (stats.percentile_of_counts(times, p) for p in (99, 50))
    n = sum(times.values())
    if not p50 or p99 is None:
        missing = "no latency" if p50 is None else "p50 is 0"
        return Measure("tail_amplification", "coefficient", None, n, missing=missing)
    return Measure("tail_amplification", "coefficient", p99 / p50, n)


def _cost(tally: Tally) -> Measure:
    """Undefined without a correct answer, and as soon as one run that worked does not say what it cost."""
    correct, costs = tally["runs_correct"], tally.values("cost_usd")
    without = tally["runs_without_cost"]
    if not costs or without:
        missing = f"{without} runs don't say what they cost" if costs else "no run says what it cost"
        return Measure("cost_per_correct", "coefficient", None, correct, unit=" USD", missing=missing)
    if not correct:
        return Measure("cost_per_correct", "coefficient", None, 0, unit=" USD", missing="no answer is correct")
    total = sum((Fraction(cost) * count for cost, count in costs.items()), Fraction(0))
    return Measure("cost_per_correct", "coefficient", total / correct, correct, unit=" USD")


def gates(options: Options) -> list[Gate]:
    """The budget, the gates of the answers suite, and that every run says how long it took."""
    return [Gate.parse(f"p95 <= {options.budget_ms}"), *answers.gates(options.answers), Gate.parse("untimed <= 0")]
