"""The grid of runs: one sweep, one arm, every question under every seed and jitter; holes have names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from ...cases import Case
from ...contracts import Gold, Trace
from ...errors import DataError

Numbered = tuple[int, Trace]
EVERY_SWEEP = "all"


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

    def __str__(self) -> str:
        parts = [f"{name}={value}" for name, value in (("seed", self.seed), ("j", self.jitter)) if value is not None]
        parts += [f"p={self.paraphrase}"] if self.paraphrase else []
        parts += [f"t={self.temperature:g}"] if self.temperature is not None else []
        return ";".join(parts) or "unlabelled"

    @property
    def order(self) -> tuple[Any, ...]:
        """Undisturbed wording first, then by seed: what stands first wins a tie for the majority."""
        jitter = self.jitter or ""
        return (jitter not in ("", "none"), -1 if self.seed is None else self.seed, jitter, str(self.paraphrase),
                -1.0 if self.temperature is None else self.temperature)  # fmt: skip


_UNLABELLED = Cell(None, None)


def cell_of(trace: Trace) -> Cell:
    """The jitter `para` takes the paraphrases in turn, so its number follows from the seed and is no axis of its own."""
    number = trace.paraphrase
    worded: int | str = 0 if number is None or trace.jitter == "para" else number
    if isinstance(worded, str) and worded.isdecimal():
        worded = int(worded)
    return Cell(trace.seed, trace.jitter, worded, trace.temperature)


def one_sweep(traces: Sequence[Numbered], wanted: str | None = None) -> tuple[list[Numbered], str, dict[str, int]]:
    """The traces of one sweep, its id, and how many lines of which others were left out.

    Without a wish it is the sweep of the last line; `all` mixes them.
    """
    seen = Counter(trace.sweep_id or "" for _, trace in traces)
    if wanted == EVERY_SWEEP or not traces:
        return list(traces), EVERY_SWEEP if traces else "", {}
    chosen = traces[-1][1].sweep_id or "" if wanted is None else wanted
    if chosen not in seen:
        known = ", ".join(sorted(name or "(none)" for name in seen))
        raise DataError(f"there is no run of sweep {chosen!r}", hint=f"The file has: {known}.", code="sweep-unknown")
    kept = [pair for pair in traces if (pair[1].sweep_id or "") == chosen]
    return kept, chosen, {name: count for name, count in sorted(seen.items()) if name != chosen}


def one_arm(traces: Iterable[Numbered], wanted: str | None = None) -> list[Numbered]:
    """The traces of one configuration: runs of different ones differ for another reason than instability."""
    kept = [pair for pair in traces if wanted is None or (pair[1].arm or "") == wanted]
    arms = sorted({pair[1].arm or "" for pair in kept})
    if len(arms) > 1:
        raise DataError(f"the runs are of {len(arms)} arms: {', '.join(arms)}", hint="Choose one with --arm.",
                        code="stability-arms")  # fmt: skip
    if wanted is not None and not kept:
        raise DataError(f"there is no run of arm {wanted!r}", hint="Check --arm.", code="arm-without-traces")
    return kept


def in_grid(traces: Iterable[Numbered], seeds: Collection[int], jitters: Collection[str]) -> Iterator[Numbered]:
    """The traces within the seeds and jitters that were asked for; an empty list asks for all."""
    for pair in traces:
        if (not seeds or pair[1].seed in seeds) and (not jitters or (pair[1].jitter or "none") in jitters):
            yield pair


def holes(cases: Sequence[Case], seeds: Collection[int] = (), jitters: Collection[str] = ()) -> list[str]:
    """The runs that the grid asks for and that nobody made, as `QID#seed=2;j=punct`; whole questions apart.

    Without wishes the grid is every seed and jitter that occurs anywhere.
    """
    present = {str(case.gold.qid): Counter(map(_placed, case.traces)) for case in cases if case.traces}
    axes = _axes(present, seeds, jitters)
    most = max((cells[_UNLABELLED] for cells in present.values()), default=0)
    found = []
    for case in cases:
        cells = present.get(str(case.gold.qid))
        if cells is None:
            continue  # a question without any run is reported as such
        if most:
            found += [f"{case.gold.qid}#run={number}" for number in range(cells[_UNLABELLED] + 1, most + 1)]
        else:
            wanted = _cells(axes, _wordings(case.gold, cells, axes["paraphrases"]))
            found += [f"{case.gold.qid}#{cell}" for cell in wanted if cell not in cells]
    return found


def _placed(trace: Trace) -> Cell:
    """A run with a seed and no jitter was sent as it is, which is the jitter `none`."""
    cell = cell_of(trace)
    return cell._replace(jitter=cell.jitter or "none") if cell.labelled else cell


def _axes(present: Mapping[str, Counter[Cell]], seeds: Collection[int], jitters: Collection[str]) -> dict[str, Any]:
    cells = {cell for counted in present.values() for cell in counted}
    return {
        "seeds": sorted(seeds, key=_none_first) if seeds else sorted({cell.seed for cell in cells}, key=_none_first),
        "jitters": list(jitters) or sorted({cell.jitter for cell in cells}, key=_none_first),
        "temperatures": sorted({cell.temperature for cell in cells}, key=_none_first),
        "paraphrases": any(cell.paraphrase for cell in cells),
    }


def _cells(axes: Mapping[str, Any], wordings: Sequence[int | str]) -> Iterator[Cell]:
    for seed, jitter, temperature in product(axes["seeds"], axes["jitters"], axes["temperatures"]):
        for wording in wordings if jitter != "para" else (0,):
            yield Cell(seed, jitter, wording, temperature)


def _wordings(gold: Gold, cells: Iterable[Cell], paraphrased: bool) -> list[int | str]:
    """0 is the question itself, the paraphrases count from 1; names of one's own are taken as they come."""
    seen = {cell.paraphrase for cell in cells}
    if not paraphrased:
        return [0]
    if not all(isinstance(name, int) for name in seen):
        return sorted(seen, key=str)
    asked: list[int | str] = [0] if gold.question.strip() or 0 in seen else []
    return asked + list(range(1, len(gold.paraphrases) + 1))


def _none_first(value: Any) -> tuple[bool, Any]:
    return (value is not None, 0 if value is None else value)


def settled(traces: Sequence[Trace]) -> list[Trace]:
    """One trace for each place of the grid, the last; runs without a place are all kept."""
    places: dict[Any, Trace] = {}
    for number, trace in enumerate(traces):
        cell = cell_of(trace)
        places[cell if cell.labelled else number] = trace
    return list(places.values())
