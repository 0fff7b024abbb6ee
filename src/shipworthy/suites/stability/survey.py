"""The survey of the runs: which sweeps, arms and cells there are, and which runs are of unknown questions."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Self

import msgspec

from ...core.contracts import Gold, Trace
from ...core.join import Unknown
from ...core.sources import ExpectedTexts
from ...core.suite import Material
from ...errors import DataError
from .grid import Cell, asked_for, axes_of, cell_of
from .options import Options
from .sweeps import EVERY_SWEEP, Sweeps
from .verdict import Context

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


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


class GoldRemarks(ExpectedTexts):
    """What gold items say that the gates hang on, besides what all of them must say."""

    def __init__(self) -> None:
        super().__init__()
        self.paraphrased = False  # some item has paraphrases

    def meet(self, item: Gold, line: int) -> object:
        self.paraphrased = self.paraphrased or bool(item.paraphrases)
        return super().meet(item, line)

    def __iadd__(self, other: Self) -> Self:
        super().__iadd__(other)
        self.paraphrased = self.paraphrased or other.paraphrased
        return self


def survey(context: Context) -> StabilitySurvey | None:
    return None if context.options.profile == "reference" else StabilitySurvey(context.options)


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """The context with the sweep that is judged and the grid that its runs span."""
    surveyed = gathered.survey
    assert isinstance(surveyed, StabilitySurvey) and isinstance(gathered.watch, GoldRemarks)
    options = context.options
    sweep = surveyed.sweeps.choose(options.sweep, material.reads["runs"].files)
    runs = surveyed.chosen(sweep)
    runs.require_one_arm(options.arm)
    if options.closed:
        runs.unknown.refuse()
    axes = axes_of(runs.cells, max(runs.unlabelled.values(), default=0), options)
    return msgspec.structs.replace(context, sweep=sweep, axes=axes, paraphrased=gathered.watch.paraphrased)
