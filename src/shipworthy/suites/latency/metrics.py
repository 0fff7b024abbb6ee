"""What the latency suite counts besides the facts about answers, and its metrics and gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter

import msgspec

from ... import stats
from ...core.evidence import Counts, together
from ...core.gates import Gate
from ...core.metrics import Computed, Count, Measure, Metric, Percentile, Rate, Words
from ...core.suite import Findings
from ...core.tally import HAS, Fact, Tally, group, lacks_of, more_held
from ..answers import metrics as answers
from ..answers.judge import Verdict
from .options import Context, Options
from .times import PER_MS, STAGES, TimedRun, length_of

PERCENTILES = (50, 90, 95, 99)
TIMES = tuple(f"p{p}" for p in PERCENTILES)
ACCURACY = ("precision", "chr", "under_refusal", "over_refusal")
E2E = "e2e"  # the fact whose values are the times of runs, end to end
UNASKED = "unasked"  # the names of questions without any run on an arm
AGAINST_BASELINE = (
    "p95 <= baseline * 1.15",
    "precision >= baseline - 0.02",
    "p50 <= baseline * 1.2",
    "p90 <= baseline * 1.5",
    "cost_per_correct <= baseline * 1.3",
)
_MS = Fraction(1, PER_MS)
TIME, COST, LOAD = "e2e_ms", "cost_usd", "load_rps"  # values of a run that gates may need, besides its stages


def aliases(options: Options) -> dict[str, str]:
    return answers.aliases(options) | {"median": "p50", "tail": "tail_amplification", "cost": "cost_per_correct"}


def counts_of(arm: str, answer: Verdict, runs: Sequence[TimedRun], question: str, options: Options) -> Iterator[Counts]:
    """Each arm is a part of the evidence: its answer to the question, and each of its runs."""
    slices = (f"length={length_of(question)}",)
    named = [*(["missing"] if answer.row.status in ("missing", "error") else []), *([] if runs else [UNASKED])]
    answered = tuple(answers.answer_facts(msgspec.structs.replace(answer.outline, held=()), options.k))
    yield Counts(answered, slices, arm, named=named)
    values = _held(runs)
    loads = {name for run in runs for name in run.slices}
    yield Counts(values, sorted({*slices, *loads}), arm, named=lacks_of(values))
    for run in runs:
        yield Counts(run_facts(run), run.slices, arm)
    yield from together(runs, attrgetter("slices"), repeat_facts, arm)


def _held(runs: Sequence[TimedRun]) -> tuple[Fact, ...]:
    """Which values that gates may need the runs of a question have and lack; failed ones count as missing runs."""
    has: set[str] = set()
    lacks: set[str] = set()
    for run in runs:
        if run.failed:
            continue
        there = {TIME: run.times.total is not None, COST: run.cost is not None, LOAD: run.load is not None}
        there |= {stage_value(stage): stage in run.times.stages for stage in STAGES}
        has.update(value for value in there if there[value])
        lacks.update(value for value in there if not there[value])
    return more_held((fact for run in runs if not run.failed for fact in run.said), has, lacks)


def stage_value(stage: str) -> str:
    return f"stage_ms.{stage}"


def fact_names(options: Options) -> set[str]:
    """The facts of the answers suite, each run's own, and the values that gates need."""
    values = (TIME, COST, LOAD, *map(stage_value, STAGES))
    names = {"runs", "runs_failed", "runs_untimed", "runs_summed", "runs_correct", "runs_without_cost"}
    names |= {"cost_usd", E2E, "in_*", "runs_of_question", grouped(E2E)}
    return answers.fact_names(options) | names | {HAS + value for value in values}


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
        yield E2E, run.times.total
        if run.times.summed:
            yield "runs_summed"
    for stage, value in run.times.stages.items():
        yield f"in_{stage}", value
    if run.correct:
        yield "runs_correct"


def repeat_facts(runs: Sequence[TimedRun]) -> Iterator[Fact]:
    """What several runs of one question have together: they are one cluster, so that proof counts questions."""
    if len(runs) > 1:
        yield group("runs_of_question", (sum(run.failed for run in runs), len(runs)))
    timed = [run.times for run in runs if not run.failed]
    values = {E2E: [times.total for times in timed if times.total is not None]}
    values |= {f"in_{stage}": [times.stages[stage] for times in timed if stage in times.stages] for stage in STAGES}
    for name, several in values.items():
        if len(several) > 1:
            yield group(grouped(name), tuple(sorted(several)))


def grouped(fact: str) -> str:
    """Under which the values of a question that has several are counted together."""
    return f"{fact}_of_question"


def metrics(options: Options) -> dict[str, Metric]:
    """The percentiles, what they cost, and every metric of the answers suite."""
    listed: list[Metric] = [
        *(_percentile(f"p{p}", _PERCENTILE.fill(N=p), E2E, p, TIME) for p in PERCENTILES),
        Computed(
            "tail_amplification",
            Words(
                "tail amplification",
                "How many times slower the slowest answers (p99) are than the median (p50).",
                "p99 / p50",
            ),
            "lower",
            high=None,
            needs=(TIME,),
            formula=_tail,
        ),
        *(
            _percentile(f"{stage}_p{p}", _IN_STAGE.fill(STAGE=stage, N=p), f"in_{stage}", p, stage_value(stage))
            for stage in STAGES
            for p in PERCENTILES
        ),
        Computed(
            "cost_per_correct",
            Words(
                "cost per correct answer",
                "The cost of one correct answer; failed and wrong runs are paid for too.",
                "total cost / correct answers",
            ),
            "lower",
            high=None,
            unit=" USD",
            needs=(COST,),
            formula=_cost,
        ),
        Rate(
            "failed_runs",
            Words(
                "failed runs",
                "The share of runs that failed; percentiles leave them out.",
                "failed runs / runs",
                "runs",
                "failed",
            ),
            "lower",
            of="runs_failed",
            among="runs",
            groups="runs_of_question",
        ),
        Count(
            "untimed",
            Words("runs without a latency", "Runs whose trace has no latency.", "count of such runs"),
            "lower",
            of=("runs_untimed",),
        ),
    ]
    return {metric.name: metric for metric in listed} | answers.metrics(options)


_PERCENTILE = Words(
    "{N}th-percentile latency",
    "{N} % of the answers take at most this long, from question to validated answer.",
    "percentile {N} of end-to-end times, linear interpolation",
    gate="p95 <= 2000 (--budget-ms)",
    family="p{N}",
)
_IN_STAGE = Words(
    "{N}th-percentile time in {STAGE}",
    "{N} % of the answers spend at most this long in the stage.",
    "percentile {N} of the stage's times, linear interpolation",
    family="{STAGE}_p{N}",
)


def about_time(metric: str) -> bool:
    """Whether a metric is about time or money, and not about answers."""
    timed = metric in ("tail_amplification", "cost_per_correct", "failed_runs", "untimed")
    return timed or metric.rpartition("_")[2] in TIMES


def _percentile(name: str, words: Words, of: str, p: int, value: str) -> Percentile:
    return Percentile(
        name,
        words,
        "lower",
        high=None,
        unit=" ms",
        needs=(value,),
        of=of,
        p=Fraction(p),
        scale=_MS,
        groups=grouped(of),
    )


def _tail(tally: Tally) -> Measure:
    times = tally.ordered(E2E)
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
    """The budget, the gates of the answers suite, and the usual guards."""
    accuracy = answers.default_gates(context.options.scu_enforced, context.options.allow_missing)
    return [
        Gate.parse(f"p95 <= {context.options.budget}"),
        *(_referred(gate) if context.options.accuracy == "refer" else gate for gate in accuracy),
        *_baseline_gates(context.baseline),
    ]


def _baseline_gates(values: Mapping[str, Fraction]) -> list[Gate]:
    """The usual guards where there is a baseline. Costs may never have been logged; what else it lacks is no data."""
    if not values:
        return []
    return [
        gate for gate in map(Gate.parse, AGAINST_BASELINE) if gate.metric in values or gate.metric != "cost_per_correct"
    ]


def _referred(gate: Gate) -> Gate:
    """A gate that the answers suite decides by, here for information; whether data is missing is asked everywhere."""
    return gate if gate.metric == "missing" else msgspec.structs.replace(gate, severity="info")


def compared(findings: Findings, gate: Gate) -> tuple[str, ...]:
    """Every arm, unless one was chosen: times that an arm lacks could make another one decide."""
    context: Context = findings.context
    return context.arms if context.options.arm is None else (findings.part,)


def gate_key(gate: Gate) -> str:
    """A metric may have one gate with a number and one against the baseline: neither replaces the other."""
    return f"{gate.key} against the baseline" if gate.bound.sign else gate.key
