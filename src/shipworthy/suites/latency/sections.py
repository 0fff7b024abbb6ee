"""The tables and the curve of a latency report: arms, loads, lengths of questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from ... import stats
from ...core.decision import measure_dict, number
from ...core.evidence import Row
from ...core.metrics import Measure, Metric
from ...core.suite import Findings
from ...core.tally import Tally
from ...text import plural
from .arms import ArmPoint, Choice, frontier
from .deciding import Measured, points
from .judge import Context
from .metrics import ACCURACY, E2E, PERCENTILES, TIMES, grouped
from .times import STAGES

SHOWN_TIMES = (*TIMES, "tail_amplification")
Measures = Mapping[str, Measure]


def sections(findings: Findings, arms: Mapping[str, Measured], choice: Choice) -> dict[str, object]:
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
    marks: Sequence[ArmPoint], front: set[str], arms: Mapping[str, Measured], context: Context
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
