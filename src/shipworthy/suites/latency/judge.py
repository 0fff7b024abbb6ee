"""The judge of the latency suite: every run of a question timed, and on each arm the answer that counts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import msgspec
from msgspec import UNSET, UnsetType

from ...core.contracts import Gold, Trace, ids_of
from ...core.decision import number
from ...core.evidence import Judged, Order, Row
from ...core.join import Case
from ...core.metrics import decimal
from ..answers import judge as answers
from ..answers.explain import answer_card
from ..answers.judge import SEVERITY, Expected, expect, kind_of
from ..stability.grid import in_sweep
from .metrics import counts_of
from .options import Context
from .times import Ticks, TimedRun, arm_of, in_ms, length_of, times_of

WRONG, SLOW = "wrong", "slow"
OnArm = tuple[str, answers.Verdict, list[TimedRun]]  # an arm, its answer to the question that counts, all its runs


class ArmRow(msgspec.Struct, gc=False):
    """The verdict on one question on one arm, as a report has it."""

    arm: str
    qid: str
    status: str
    correct: bool
    runs: int
    fastest_ms: float | int | None
    slowest_ms: float | int | None
    length: str | None
    reason: str
    question: str
    claim: str
    also: str | UnsetType = UNSET
    retrieved_ids: tuple[str, ...] | UnsetType = UNSET


def judge(case: Case, context: Context) -> Iterator[Judged]:
    """One row for each arm."""
    arms = judge_arms(case, expect(case.gold, context.judging), context)
    if all(answer.row.status in ("missing", "error") for _, answer, _ in arms):  # no arm has a usable run
        yield Judged(None, lost=True)
    for arm, answer, runs in arms:
        counts = tuple(counts_of(arm, answer, runs, case.gold.question, context.options))
        worst = [(kind, order) for kind, order, _ in _worst(arm, answer, runs, context.slow_after)]
        row = _row(arm, answer, runs, context.slow_after)
        yield Judged(row, counts, (arm, case.key), worst, seen=_seen(arm, answer.trace, context))


def judge_arms(case: Case, expected: Expected, context: Context) -> list[OnArm]:
    """Every arm is judged on the same questions: one that an arm was not asked is missing there.

    All runs are timed; for accuracy a failed run counts first, then the worst answer.
    """
    by_arm: dict[str, list[Trace]] = {arm: [] for arm in context.arms}
    for trace in case.records["trace"]:
        if not (trace.warmup or trace.reused_from) and in_sweep(trace.sweep_id, context.sweep):
            by_arm[arm_of(trace)].append(trace)
    judged = []
    for arm, traces in by_arm.items():
        verdicts = [answers.judge_trace(expected, trace, context.judging) for trace in traces]
        runs = [_timed(expected.gold, trace, one, context.summed) for trace, one in zip(traces, verdicts, strict=True)]
        missing = () if traces else (answers.judge_traces(expected, (), context.judging),)
        judged.append((arm, min((*verdicts, *missing), key=_badness), runs))
    return judged


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


def _row(arm: str, answer: answers.Verdict, runs: Sequence[TimedRun], slow_after: Ticks) -> ArmRow:
    row, times = answer.row, [run.took for run in runs if run.took is not None]
    return ArmRow(
        arm,
        row.qid,
        row.status,
        answer.outline.correct,
        len(runs),
        number(in_ms(min(times))) if times else None,
        number(in_ms(max(times))) if times else None,
        runs[0].length if runs else None,
        row.reason or ("slow" if times and max(times) > slow_after else ""),
        row.question,
        row.claim,
        row.also,
        row.retrieved_ids,
    )


def _worst(
    arm: str, answer: answers.Verdict, runs: Sequence[TimedRun], slow_after: Ticks
) -> Iterator[tuple[str, Order, TimedRun | None]]:
    """Its wrong answer, and its runs above the budget; by arm, as which one decides is known only at the end."""
    row = answer.row
    if row.reason:
        yield kind_on(arm, f"{WRONG} {kind_of(row)}".strip()), (SEVERITY[row.reason], row.qid), None
    for place, run in enumerate(runs):
        if run.took is not None and run.took > slow_after:
            yield kind_on(arm, SLOW), (-run.took, run.qid, str(run.load), place), run


def kind_on(arm: str, reason: str) -> str:
    return f"{reason} {arm}"


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    expected = expect(case.gold, context.judging)
    found = (
        _slow_card(run, case.gold) if run is not None else answer_card(answer, expected, context.judging)
        for arm, answer, runs in judge_arms(case, expected, context)
        for *place, run in _worst(arm, answer, runs, context.slow_after)
        if place == [kind, order]
    )
    return next(found)


def _slow_card(run: TimedRun, gold: Gold) -> Row:
    """How long a run took, and the stage that took longest."""
    took = run.took or 0
    stage = max(run.times.stages.items(), key=lambda pair: pair[1], default=None)
    part = f", of which {stage[0]} {decimal(in_ms(stage[1]), 1)} ms" if stage else ""
    load = f" at {run.load:g} requests/s" if run.load is not None else ""
    return {
        "qid": run.qid,
        "reason": "slow",
        "says": f"{decimal(in_ms(took), 1)} ms{load}{part}",
        "question": gold.question,
    }


def ids_kind(arm: str) -> str:
    """What the ids that an arm's traces use are kept under."""
    return f"ids {arm}"


def _seen(arm: str, trace: Trace | None, context: Context) -> Iterator[tuple[str, Iterable[str]]]:
    """The ids that an arm's traces use, to be held against the gold's where hardly any match."""
    if context.judging.id_map is None and trace is not None:
        yield ids_kind(arm), trace.retrieved
        yield ids_kind(arm), ids_of(trace.answer.citations)
