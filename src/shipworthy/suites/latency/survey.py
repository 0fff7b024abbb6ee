"""The survey of timed traces: which sweeps and arms there are, what is warm-up, and what nobody asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from ...core.contracts import Trace
from ...core.join import spot
from ...core.suite import Material
from ...errors import DataError
from ...text import plural
from ..stability.grid import Sweeps, in_sweep
from .arms import arm_of
from .baseline import read_baseline
from .judge import Context
from .times import stages_of, total_of

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


class SweepCounts:
    """What one sweep has; it adds up in any order."""

    def __init__(self) -> None:
        self.warm_up = 0
        self.reused = 0
        self.unknown = 0
        self.first_unknown: tuple[int, str] | None = None  # the first line, and its qid
        self.knobs: dict[str, set[bytes]] = {}  # arm → the sets of knobs that it was run with
        self.totals = False  # some run says how long it took end to end
        self.stages: set[str] = set()

    def add(self, place: int, trace: Trace, known: bool) -> None:
        if trace.warmup:
            self.warm_up += 1
        elif trace.reused_from:
            self.reused += 1
        elif known:
            self.knobs.setdefault(arm_of(trace), set()).add(msgspec.json.encode(trace.knobs, order="sorted"))
            if not trace.error:
                self.totals = self.totals or total_of(trace) is not None
                self.stages.update(stages_of(trace))
        else:
            self.unknown += 1
            self._meet((place, trace.qid))

    def _meet(self, unknown: tuple[int, str]) -> None:
        self.first_unknown = min(self.first_unknown or unknown, unknown)

    def __iadd__(self, other: SweepCounts) -> SweepCounts:
        self.warm_up += other.warm_up
        self.reused += other.reused
        self.unknown += other.unknown
        self.totals = self.totals or other.totals
        self.stages |= other.stages
        if other.first_unknown is not None:
            self._meet(other.first_unknown)
        for arm, knobs in other.knobs.items():
            self.knobs.setdefault(arm, set()).update(knobs)
        return self


class LatencySurvey:
    """Counts by sweep, so that the choice of a sweep can be applied when every trace has been seen."""

    def __init__(self) -> None:
        self.sweeps = Sweeps()
        self.counts: dict[str, SweepCounts] = {}

    def add(self, source: str, place: int, record: Trace, known: bool) -> None:
        self.sweeps.add(place, record.sweep_id, record.ts)
        self._of(record.sweep_id or "").add(place, record, known)

    def _of(self, sweep: str) -> SweepCounts:
        return self.counts.setdefault(sweep, SweepCounts())

    def __iadd__(self, other: LatencySurvey) -> LatencySurvey:
        self.sweeps += other.sweeps
        for sweep, counts in other.counts.items():
            own = self._of(sweep)
            own += counts
        return self

    def chosen(self, sweep: str) -> SweepCounts:
        """The counts of the sweep that is judged, or of all where they are mixed."""
        total = SweepCounts()
        for name, counts in self.counts.items():
            if in_sweep(name, sweep):
                total += counts
        return total


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
    if options.closed and counts.first_unknown is not None:
        raise _unknown(*counts.first_unknown)
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


def _unknown(place: int, qid: str) -> DataError:
    return DataError(
        f"{spot(place)} has qid {qid!r}, which the gold set does not have",
        hint="Add it to the gold set, or leave out --closed.",
        code="trace-unknown",
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
    if counts.unknown:
        yield f"{plural(counts.unknown, 'trace')} for questions that are not in the gold set. [trace-unknown]"
