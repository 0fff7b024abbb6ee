"""What a report says about latency beyond its gates: rows, wrong answers, slow runs, and which arm was judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec

from ... import stats
from ...core.decision import measure_dict, number
from ...core.evidence import Cards, Row
from ...core.gates import Outcome
from ...core.metrics import Measure, Metric, Words, decimal
from ...core.suite import Explanation, Findings
from ...core.tally import Tally
from ...text import plural
from ..answers import explain as answers
from ..answers.explain import RATES, judging_shown, shown_kinds
from ..answers.hints import diagnose as answer_hints
from ..answers.hints import first_lines
from .arms import (
    ArmNumbers,
    ArmPoint,
    Choice,
    choice,
    frontier,
    measure_arms,
    misses,
    points,
    remarks,
    shown_gates,
    survey_of,
)
from .judge import SLOW, WRONG, ids_kind, kind_on
from .metrics import ACCURACY, E2E, PERCENTILES, TIMES, grouped
from .options import Context
from .times import STAGES

REASONS = answers.REASONS | {"slow": Words("slow", "The run took longer than the budget allows.")}
_COUNTED = (
    *("items", "answerable", "unanswerable", "shipped", "refused", "empty", "missing", "error"),
    *("runs", "runs_failed", "runs_untimed", "runs_summed"),
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
    left_out = {"warm_up": counts.warm_up, "unknown_qid": counts.unknown.lines}
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


def _cards(findings: Findings) -> Cards:
    """Of the deciding arm: wrong answers where a gate on accuracy is missed and decides, then slow runs."""
    evidence, arm = findings.evidence, findings.part
    deciding = [outcome for outcome in findings.outcomes if outcome.gate.severity == "block"]
    slow = evidence.cards(kind_on(arm, SLOW))
    wrong = [kind_on(arm, f"{WRONG} {kind}".strip()) for kind in shown_kinds(first_lines(findings))]
    return evidence.cards(*wrong) + slow if misses(deciding, ACCURACY) else slow


# --- the tables and the curve: arms, loads, lengths of questions ---

SHOWN_TIMES = (*TIMES, "tail_amplification")
Measures = Mapping[str, Measure]


def sections(findings: Findings, arms: Mapping[str, ArmNumbers], choice: Choice) -> dict[str, object]:
    marks = points(arms)
    front = {point.arm for point in frontier(marks)}
    tallies = {arm: findings.evidence.part(arm) for arm in arms}
    recalls = [name for name in findings.known if name.startswith("recall@")]
    return {
        "arms": [_arm(arm, one.measures, tallies[arm], arm in front, recalls) for arm, one in arms.items()],
        "choice": choice._asdict(),
        "curve": _curve(marks, front, arms, findings.context),
        "loads": list(_parts(tallies, findings.known, "load=")),
        "lengths": list(_parts(tallies, findings.known, "length=")),
    }


def _arm(arm: str, own: Measures, tally: Tally, on_front: bool, recalls: Sequence[str]) -> Row:
    stages = [stage for stage in STAGES if own[f"{stage}_p50"].n]
    shown = ("cost_per_correct", *ACCURACY, *recalls)
    return {
        "arm": arm,
        "n": tally["runs"],
        "questions": tally["items"],
        "failed": tally["runs_failed"],
        **{name: measure_dict(own[name]) for name in (*SHOWN_TIMES, *shown)},
        "stages": {stage: {f"p{p}": number(own[f"{stage}_p{p}"].value) for p in PERCENTILES} for stage in stages},
        "lower_bound": tally["runs_summed"] > 0,
        "frontier": on_front,
        "notes": notes(own, tally),
    }


def notes(own: Measures, tally: Tally) -> list[str]:
    """Percentiles that too few questions stand behind, however often each of them was asked."""
    remarks = []
    groups = tally.groups(grouped(E2E))
    for p in (95, 99):
        needed, n = stats.min_n_for_quantile(Fraction(p, 100)), own[f"p{p}"].n
        n -= sum((len(group) - 1) * count for group, count in groups.items())
        if needed is not None and 0 < n < needed:
            remarks.append(f"p{p} has no upper confidence bound: {plural(n, 'question')}, at least {needed} needed")
    return remarks


def _curve(
    marks: Sequence[ArmPoint], front: set[str], arms: Mapping[str, ArmNumbers], context: Context
) -> dict[str, object]:
    """The points of the pictures: p95 and p99 against precision and chr, which are on the frontier, and the budget."""
    shown = [
        {
            "arm": point.arm,
            "p95_ms": number(point.p95),
            "p99_ms": number(arms[point.arm].measures["p99"].value),
            "precision": number(point.precision),
            "chr": number(arms[point.arm].measures["chr"].value),
            "frontier": point.arm in front,
        }
        for point in sorted(marks, key=lambda point: (point.p95, point.arm))
    ]
    return {
        "points": shown,
        "budget_ms": number(Fraction(context.budget_ms)),
        "relaxed_budget_ms": number(Fraction(context.options.relaxed_budget)),
    }


def _parts(tallies: Mapping[str, Tally], known: Mapping[str, Metric], prefix: str) -> Iterator[Row]:
    """Percentiles and precision of each part of each arm: each load, each bucket of question length."""
    for arm, tally in tallies.items():
        for name in sorted((name for name in tally.slices if name.startswith(prefix)), key=_part_order):
            part = tally.slice(name)
            if not part["runs"]:
                continue
            row = {"arm": arm, prefix.rstrip("="): name.removeprefix(prefix), "n": part["runs"]}
            # A load is a matter of runs, not of questions.
            shown = (*SHOWN_TIMES, "precision") if part["items"] else SHOWN_TIMES
            yield row | {metric: number(known[metric].measure(part).value) for metric in shown}


def _part_order(name: str) -> tuple[float, str]:
    value = name.partition("=")[2]
    order = {"short": 0.0, "medium": 1.0, "long": 2.0}
    return (order[value] if value in order else float(value), name)


# --- diagnosis: how the arms compare, and which way to look when the time is over ---

_ROLES = {"interactive": "for interactive use", "batch": "for batch work", "knee": "as the best trade-off (knee)"}


def diagnose(findings: Findings, arms: Mapping[str, ArmNumbers], choice: Choice) -> list[str]:
    """The arms, the time, and what the answers suite says about the deciding arm's answers."""
    context: Context = findings.context
    about_answers = answer_hints(_of_one_arm(findings), context.options.k, context.judging)
    return [*_compare_arms(arms, choice), *_about_time(findings), *about_answers]


def _of_one_arm(findings: Findings) -> Findings:
    """The findings as the answers suite reads them: the ids of the deciding arm are the only ones."""
    evidence = findings.evidence.counts_alone()
    evidence.seen = {"ids": findings.evidence.seen.get(ids_kind(findings.part), set())}
    return msgspec.structs.replace(findings, evidence=evidence)


def _compare_arms(arms: Mapping[str, ArmNumbers], choice: Choice) -> list[str]:
    """The arms in one line, fastest first, and the three choices; nothing where there is one arm."""
    if len(arms) < 2:
        return []
    marks = sorted(points(arms), key=lambda point: (point.p95, point.arm))
    front = {point.arm for point in frontier(marks)}
    shown = [
        f"{point.arm} {decimal(point.p95, 1)} ms at {decimal(point.precision)}{' *' if point.arm in front else ''}"
        for point in marks
    ]
    chosen = ", ".join(f"{arm or 'none'} {_ROLES[role]}" for role, arm in choice._asdict().items())
    return [
        f"p95 and precision of each arm: {'; '.join(shown)}. No arm is both faster and more precise than one with *.",
        f"Best arm: {chosen}.",
    ]


def _about_time(findings: Findings) -> list[str]:
    failed = {outcome.gate.metric for outcome in findings.outcomes if outcome.state.startswith("FAIL")}
    hints = []
    if failed & {"p50", "p90", "p95", "p99"}:
        hints += _stage_hint(findings.measures) + _tail_hint(findings.measures, "p50" in failed)
    if "cost_per_correct" in failed:
        hints.append("A correct answer costs more than allowed. Check the context size and the retries.")
    return [*hints, *_run_hints(findings.tally), *notes(findings.measures, findings.tally)]


def _run_hints(tally: Tally) -> list[str]:
    hints = []
    if summed := tally["runs_summed"]:
        hints.append(
            f"{plural(summed, 'run')} have stage times but no total. The sum of the stages was used; it may be too low."
        )
    if failed := tally["runs_failed"]:
        hints.append(f"{plural(failed, 'run')} failed. Percentiles cover successful runs only.")
    return hints


def _stage_hint(own: Measures) -> list[str]:
    """The stage with the largest p95, where stages are known."""
    known = [(own[f"{stage}_p95"].value, stage) for stage in STAGES if own[f"{stage}_p95"].value is not None]
    if not known:
        return ["The traces have no stage times. Log stage_ms to see where the time goes."]
    value, stage = max(known, key=lambda pair: (pair[0] or Fraction(0), pair[1]))
    return [f"The slowest stage is {stage}: its p95 is {decimal(value or Fraction(0), 1)} ms."]


def _tail_hint(own: Measures, median_over: bool) -> list[str]:
    tail = own["tail_amplification"].value
    if median_over or tail is None or tail < 3:
        return []
    return [
        f"The median is fine, but p99 is {decimal(tail, 1)} times p50: a few runs are very slow. "
        "Check queues, retries, cold caches and long contexts."
    ]
