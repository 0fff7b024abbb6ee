"""What a report says about latency beyond its gates: rows, wrong answers, slow runs, and which arm was judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from msgspec import UNSET

from ...core.contracts import Gold, ids_of
from ...core.decision import number
from ...core.evidence import Cards, Judged, Order, Row
from ...core.gates import Outcome
from ...core.join import Case
from ...core.metrics import Words, decimal
from ...core.suite import Explanation, Findings
from ..answers import explain as answers
from ..answers.explain import RATES, answer_card, judging_shown, shown_kinds
from ..answers.hints import first_lines
from ..answers.judge import SEVERITY, expect, kind_of
from .arms import Choice
from .deciding import choice, measure_arms, missed, shown_gates
from .hints import diagnose, ids_kind
from .judge import ArmVerdict, Context, TimedRun, judge_arms
from .metrics import ACCURACY, TIMES, counts_of
from .sections import sections
from .survey import remarks, survey_of
from .times import Ticks, in_ms

WRONG, SLOW = "wrong", "slow"
REASONS = answers.REASONS | {"slow": Words("slow", "The run took longer than the budget allows.")}
_COUNTED = (
    "items",
    "answerable",
    "unanswerable",
    "shipped",
    "refused",
    "empty",
    "missing",
    "error",
    "runs",
    "runs_failed",
    "runs_untimed",
    "runs_summed",
)


def explain(findings: Findings) -> Explanation:
    context: Context = findings.context
    arms = measure_arms(findings)
    chosen = choice(arms, context)
    return Explanation(
        first=list(first_lines(findings).values()),
        reasons=[*_trade(findings), *findings.reasons, *_about(findings, chosen)],
        counts=_counts(findings, context),
        named={"missing": findings.tally.named("missing")},
        diagnosis=diagnose(findings, arms, chosen),
        offenders=_cards(findings)[: findings.evidence.limit],
        cards=_cards(findings),
        sections=sections(findings, arms, chosen),
        headline=_headline(findings),
        warnings=[*remarks(findings.gathered, context), *context.options.doubts],
    )


def shown(context: Context) -> dict[str, object]:
    """What the options stand for: budgets in their canonical form, rules and tables by name."""
    budgets = {"budget_ms": context.budget_ms, "relaxed_budget_ms": context.options.relaxed_budget}
    referred = {"accuracy": "refer"} if context.options.accuracy == "refer" else {}
    return judging_shown(context.options, context.judging) | budgets | referred


def _counts(findings: Findings, context: Context) -> dict[str, int]:
    tally, counts = findings.tally, survey_of(findings.gathered).chosen(context.sweep)
    left_out = {"warm_up": counts.warm_up, "unknown_qid": counts.unknown}
    left_out |= {"reused": counts.reused} if counts.reused else {}
    return {name: tally[name] for name in _COUNTED} | {"arms": len(context.arms)} | left_out


def _headline(findings: Findings) -> dict[str, object]:
    """The keys that existing checks read from the top level of the report, of the arm that decides."""
    measures, tally = findings.measures, findings.tally
    return {
        "arm": findings.part,
        **{name: number(measures[name].value) for name in TIMES},
        "samples": measures["p95"].n,
        "answered": tally["answered"],
        "refused": tally["refused"],
        **{key: number(measures[name].value) for key, name in RATES.items()},
        "gates": shown_gates(findings.gates),
    }


# --- reasons ---


def _trade(findings: Findings) -> list[str]:
    """Accuracy never pays for time that the budget does not have."""
    before, now = findings.baseline.get("precision"), findings.measures["precision"].value
    over = next(filter(_over_time, findings.outcomes), None)
    if before is None or now is None or now <= before or over is None:
        return []
    late = f"{over.gate.key} {decimal(over.measure.value or Fraction(0), 1)} ms"
    return [f"accuracy up but latency over → NO-SHIP: precision {decimal(before)} → {decimal(now)}, {late}"]


def _over_time(outcome: Outcome) -> bool:
    return outcome.gate.metric in TIMES and outcome.state.startswith("FAIL")


def _about(findings: Findings, chosen: Choice) -> list[str]:
    arm, arms = findings.part, findings.context.arms
    if len(arms) == 1:
        return []
    compared = f"{len(arms)} arms compared"
    if chosen.interactive is None:
        return [f"{compared}; no arm passes every accuracy gate, so arm {arm} was judged"]
    fastest = "the fastest that passes every accuracy gate"
    role = fastest if arm == chosen.interactive else "as requested"
    return [f"{compared}; arm {arm} was judged, {role}"]


# --- one row for each question on each arm, and the worst: wrong answers, then slow runs ---


def judge(case: Case, context: Context) -> Iterator[Judged]:
    expected = expect(case.gold, context.judging)
    arms = judge_arms(case, expected, context)
    if all(on_arm.answer.row.status in ("missing", "error") for on_arm in arms):  # no arm has a usable run
        yield Judged(None, lost=True)
    for on_arm in arms:
        counts = tuple(counts_of(on_arm, case.gold.question, context))
        worst = [(kind, order) for kind, order, _ in _worst(on_arm, context.slow_after)]
        row = _row(on_arm, case.key, context.slow_after)
        yield Judged(row, counts, (on_arm.arm, case.key), worst, seen=_seen(on_arm, context))


def _row(on_arm: ArmVerdict, qid: str, slow_after: Ticks) -> Row:
    answer, runs = on_arm.answer.row, on_arm.runs
    times = [run.took for run in runs if run.took is not None]
    return {
        "arm": on_arm.arm,
        "qid": qid,
        "status": answer.status,
        "correct": on_arm.answer.outline.correct,
        "runs": len(runs),
        "fastest_ms": number(in_ms(min(times))) if times else None,
        "slowest_ms": number(in_ms(max(times))) if times else None,
        "length": runs[0].length if runs else None,
        "reason": answer.reason or ("slow" if times and max(times) > slow_after else ""),
        "question": answer.question,
        "claim": answer.claim,
        **({} if answer.also is UNSET else {"also": answer.also}),
        **({} if answer.retrieved_ids is UNSET else {"retrieved_ids": answer.retrieved_ids}),
    }


def _worst(on_arm: ArmVerdict, slow_after: Ticks) -> Iterator[tuple[str, Order, TimedRun | None]]:
    """Its wrong answer, and its runs above the budget; by arm, as which one decides is known only at the end."""
    answer = on_arm.answer.row
    if answer.reason:
        yield _kind(f"{WRONG} {kind_of(answer)}".strip(), on_arm.arm), (SEVERITY[answer.reason], answer.qid), None
    for place, run in enumerate(on_arm.runs):
        if run.took is not None and run.took > slow_after:
            yield _kind(SLOW, on_arm.arm), (-run.took, run.qid, str(run.load), place), run


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    expected = expect(case.gold, context.judging)
    found = (
        _slow_card(run, case.gold) if run is not None else answer_card(on_arm.answer, expected, context.judging)
        for on_arm in judge_arms(case, expected, context)
        for *place, run in _worst(on_arm, context.slow_after)
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


def _kind(reason: str, arm: str) -> str:
    return f"{reason} {arm}"


def _cards(findings: Findings) -> Cards:
    """Of the deciding arm: wrong answers where a gate on accuracy is missed and decides, then slow runs."""
    evidence, arm = findings.evidence, findings.part
    deciding = [outcome for outcome in findings.outcomes if outcome.gate.severity == "block"]
    slow = evidence.cards(_kind(SLOW, arm))
    wrong = [_kind(f"{WRONG} {kind}".strip(), arm) for kind in shown_kinds(first_lines(findings))]
    return evidence.cards(*wrong) + slow if missed(deciding, ACCURACY) else slow


def _seen(on_arm: ArmVerdict, context: Context) -> Iterator[tuple[str, Iterable[str]]]:
    """The ids that an arm's traces use, to be held against the gold's where hardly any match."""
    trace = on_arm.answer.trace
    if context.judging.id_map is None and trace is not None:
        yield ids_kind(on_arm.arm), trace.retrieved
        yield ids_kind(on_arm.arm), ids_of(trace.answer.citations)
