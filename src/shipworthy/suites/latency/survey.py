"""The survey of timed traces: which sweeps and arms there are, what is warm-up, and what nobody asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from ...core.contracts import Trace
from ...core.join import Unknown
from ...core.suite import Material
from ...errors import DataError
from ...text import plural
from ..stability.grid import SweepSurvey
from .baseline import read_baseline
from .options import Context
from .times import arm_of, stages_of, total_of

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


class SweepCounts:
    """What one sweep has; it adds up in any order."""

    def __init__(self) -> None:
        self.warm_up = 0
        self.reused = 0
        self.unknown = Unknown()
        self.knobs: dict[str, set[bytes]] = {}  # arm → the sets of knobs that it was run with
        self.totals = False  # some run says how long it took end to end
        self.stages: set[str] = set()

    def __iadd__(self, other: SweepCounts) -> SweepCounts:
        self.warm_up += other.warm_up
        self.reused += other.reused
        self.unknown += other.unknown
        self.totals = self.totals or other.totals
        self.stages |= other.stages
        for arm, knobs in other.knobs.items():
            self.knobs.setdefault(arm, set()).update(knobs)
        return self


class LatencySurvey(SweepSurvey[SweepCounts]):
    """Counts by sweep."""

    def __init__(self) -> None:
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
            counts.knobs.setdefault(arm_of(record), set()).add(msgspec.json.encode(record.knobs, order="sorted"))
            if not record.error:
                counts.totals = counts.totals or total_of(record) is not None
                counts.stages.update(stages_of(record))


def survey(context: Context) -> LatencySurvey:
    return LatencySurvey()


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
    if options.arm is not None and options.arm not in counts.knobs:
        raise DataError(
            f"arm {options.arm!r} has no traces",
            hint=f"Choose one of: {', '.join(sorted(counts.knobs))}.",
            code="arm-without-traces",
        )
    summed = frozenset() if counts.totals else frozenset(counts.stages)
    baseline = context.baseline
    if context.baseline_source is not None:
        baseline, material.reads["baseline"] = read_baseline(context.baseline_source, material.reads["gold"])
    return msgspec.structs.replace(
        context, sweep=sweep, arms=tuple(sorted(counts.knobs)), summed=summed, baseline=baseline, baseline_source=None
    )


def remarks(gathered: Gathered, context: Context) -> Iterator[str]:
    """What was mixed or left out."""
    surveyed = survey_of(gathered)
    counts = surveyed.chosen(context.sweep)
    for arm in context.arms:
        if len(counts.knobs[arm]) > 1:
            several = len(counts.knobs[arm])
            yield f"arm {arm} was run with {several} different settings (knobs); its times mix them. [arm-knobs]"
    if others := sum(surveyed.sweeps.left_out(context.sweep).values()):
        yield f"{plural(others, 'line')} from other sweeps left out. Choose a sweep with --sweep ID. [sweep-mixed]"
    if unknown := counts.unknown.lines:
        yield f"{plural(unknown, 'trace')} for questions that are not in the gold set. [trace-unknown]"
