"""Arms: which configurations and sweeps there are, what an earlier report measured, and which arm decides."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...core.contracts import Trace
from ...core.evaluate import measure_all
from ...core.gates import Gate, Outcome
from ...core.join import Sums, Unknown
from ...core.metrics import Measure
from ...core.sources import Input
from ...core.suite import Findings, Material
from ...errors import DataError
from ...reading.reports import check_report, exact_value, report_of_bytes
from ...text import first_few, plural, visible
from ..stability.grid import SweepSurvey
from .metrics import AGAINST_BASELINE, UNASKED, about_time
from .options import Context
from .times import arm_of, stages_of, total_of

if TYPE_CHECKING:
    from ...core.evaluate import Gathered

# --- what was seen of all traces: sweeps, arms, warm-up, questions that nobody asked ---


class SweepCounts(Sums):
    """What one sweep has; it adds up in any order."""

    def __init__(self) -> None:
        self.warm_up = 0
        self.reused = 0
        self.unknown = Unknown()
        self.knobs: set[tuple[str, bytes]] = set()  # arms, and the sets of knobs that they were run with
        self.totals = False  # some run says how long it took end to end
        self.stages: set[str] = set()

    @property
    def arms(self) -> Counter[str]:
        """The arms, with how many sets of knobs each was run with."""
        return Counter(arm for arm, _ in self.knobs)


class LatencySurvey(SweepSurvey[SweepCounts]):
    """Counts by sweep."""

    def __init__(self, context: object) -> None:
        super().__init__(SweepCounts)

    def add(self, source: str, place: int, record: Trace, known: bool) -> None:
        self.sweeps.add(place, record.sweep_id, record.ts)
        counts = self.of(record.sweep_id or "")
        if record.warmup:
            counts.warm_up += 1
        elif record.reused_from:
            counts.reused += 1
        elif not known:
            counts.unknown.meet(place, record.qid)
        else:
            counts.knobs.add((arm_of(record), msgspec.json.encode(record.knobs, order="sorted")))
            if not record.error:
                counts.totals = counts.totals or total_of(record) is not None
                counts.stages.update(stages_of(record))


def survey_of(gathered: Gathered) -> LatencySurvey:
    assert isinstance(gathered.survey, LatencySurvey)
    return gathered.survey


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """The context with the sweep and the arms that are judged."""
    options, surveyed = context.options, survey_of(gathered)
    sweep = surveyed.sweeps.choose(options.sweep, material.reads["trace"].files)
    counts = surveyed.chosen(sweep)
    # A trace of an unknown question is refused here and not while gathering: other sweeps and warm-up don't count.
    if options.closed:
        counts.unknown.refuse()
    if not counts.knobs:
        raise DataError("no trace is left to judge", hint="Check --trace and --sweep.", code="trace-none")
    if options.arm is not None and options.arm not in counts.arms:
        raise DataError(
            f"arm {options.arm!r} has no traces",
            hint=f"Choose one of: {', '.join(sorted(counts.arms))}.",
            code="arm-without-traces",
        )
    summed = frozenset() if counts.totals else frozenset(counts.stages)
    baseline = context.baseline
    if context.baseline_source is not None:
        baseline, material.reads["baseline"] = read_baseline(context.baseline_source, material.reads["gold"])
    return msgspec.structs.replace(
        context, sweep=sweep, arms=tuple(sorted(counts.arms)), summed=summed, baseline=baseline, baseline_source=None
    )


def remarks(gathered: Gathered, context: Context) -> Iterator[str]:
    """What was mixed or left out."""
    surveyed = survey_of(gathered)
    counts = surveyed.chosen(context.sweep)
    for arm in context.arms:
        if (several := counts.arms[arm]) > 1:
            yield f"arm {arm} was run with {several} different settings (knobs); its times mix them. [arm-knobs]"
    if others := sum(surveyed.sweeps.left_out(context.sweep).values()):
        yield f"{plural(others, 'line')} from other sweeps left out. Choose a sweep with --sweep ID. [sweep-mixed]"
    if unknown := counts.unknown.lines:
        yield f"{plural(unknown, 'trace')} for questions that are not in the gold set. [trace-unknown]"


# --- a baseline: the numbers of an earlier report, usable only for the same gold set ---

Report = Mapping[str, object]
BaselineSource = str | os.PathLike[str] | Report

_HINT = "Give the JSON that `latency score --json` writes."


def read_baseline(source: BaselineSource, gold: Input) -> tuple[dict[str, Fraction], Input]:
    """What an earlier latency report measured, as a whole (`p95`) and in parts (`p95[load=5]`), exactly.

    Its gold set must have the same content, or where an old report does not tell the content, the same bytes.
    """
    report, read = _checked(source)
    where = visible(read.path)
    if report["shipworthy"]["suite"] != "latency":
        raise DataError("is not a latency report", where=where, hint=_HINT, code="baseline-report")
    values, metrics = _values(report), report["metrics"]
    guarded = [gate.metric for gate in map(Gate.parse, AGAINST_BASELINE)]
    if absent := [name for name in guarded if name not in metrics or (name == "p95" and name not in values)]:
        what = f"the baseline has no {', '.join(absent)} to compare with"
        raise DataError(what, where=where, hint=_HINT, code="baseline-report")
    if not _of_same_gold(report.get("inputs", {}).get("gold", {}), gold):
        raise DataError(
            "the baseline was made with another gold set, so the two can't be compared",
            where=where,
            hint="Score the baseline's traces with this gold set, and give that report.",
            code="baseline-gold",
        )
    return values, read


def _checked(source: BaselineSource) -> tuple[dict[str, Any], Input]:
    """The report as it was written, and what was read: one reading, so that the digest is that of the numbers used."""
    if isinstance(source, Mapping):
        return check_report(dict(source), "<baseline>"), Input(path="<baseline>", records=1)
    where = visible(os.fspath(source))
    try:
        with open(source, "rb") as file:
            data = file.read()
        read = Input(path=os.fspath(source), digest=hashlib.sha256(data).hexdigest(), records=1)
        return report_of_bytes(data, where), read
    except OSError as error:
        what = f"can't be read: {error.strerror or error}"
        raise DataError(what, where=where, hint="Check --baseline.", code="baseline-report") from None
    except DataError as error:
        if error.code == "report-invalid":
            raise DataError(error.what, where=where, hint=_HINT, code="baseline-report") from None
        raise


def _of_same_gold(theirs: Mapping[str, object], gold: Input) -> bool:
    if "content" in theirs:
        return bool(theirs["content"] == gold.content)
    return bool(gold.digest) and theirs.get("sha256") == gold.digest


def _values(report: Mapping[str, Any]) -> dict[str, Fraction]:
    values = {name: exact_value(shown) for name, shown in report["metrics"].items()}
    for part, measures in report.get("slices", {}).items():
        values |= {f"{name}[{part}]": exact_value(shown) for name, shown in measures.items()}
    return {name: value for name, value in values.items() if value is not None}


# --- which arms are worth choosing ---


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
