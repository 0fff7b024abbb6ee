"""Diagnosis: how the arms compare, and which way to look when the time is over."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from ...core.metrics import decimal
from ...core.suite import Findings
from ...core.tally import Tally
from ...text import plural
from ..answers import hints as answers
from .arms import Choice, frontier
from .deciding import Measured, points
from .judge import Context
from .sections import Measures, notes
from .times import STAGES

_ROLES = {"interactive": "for interactive use", "batch": "for batch work", "knee": "as the best trade-off (knee)"}


def diagnose(findings: Findings, arms: Mapping[str, Measured], choice: Choice) -> list[str]:
    """The arms, the time, and what the answers suite says about the deciding arm's answers."""
    context: Context = findings.context
    about_answers = answers.diagnose(_of_one_arm(findings), context.options.k, context.judging)
    return [*_compare_arms(arms, choice), *_about_time(findings), *about_answers]


def ids_kind(arm: str) -> str:
    """What the ids that an arm's traces use are kept under."""
    return f"ids {arm}"


def _of_one_arm(findings: Findings) -> Findings:
    """The findings as the answers suite reads them: the ids of the deciding arm are the only ones."""
    evidence = findings.evidence.counts_alone()
    evidence.seen = {"ids": findings.evidence.seen.get(ids_kind(findings.part), set())}
    return msgspec.structs.replace(findings, evidence=evidence)


def _compare_arms(arms: Mapping[str, Measured], choice: Choice) -> list[str]:
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
