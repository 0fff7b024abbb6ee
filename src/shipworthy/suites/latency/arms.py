"""Arms: the configurations that are compared; which are worth choosing, which decides, and what it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import msgspec

from ...core.evaluate import measure_all
from ...core.gates import Gate, Outcome
from ...core.metrics import Measure
from ...core.suite import Findings
from ...text import first_few, plural
from .metrics import UNASKED, about_time
from .options import Context
from .survey import survey_of


class ArmPoint(NamedTuple):
    """An arm on the curve of speed against precision."""

    arm: str
    p95: Fraction
    precision: Fraction


class Choice(NamedTuple):
    """The three arms worth naming; None where no arm qualifies."""

    interactive: str | None
    batch: str | None
    knee: str | None


def frontier(points: Iterable[ArmPoint]) -> list[ArmPoint]:
    """The points that no other one dominates, fastest first; equal points don't dominate each other."""
    every = list(points)
    kept = [point for point in every if not any(_dominates(other, point) for other in every)]
    return sorted(kept, key=lambda point: (point.p95, -point.precision, point.arm))


def _dominates(one: ArmPoint, other: ArmPoint) -> bool:
    """No slower and no less precise, and better in one of the two."""
    no_worse = one.p95 <= other.p95 and one.precision >= other.precision
    return no_worse and (one.p95 < other.p95 or one.precision > other.precision)


def choose(points: Sequence[ArmPoint], accurate: Mapping[str, bool], relaxed_ms: Fraction) -> Choice:
    """interactive: the fastest frontier arm that passes every accuracy gate. batch: the most precise arm within the
    relaxed budget. knee: the frontier point farthest from the chord."""
    front = frontier(points)
    fast = next((point.arm for point in front if accurate[point.arm]), None)
    within = [point for point in points if point.p95 <= relaxed_ms]
    best = min(within, key=lambda point: (-point.precision, point.p95, point.arm), default=None)
    return Choice(fast, best.arm if best else None, _knee(front) if len(front) >= 3 else fast)


def _knee(front: Sequence[ArmPoint]) -> str:
    """Both axes scaled to [0, 1], the chord runs from corner to corner, and the distance grows with |y - x|."""
    first, last = front[0], front[-1]
    width, height = last.p95 - first.p95, last.precision - first.precision
    if not width or not height:
        return first.arm

    def distance(point: ArmPoint) -> Fraction:
        return abs((point.precision - first.precision) / height - (point.p95 - first.p95) / width)

    return max(front, key=lambda point: (distance(point), -point.p95)).arm


# --- which arm decides ---


class ArmNumbers(NamedTuple):
    """The numbers of one arm, held against the gates."""

    measures: Mapping[str, Measure]
    outcomes: list[Outcome]


def part(findings: Findings) -> str:
    """The arm that decides; unknown questions count for it only in the sweep that is judged, warm-up left out."""
    arm = _deciding(findings)
    unknown = survey_of(findings.gathered).chosen(findings.context.sweep).unknown.lines
    findings.evidence.part(arm).counts["unknown_qid"] = unknown
    return arm


def _deciding(findings: Findings) -> str:
    """The arm that was asked for, the interactive one, or else the most precise on the frontier."""
    context: Context = findings.context
    if context.options.arm is not None:
        return context.options.arm
    if len(context.arms) == 1:
        return context.arms[0]
    arms = _measure_for(findings, _about_answers, ("p95", "precision"))
    chosen = choice(arms, context)
    if chosen.interactive is not None:
        return chosen.interactive
    best = max(frontier(points(arms)), key=lambda point: (point.precision, -point.p95), default=None)
    return best.arm if best else context.arms[0]


def measure_arms(findings: Findings) -> dict[str, ArmNumbers]:
    """Every arm measured; the deciding one is already."""
    context: Context = findings.context
    decided = ArmNumbers(findings.measures, findings.outcomes)
    return {
        arm: decided
        if arm == findings.part
        else ArmNumbers(*measure_all(findings.evidence.part(arm), findings.known, findings.gates, context.baseline))
        for arm in context.arms
    }


def _measure_for(findings: Findings, about: Callable[[str], bool], also: Iterable[str] = ()) -> dict[str, ArmNumbers]:
    """Every arm measured by no more than some of the gates need: percentiles of many runs take their time."""
    context: Context = findings.context
    gates = [gate for gate in findings.gates if about(gate.metric)]
    known = {name: findings.known[name] for name in (*also, *(gate.metric for gate in gates))}
    return {
        arm: ArmNumbers(*measure_all(findings.evidence.part(arm), known, gates, context.baseline))
        for arm in context.arms
    }


def _about_answers(metric: str) -> bool:
    return not about_time(metric)


def choice(arms: Mapping[str, ArmNumbers], context: Context) -> Choice:
    accurate = {
        arm: all(outcome.holds for outcome in measured.outcomes if _about_answers(outcome.gate.metric))
        for arm, measured in arms.items()
    }
    return choose(points(arms), accurate, Fraction(context.options.relaxed_budget))


def points(arms: Mapping[str, ArmNumbers]) -> list[ArmPoint]:
    """The arms that have both a p95 and a precision, in milliseconds and shares."""
    values = ((arm, one.measures["p95"].value, one.measures["precision"].value) for arm, one in arms.items())
    return [ArmPoint(arm, p95, right) for arm, p95, right in values if p95 is not None and right is not None]


def baseline(findings: Findings) -> Mapping[str, Fraction]:
    context: Context = findings.context
    return context.baseline


# --- what is incomplete ---


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    """Gates with numbers before those against the baseline; what is incomplete; and doubts, where they matter."""
    context: Context = findings.context
    outcomes = sorted(findings.outcomes, key=lambda outcome: bool(outcome.gate.bound.sign))
    incomplete = [*_missing(findings, context)]
    doubts = context.options.doubts
    if not doubts or not _any_late(findings):
        return outcomes, incomplete
    return [_doubt(outcome) for outcome in outcomes], [*incomplete, *doubts]


def _missing(findings: Findings, context: Context) -> Iterator[str]:
    for arm in context.options.arms:
        if arm not in context.arms:
            yield f"arm {arm} has no traces"
    for arm in context.arms if len(context.arms) > 1 else ():
        tally = findings.evidence.part(arm)
        if missing := tally["missing"]:
            names = first_few(tally.named(UNASKED), total=missing)
            yield f"arm {arm} has no trace for {plural(missing, 'question')}: {names}"
    if len(context.arms) < 2:
        return
    # An arm that failed might have decided, unless another one was chosen.
    for arm in context.arms if context.options.arm is None else (findings.part,):
        failed = findings.evidence.part(arm)["error"]
        if failed > context.options.allow_missing:
            judged = ", the arm that is judged" if arm == findings.part else ". Run them again, or choose an arm: --arm"
            yield f"{plural(failed, 'question')} failed on arm {arm}{judged}"


def _any_late(findings: Findings) -> bool:
    arms = _measure_for(findings, about_time)
    return any(_is_late(outcome) for measured in arms.values() for outcome in measured.outcomes)


def _is_late(outcome: Outcome) -> bool:
    return about_time(outcome.gate.metric) and outcome.state.startswith("FAIL")


def _doubt(outcome: Outcome) -> Outcome:
    """A miss in time that may be our own has no data, for lateness only ever adds to a latency."""
    return msgspec.structs.replace(outcome, state="NO-DATA") if _is_late(outcome) else outcome


def misses(outcomes: Iterable[Outcome], metrics: Iterable[str]) -> bool:
    wanted = set(metrics)
    return any(not outcome.holds for outcome in outcomes if outcome.gate.metric in wanted)


def shown_gates(gates: Iterable[Gate]) -> dict[str, str]:
    """The bounds with a number, as they were written."""
    return {gate.key: gate.bound.text for gate in gates if not gate.bound.sign}
