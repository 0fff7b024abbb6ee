"""What a report says about latency: rows by arm, load and length, the curve, the choices, the slowest runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ... import stats
from ...contracts import Gold
from ...decision import measure_dict, number
from ...gates import Outcome
from ...metrics import Measure, Metric, decimal
from ...tally import Tally
from ...text import plural
from .arms import Choice, Point, frontier
from .facts import ACCURACY, PERCENTILES
from .times import STAGES, in_ms
from .verdict import Options, Verdict

TIMES = (*(f"p{p}" for p in PERCENTILES), "tail_amplification")
Measures = Mapping[str, Measure]


def points(measures: Mapping[str, Measures]) -> list[Point]:
    """The arms that have both a p95 and a precision, in milliseconds and shares."""
    found = []
    for arm, own in measures.items():
        p95, precision = own["p95"].value, own["precision"].value
        if p95 is not None and precision is not None:
            found.append(Point(arm, p95, precision))
    return found


def sections(
    measures: Mapping[str, Measures], tallies: Mapping[str, Tally], known: Mapping[str, Metric], choice: Choice, options: Options
) -> dict[str, Any]:  # fmt: skip
    marks = points(measures)
    front = {point.arm for point in frontier(marks)}
    recalls = [name for name in known if name.startswith("recall@")]
    return {
        "arms": [_arm(arm, own, tallies[arm], arm in front, recalls) for arm, own in measures.items()],
        "choice": choice._asdict(),
        "curve": _curve(marks, front, options),
        "loads": _parts(tallies, known, "load="),
        "lengths": _parts(tallies, known, "length="),
    }


def _arm(arm: str, own: Measures, tally: Tally, on_front: bool, recalls: Sequence[str]) -> dict[str, Any]:
    stages = [stage for stage in STAGES if own[f"{stage}_p50"].n]
    shown = ("cost_per_correct", *ACCURACY, *recalls)
    return {
        "arm": arm, "n": tally["runs"], "questions": tally["items"], "failed": tally["runs_failed"],
        **{name: measure_dict(own[name]) for name in (*TIMES, *shown)},
        "stages": {stage: {f"p{p}": number(own[f"{stage}_p{p}"].value) for p in PERCENTILES} for stage in stages},
        "lower_bound": tally["runs_summed"] > 0, "frontier": on_front, "notes": _notes(own),
    }  # fmt: skip


def _notes(own: Measures) -> list[str]:
    """Percentiles that too few runs stand behind."""
    found = []
    for p in (95, 99):
        needed, n = stats.min_n_for_quantile(Fraction(p, 100)), own[f"p{p}"].n
        if needed is not None and 0 < n < needed:
            found.append(f"p{p} has no upper bound: {plural(n, 'run')}, {needed} are needed")
    return found


def _curve(marks: Sequence[Point], front: set[str], options: Options) -> dict[str, Any]:
    """The points of the picture: p95 against precision, which are on the frontier, and the budget."""
    shown = [
        {
            "arm": point.arm,
            "p95_ms": number(point.p95),
            "precision": number(point.precision),
            "frontier": point.arm in front,
        }
        for point in sorted(marks, key=lambda point: (point.p95, point.arm))
    ]
    return {"points": shown, "budget_ms": number(Fraction(options.budget_ms)),
            "relaxed_budget_ms": number(Fraction(options.relaxed_ms))}  # fmt: skip


def _parts(tallies: Mapping[str, Tally], known: Mapping[str, Metric], prefix: str) -> list[dict[str, Any]]:
    """Percentiles and precision of each part of each arm: each load, each bucket of question length."""
    rows = []
    for arm, tally in tallies.items():
        for name in sorted((name for name in tally.slices if name.startswith(prefix)), key=_part_order):
            part = tally.slice(name)
            if not part["runs"]:
                continue
            row = {"arm": arm, prefix.rstrip("="): name.removeprefix(prefix), "n": part["runs"]}
            shown = (*TIMES, "precision") if part["items"] else TIMES  # a load is a matter of runs, not of questions
            rows.append(row | {name: number(known[name].measure(part).value) for name in shown})
    return rows


def _part_order(name: str) -> tuple[float, str]:
    value = name.partition("=")[2]
    order = {"short": 0.0, "medium": 1.0, "long": 2.0}
    return (order[value] if value in order else float(value), name)


def items(verdicts: Mapping[str, Sequence[Verdict]], budget: Fraction) -> list[dict[str, Any]]:
    """One row for each question on each arm."""
    return [
        _row(arm, verdict, budget)
        for arm in sorted(verdicts)
        for verdict in sorted(verdicts[arm], key=lambda one: one.qid)
    ]


def _row(arm: str, verdict: Verdict, budget: Fraction) -> dict[str, Any]:
    known = [run.times.total for run in verdict.runs if run.times.total is not None and not run.failed]
    return {
        "arm": arm, "qid": verdict.qid, "status": verdict.answer.status, "correct": verdict.answer.correct,
        "runs": len(verdict.runs), "fastest_ms": number(in_ms(min(known))) if known else None,
        "slowest_ms": number(in_ms(max(known))) if known else None,
        "length": verdict.runs[0].length if verdict.runs else None, "reason": verdict.answer.reason or ("slow" if known and in_ms(max(known)) > budget else ""),
    }  # fmt: skip


def slowest(verdicts: Sequence[Verdict], gold: Mapping[str, Gold], budget: Fraction, most: int) -> list[dict[str, Any]]:
    """The runs above the budget, slowest first, each with the stage that took longest."""
    late = [(run.times.total, run) for verdict in verdicts for run in verdict.runs
            if run.times.total is not None and not run.failed and in_ms(run.times.total) > budget]  # fmt: skip
    late.sort(key=lambda pair: (-pair[0], pair[1].qid, str(pair[1].load)))
    found = []
    for total, run in late[:most]:
        stage = max(run.times.stages.items(), key=lambda pair: pair[1], default=None)
        part = f", of which {stage[0]} {decimal(in_ms(stage[1]), 1)} ms" if stage else ""
        at = f" at {run.load:g} requests/s" if run.load is not None else ""
        found.append({"qid": run.qid, "reason": "slow", "says": f"{decimal(in_ms(total), 1)} ms{at}{part}",
                      "question": gold[run.qid].question})  # fmt: skip
    return found


def counts(tally: Tally, arms: int, left_out: Mapping[str, int]) -> dict[str, int]:
    names = ("items", "answerable", "unanswerable", "shipped", "refused", "empty", "missing", "error", "runs",
             "runs_failed", "runs_untimed", "runs_summed")  # fmt: skip
    return {name: tally[name] for name in names} | {"arms": arms} | dict(left_out)


def compare_arms(measures: Mapping[str, Measures], choice: Choice) -> list[str]:
    """The arms in one line, fastest first, and the three choices; nothing where there is one arm."""
    if len(measures) < 2:
        return []
    marks = sorted(points(measures), key=lambda point: (point.p95, point.arm))
    front = {point.arm for point in frontier(marks)}
    shown = [f"{point.arm} {decimal(point.p95, 1)} ms at {decimal(point.precision)}{' *' if point.arm in front else ''}"
             for point in marks]  # fmt: skip
    chosen = ", ".join(f"{role} {arm or 'none'}" for role, arm in choice._asdict().items())
    return [f"p95 and precision by arm (* on the frontier): {'; '.join(shown)}.", f"Choices: {chosen}."]


def diagnose(outcomes: Sequence[Outcome], own: Measures, tally: Tally) -> list[str]:
    """Which way to look when the time is over."""
    failed = {outcome.gate.metric for outcome in outcomes if outcome.state.startswith("FAIL")}
    found = []
    if failed & {"p50", "p90", "p95", "p99"}:
        found += _stage_hint(own) + _tail_hint(own, "p50" in failed)
    if "cost_per_correct" in failed:
        found.append("Each correct answer costs more: look at the size of the context, and at retries.")
    if tally["runs_summed"]:
        found.append(
            f"{plural(tally['runs_summed'], 'run')} only give their stages: the sum is a lower bound of the latency."
        )
    if tally["runs_failed"]:
        found.append(f"{plural(tally['runs_failed'], 'run')} failed; their time is in no percentile.")
    return found + _notes(own)


def _stage_hint(own: Measures) -> list[str]:
    """The stage with the largest p95, where stages are known."""
    known = [(own[f"{stage}_p95"].value, stage) for stage in STAGES if own[f"{stage}_p95"].value is not None]
    if not known:
        return ["The traces don't say where the time goes: log stage_ms."]
    value, stage = max(known, key=lambda pair: (pair[0] or Fraction(0), pair[1]))
    return [f"The slowest stage is {stage}: its p95 is {decimal(value or Fraction(0), 1)} ms."]


def _tail_hint(own: Measures, median_over: bool) -> list[str]:
    tail = own["tail_amplification"].value
    if median_over or tail is None or tail < 3:
        return []
    return [f"The median is fine and p99 is {decimal(tail, 1)} times p50: a few runs wait. Look at queues, retries, cold "
            "caches and long contexts."]  # fmt: skip
