"""The grid of runs: which sweeps, arms and cells there are, which runs are asked for, and which nobody made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice, product
from operator import iadd
from typing import Generic, NamedTuple, Self, TypeVar

import msgspec

from ...core.contracts import Gold, Trace
from ...core.inputs import FILE
from ...core.join import Dated, Sums, Unknown, in_file, one_of
from ...core.tally import NAMED
from ...errors import DataError
from ...text import visible
from .options import Options

EVERY_SWEEP = "all"
Seen = TypeVar("Seen")  # adds up


class Sweeps:
    """How many lines each sweep has, and which sweep the last lines are of; parts of files add up in any order."""

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()
        self._last: dict[int, Dated] = {}  # the last line of each file, with its sweep

    def add(self, place: int, sweep_id: str | None, ts: object = None) -> None:
        name = sweep_id or ""
        self.lines[name] += 1
        self._meet(Dated(place, ts, name))

    def _meet(self, line: Dated) -> None:
        file = line.place // FILE
        if file not in self._last or line.place > self._last[file].place:
            self._last[file] = line

    def __iadd__(self, other: Sweeps) -> Sweeps:
        self.lines.update(other.lines)
        for line in other._last.values():
            self._meet(line)
        return self

    def choose(self, wanted: str | None = None, paths: Sequence[str] = ()) -> str:
        """The sweep to judge: the wanted one, or else that of the last line; `all` mixes them."""
        if not self.lines:
            return ""
        if wanted == EVERY_SWEEP:
            return EVERY_SWEEP
        chosen = self._last_sweep(paths) if wanted is None else wanted
        if chosen not in self.lines:
            known = ", ".join(sorted(name or "(none)" for name in self.lines))
            raise DataError(
                f"there are no runs of sweep {chosen!r}", hint=f"The file has: {known}.", code="sweep-unknown"
            )
        return chosen

    def _last_sweep(self, paths: Sequence[str]) -> str:
        one, other = one_of(self._last.values(), "last")
        if other is not None:
            raise DataError(
                f"{in_file(one.place, paths)} is of sweep {visible(one.content) or '(none)'}, "
                f"{in_file(other.place, paths)} of sweep {visible(other.content) or '(none)'}, "
                "and no ts tells which is the last one",
                hint="Choose one with --sweep, or write ts in every record.",
                code="trace-order",
            )
        return str(one.content)

    def left_out(self, chosen: str) -> dict[str, int]:
        """How many lines of which other sweeps are not judged."""
        if chosen == EVERY_SWEEP:
            return {}
        return {name: count for name, count in sorted(self.lines.items()) if name != chosen}


def in_sweep(sweep_id: str | None, chosen: str) -> bool:
    """Whether a run of this sweep is judged."""
    return chosen in (EVERY_SWEEP, sweep_id or "")


# --- cells ---


class Cell(NamedTuple):
    """Which run of a question: its place in the grid."""

    seed: int | None
    jitter: str | None
    paraphrase: int | str = 0
    temperature: float | None = None

    @property
    def labelled(self) -> bool:
        """False where the trace does not say which run it was, so that several such runs are several runs."""
        return self != _UNLABELLED

    @property
    def sent(self) -> Cell:
        """The cell as it was sent: a run with a seed and no jitter is one with the jitter `none`."""
        return self._replace(jitter="none") if not self.jitter and self.labelled else self

    def __str__(self) -> str:
        parts = [f"{name}={value}" for name, value in (("seed", self.seed), ("j", self.jitter)) if value is not None]
        parts += [f"p={self.paraphrase}"] if self.paraphrase else []
        parts += [f"t={self.temperature:g}"] if self.temperature is not None else []
        return ";".join(parts) or "unlabelled"

    @property
    def order(self) -> tuple[object, ...]:
        """Undisturbed wording first, then by seed: what stands first wins a tie for the majority."""
        jitter = self.jitter or ""
        return (
            jitter not in ("", "none"),
            -1 if self.seed is None else self.seed,
            jitter,
            str(self.paraphrase),
            -1.0 if self.temperature is None else self.temperature,
        )


_UNLABELLED = Cell(None, None)


class Axes(msgspec.Struct, frozen=True, kw_only=True):
    """What spans the grid, known once all runs were seen."""

    seeds: tuple[int | None, ...] = ()
    jitters: tuple[str | None, ...] = ()
    temperatures: tuple[float | None, ...] = ()
    paraphrased: bool = False
    unlabelled: int = 0  # most runs of a question that don't say which they were; then they are only counted


def cell_of(trace: Trace) -> Cell:
    """The jitter `para` takes the paraphrases in turn, so that its number follows from the seed and is no axis."""
    number = trace.paraphrase
    worded: int | str = 0 if number is None or trace.jitter == "para" else number
    if isinstance(worded, str) and worded.isdecimal():
        worded = int(worded)
    return Cell(trace.seed, trace.jitter, worded, trace.temperature)


def asked_for(trace: Trace, options: Options) -> bool:
    """Whether a run is of the arm, the seeds and the jitters that were named; where none is named, every run is."""
    return (
        (options.arm is None or (trace.arm or "") == options.arm)
        and (not options.seeds or trace.seed in options.seeds)
        and (not options.jitters or (trace.jitter or "none") in options.jitters)
    )


def axes_of(cells: Iterable[Cell], unlabelled: int, options: Options) -> Axes:
    """The axes that the options name; without wishes every seed and jitter that occurs anywhere."""
    seen = set(cells)
    return Axes(
        seeds=tuple(sorted(set(options.seeds or (cell.seed for cell in seen)), key=_none_first)),
        jitters=tuple(dict.fromkeys(options.jitters)) or tuple(sorted({cell.jitter for cell in seen}, key=_none_first)),
        temperatures=tuple(sorted({cell.temperature for cell in seen}, key=_none_first)),
        paraphrased=any(cell.paraphrase for cell in seen),
        unlabelled=unlabelled,
    )


def _none_first(value: object) -> tuple[bool, object]:
    return (value is not None, 0 if value is None else value)


class Holes(NamedTuple):
    """Runs of a question that the grid asks for and that nobody made: how many, and the first of them by name."""

    total: int = 0
    first: tuple[str, ...] = ()


def holes(gold: Gold, cells: Sequence[Cell], axes: Axes) -> Holes:
    """The runs that are missing, as `QID#seed=2;j=punct`. They are counted, not listed: where each question has seeds
    of its own, the grid has as many cells as the file has runs, for every question."""
    if not cells:
        return Holes()  # a question without any run is reported as such
    if axes.unlabelled:
        made = sum(not cell.labelled for cell in cells)
        missing = range(made + 1, axes.unlabelled + 1)
        return Holes(len(missing), tuple(f"{gold.qid}#run={number}" for number in missing[:NAMED]))
    sent = {cell.sent for cell in cells}
    wordings = _wordings(gold, sent, axes)
    # Seeds, jitters and temperatures of runs span the grid, so that only a wording can lie outside of it.
    within = sum(cell.paraphrase in (wordings if cell.jitter != "para" else (0,)) for cell in sent)
    count = _size(axes, len(wordings)) - within
    lacking = (cell for cell in _cells(axes, wordings) if cell not in sent) if count else ()
    return Holes(count, tuple(f"{gold.qid}#{cell}" for cell in islice(lacking, NAMED)))


def _size(axes: Axes, wordings: int) -> int:
    """How many cells the grid has for a question."""
    jitters = sum(wordings if jitter != "para" else 1 for jitter in axes.jitters)
    return len(axes.seeds) * jitters * len(axes.temperatures)


def _cells(axes: Axes, wordings: Sequence[int | str]) -> Iterator[Cell]:
    for seed, jitter, temperature in product(axes.seeds, axes.jitters, axes.temperatures):
        for wording in wordings if jitter != "para" else (0,):
            yield Cell(seed, jitter, wording, temperature)


def _wordings(gold: Gold, cells: Collection[Cell], axes: Axes) -> list[int | str]:
    """0 is the question itself, the paraphrases count from 1; names of one's own are taken as they come."""
    if not axes.paraphrased:
        return [0]
    seen = {cell.paraphrase for cell in cells}
    if not all(isinstance(name, int) for name in seen):
        return sorted(seen, key=str)
    asked: list[int | str] = [0] if gold.question.strip() or 0 in seen else []
    return asked + list(range(1, len(gold.paraphrases) + 1))


def run_of(trace: Trace, options: Options) -> object:
    """Which place of which grid a trace has; None where it has none, or nobody asked for it."""
    cell, sweep = cell_of(trace), trace.sweep_id or ""
    if not cell.labelled or not asked_for(trace, options) or options.sweep not in (None, EVERY_SWEEP, sweep):
        return None
    return ("" if options.sweep == EVERY_SWEEP else sweep, trace.arm or "", cell)


def one_per_cell(traces: Sequence[Trace]) -> list[Trace]:
    """One trace for each place of the grid, the last; runs without a place are all kept."""
    places: dict[object, Trace] = {}
    for number, trace in enumerate(traces):
        cell = cell_of(trace)
        places[cell if cell.labelled else number] = trace
    return list(places.values())


# --- what was seen of all runs ---


class SweepRuns(Sums):
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


class SweepSurvey(Generic[Seen]):
    """What was seen of each sweep, because only the last line says which of them is judged."""

    def __init__(self, make: Callable[[], Seen]) -> None:
        self.sweeps = Sweeps()
        self._make = make
        self._seen: dict[str, Seen] = {}

    def of(self, sweep: str) -> Seen:
        if sweep not in self._seen:
            self._seen[sweep] = self._make()
        return self._seen[sweep]

    def __iadd__(self, other: Self) -> Self:
        self.sweeps += other.sweeps
        for sweep, seen in other._seen.items():
            self._seen[sweep] = reduce(iadd, (seen,), self.of(sweep))
        return self

    def chosen(self, sweep: str) -> Seen:
        """What was seen of the sweep that is judged, or of all where they are mixed."""
        return reduce(iadd, (seen for name, seen in self._seen.items() if in_sweep(name, sweep)), self._make())


class StabilitySurvey(SweepSurvey[SweepRuns]):
    """The runs of each sweep."""

    def __init__(self, options: Options) -> None:
        super().__init__(SweepRuns)
        self.options = options

    def add(self, source: str, place: int, record: Trace, known: bool) -> None:
        self.sweeps.add(place, record.sweep_id, record.ts)
        runs = self.of(record.sweep_id or "")
        runs.arms.add(record.arm or "")
        if not asked_for(record, self.options):
            return
        if known:
            runs.place(record.qid, cell_of(record))
        else:
            runs.unknown.meet(place, record.qid)
