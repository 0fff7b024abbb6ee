"""What the latency suite counts besides the facts about answers, and its metrics and gates."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import msgspec

from ... import stats
from ...core.evidence import Counted
from ...core.gates import Gate
from ...core.metrics import Computed, Count, Measure, Metric, Percentile, Rate
from ...core.tally import Fact, Tally
from ..answers import metrics as answers
from .baseline import baseline_gates
from .judge import ArmVerdict, Context, TimedRun, Verdict
from .options import Options
from .times import PER_MS, STAGES, length_of

PERCENTILES = (50, 90, 95, 99)
TIMES = tuple(f"p{p}" for p in PERCENTILES)
ACCURACY = ("precision", "chr", "under_refusal", "over_refusal")
UNASKED = "unasked"  # the names of questions without any run on an arm
_MS = Fraction(1, PER_MS)


def aliases(options: Options) -> dict[str, str]:
    return answers.aliases(options) | {"median": "p50", "tail": "tail_amplification", "cost": "cost_per_correct"}


def facts(verdict: Verdict, context: Context) -> Iterator[Counted]:
    """Each arm is a part of the evidence: its answer to the question, and each of its runs."""
    slices = (f"length={length_of(verdict.gold.question)}",)
    for on_arm in verdict.arms:
        counted = answers.answer_facts(on_arm.answer, context.options.k)
        yield Counted(counted, slices, on_arm.arm, verdict.qid, tuple(_named(on_arm)))
        for run in on_arm.runs:
            yield Counted(run_facts(run), run.slices, on_arm.arm)


def _named(on_arm: ArmVerdict) -> Iterator[str]:
    if on_arm.answer.status in ("missing", "error"):
        yield "missing"
    if not on_arm.runs:
        yield UNASKED


def run_facts(run: TimedRun) -> Iterator[Fact]:
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
    listed: list[Metric] = [
        *(_percentile(f"p{p}", "time from question to validated answer", "e2e", p) for p in PERCENTILES),
        Computed(
            "tail_amplification",
            "how many times slower the slowest answers (p99) are than the median (p50)",
            "lower",
            high=None,
            formula=_tail,
        ),
        *(_percentile(f"{stage}_p{p}", f"time in {stage}", f"in_{stage}", p) for stage in STAGES for p in PERCENTILES),
        Computed(
            "cost_per_correct", "total cost divided by correct answers", "lower", high=None, unit=" USD", formula=_cost
        ),
        Rate(
            "failed_runs",
            "share of runs that failed; percentiles leave them out",
            "lower",
            of="runs_failed",
            among="runs",
        ),
        Count(
            "untimed",
            "runs without a recorded latency",
            "lower",
            high=None,
            of=("runs_untimed",),
            completes=True,
        ),
    ]
    return {metric.name: metric for metric in listed} | answers.metrics(options)


def about_time(metric: str) -> bool:
    """Whether a metric is about time or money, and not about answers."""
    timed = metric in ("tail_amplification", "cost_per_correct", "failed_runs", "untimed")
    return timed or metric.rpartition("_")[2] in TIMES


def _percentile(name: str, description: str, of: str, p: int) -> Percentile:
    return Percentile(
        name, f"{description}: percentile {p}", "lower", high=None, unit=" ms", of=of, p=Fraction(p), scale=_MS
    )


def _tail(tally: Tally) -> Measure:
    times = tally.ordered("e2e")
    p99, p50, n = times.percentile(99), times.percentile(50), len(times)
    if not p50 or p99 is None:
        missing = "no latency" if p50 is None else "p50 is 0"
        return Measure("tail_amplification", "coefficient", None, n, missing=missing)
    return Measure("tail_amplification", "coefficient", p99 / p50, n)


def _cost(tally: Tally) -> Measure:
    """Undefined without a correct answer, and as soon as one run that worked does not say what it cost."""
    correct, costs = tally["runs_correct"], tally.values("cost_usd")
    without = tally["runs_without_cost"]
    if not costs or without:
        missing = f"{without} runs have no cost_usd" if costs else "no run has cost_usd"
        return Measure("cost_per_correct", "coefficient", None, correct, unit=" USD", missing=missing)
    if not correct:
        return Measure("cost_per_correct", "coefficient", None, 0, unit=" USD", missing="no answer is correct")
    total = stats.exact_sum(costs)
    return Measure("cost_per_correct", "coefficient", total / correct, correct, unit=" USD")


def gates(context: Context) -> list[Gate]:
    """The budget, the gates of the answers suite, that every run says how long it took, and the usual guards."""
    accuracy = answers.default_gates(context.options.scu_enforced, context.options.allow_missing)
    return [
        Gate.parse(f"p95 <= {context.options.budget}"),
        *(_referred(gate) if context.options.accuracy == "refer" else gate for gate in accuracy),
        Gate.parse("untimed <= 0"),
        *baseline_gates(context.baseline),
    ]


def _referred(gate: Gate) -> Gate:
    """A gate that the answers suite decides by, here for information; whether data is missing is asked everywhere."""
    return gate if gate.metric == "missing" else msgspec.structs.replace(gate, severity="info")


def gate_key(gate: Gate) -> str:
    """A metric may have one gate with a number and one against the baseline: neither replaces the other."""
    return f"{gate.key} against the baseline" if gate.bound.sign else gate.key
