"""The judge of the latency suite: every run of a question timed, and on each arm the answer that counts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from ...core.contracts import Gold, Trace, ids_of
from ...core.join import Case
from ...core.tally import Fact
from ..answers import judge as answers
from ..answers.judge import Expected, Judging
from ..stability.grid import in_sweep
from .arms import arm_of
from .options import Options
from .times import Ticks, Times, length_of, times_of


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    judging: Judging
    budget_ms: str  # the p95 gate in force, or else the budget
    slow_after: Ticks  # the same in the unit of times
    baseline: Mapping[str, Fraction] = {}
    baseline_source: Any = None  # what it is read from, until then
    sweep: str = ""  # known when every trace has been seen, as are the arms
    arms: tuple[str, ...] = ()
    summed: frozenset[str] = frozenset()  # the stages whose sum is a run's time, where no run has its time in one


class TimedRun(msgspec.Struct):
    """The facts about one run."""

    qid: str
    times: Times
    failed: bool
    correct: bool
    cost: Fraction | None
    load: float | None
    length: str
    slices: tuple[str, ...]
    said: tuple[Fact, ...] = ()  # which values that gates on answers need it has and lacks

    @property
    def took(self) -> Ticks | None:
        """How long it took, if it worked and says so."""
        return None if self.failed else self.times.total


class ArmVerdict(msgspec.Struct):
    """One question on one arm: its runs, and the answer that counts."""

    arm: str
    answer: answers.Verdict
    runs: list[TimedRun]


def judge_arms(case: Case, expected: Expected, context: Context) -> list[ArmVerdict]:
    """Every arm is judged on the same questions: one that an arm was not asked is missing there."""
    by_arm: dict[str, list[Trace]] = {}
    for trace in case.records["trace"]:
        if not (trace.warmup or trace.reused_from) and in_sweep(trace.sweep_id, context.sweep):
            by_arm.setdefault(arm_of(trace), []).append(trace)
    return [_judge_arm(arm, expected, by_arm.get(arm, []), context) for arm in context.arms]


def _judge_arm(arm: str, expected: Expected, traces: Sequence[Trace], context: Context) -> ArmVerdict:
    """All runs are timed; for accuracy a failed run counts first, then the worst answer."""
    judging = context.judging
    if not traces:
        return ArmVerdict(arm, answers.judge_traces(expected, (), judging), [])
    verdicts = [answers.judge_trace(expected, trace, judging) for trace in traces]
    runs = [
        _timed(expected.gold, trace, verdict, context.summed) for trace, verdict in zip(traces, verdicts, strict=True)
    ]
    return ArmVerdict(arm, min(verdicts, key=_badness), runs)


def _badness(verdict: answers.Verdict) -> tuple[object, ...]:
    """Worst first, by facts alone: which of two equally bad answers counts never depends on the order of lines."""
    row = verdict.row
    ranks = [-(rank or sys.maxsize) for rank in (row.all_rank, row.recall_rank)]
    answer = verdict.trace.answer if verdict.trace else None
    said = (answer.claim, ids_of(answer.citations)) if answer else ()
    return (row.status != "error", verdict.badness, *ranks, said)


def _timed(gold: Gold, trace: Trace, verdict: answers.Verdict, summed: frozenset[str]) -> TimedRun:
    length = length_of(trace.asked or gold.question)
    load = (f"load={trace.load_rps:g}",) if trace.load_rps is not None else ()
    return TimedRun(
        gold.qid,
        times_of(trace, summed),
        verdict.row.status == "error",
        verdict.outline.correct,
        None if trace.cost_usd is None else Fraction(repr(trace.cost_usd)),
        trace.load_rps,
        length,
        (f"length={length}", *load),
        verdict.outline.held,
    )
