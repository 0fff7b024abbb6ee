"""The survey of the runs: which sweeps, arms and cells there are, and which runs are of unknown questions."""

from __future__ import annotations

from collections import Counter
from functools import reduce

import msgspec

from ...core.cases import Gathered, Unknown
from ...core.contracts import Trace
from ...core.suite import Material
from ...errors import DataError
from .grid import Cell, asked_for, axes_of, cell_of
from .options import Options
from .sweeps import EVERY_SWEEP, Sweeps
from .verdict import Context


class SweepRuns:
    """What was seen of one sweep; arms of all its runs, the rest only of runs that were asked for."""

    def __init__(self) -> None:
        self.arms: set[str] = set()
        self.cells: set[Cell] = set()
        self.unlabelled: Counter[str] = Counter()  # question → runs that don't say which they were
        self.unknown = Unknown()  # runs of questions that the gold set does not have

    def place(self, qid: str, cell: Cell) -> None:
        self.cells.add(cell.sent)
        if not cell.labelled:
            self.unlabelled[qid] += 1

    def __iadd__(self, other: SweepRuns) -> SweepRuns:
        self.arms |= other.arms
        self.cells |= other.cells
        self.unlabelled.update(other.unlabelled)
        self.unknown += other.unknown
        return self

    def require_one_arm(self, wanted: str | None) -> None:
        """Runs of different configurations differ for another reason than instability."""
        if wanted is None and len(self.arms) > 1:
            raise DataError(
                f"the file has runs of {len(self.arms)} arms: {', '.join(sorted(self.arms))}",
                hint="Choose one with --arm.",
                code="stability-arms",
            )
        if wanted is not None and wanted not in self.arms:
            raise DataError(f"there are no runs of arm {wanted!r}", hint="Check --arm.", code="arm-without-traces")


class StabilitySurvey:
    """What was seen of each sweep, because only the last line says which of them is judged."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sweeps = Sweeps()
        self.runs: dict[str, SweepRuns] = {}

    def add(self, source: str, place: int, record: Trace, known: bool) -> None:
        self.sweeps.add(place, record.sweep_id, record.ts)
        runs = self._runs_of(record.sweep_id or "")
        runs.arms.add(record.arm or "")
        if not asked_for(record, self.options):
            return
        if known:
            runs.place(record.qid, cell_of(record))
        else:
            runs.unknown.meet(place, record.qid)

    def _runs_of(self, sweep: str) -> SweepRuns:
        if sweep not in self.runs:
            self.runs[sweep] = SweepRuns()
        return self.runs[sweep]

    def __iadd__(self, other: StabilitySurvey) -> StabilitySurvey:
        self.sweeps += other.sweeps
        for sweep, runs in other.runs.items():
            own = self._runs_of(sweep)
            own += runs
        return self

    def chosen(self, sweep: str) -> SweepRuns:
        """What was seen of the sweep that is judged."""
        judged = self.runs.values() if sweep == EVERY_SWEEP else [self.runs.get(sweep, SweepRuns())]
        return reduce(SweepRuns.__iadd__, judged, SweepRuns())


class FirstPlaces:
    """Where each question has its first run: the order in which the original script prints them."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def add(self, source: str, place: int, record: Trace, known: bool) -> None:
        self._meet(record.qid, place)

    def _meet(self, qid: str, place: int) -> None:
        self.places[qid] = min(place, self.places.get(qid, place))

    def __iadd__(self, other: FirstPlaces) -> FirstPlaces:
        for qid, place in other.places.items():
            self._meet(qid, place)
        return self


def survey(material: Material) -> StabilitySurvey | FirstPlaces:
    options: Options = material.context.options
    return FirstPlaces() if options.profile == "reference" else StabilitySurvey(options)


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """The context with the sweep that is judged and the grid that its runs span."""
    surveyed = gathered.survey
    if isinstance(surveyed, FirstPlaces):
        return msgspec.structs.replace(context, places=surveyed.places)
    assert isinstance(surveyed, StabilitySurvey)
    options = context.options
    sweep = surveyed.sweeps.choose(options.sweep, material.reads["runs"].files)
    runs = surveyed.chosen(sweep)
    runs.require_one_arm(options.arm)
    if options.closed:
        runs.unknown.refuse()
    axes = axes_of(runs.cells, max(runs.unlabelled.values(), default=0), options)
    return msgspec.structs.replace(context, sweep=sweep, axes=axes)
