"""Which jitter and which seed cause the flips: runs that differ from the majority, counted along each axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ... import stats
from ...core.evidence import Row
from ...core.tally import Tally
from .verdict import Flip, RunFacts, Verdict

PART = "sensitivity"  # the part of the evidence that is counted along the axes
AXES = ("jitter", "seed")
# what a run can differ in → where that stands in the run
_ASPECTS = {"status": "status", "containment": "contained", "citation": "cited", "constraint": "kept"}


def flips(runs: Sequence[RunFacts]) -> list[Flip]:
    """The runs that differ from the majority, and in what; a tie is won by the value that comes first in grid order."""
    usual = {aspect: _majority([getattr(run, field) for run in runs]) for aspect, field in _ASPECTS.items()}
    flipped = []
    for run in runs:
        differs = tuple(aspect for aspect, field in _ASPECTS.items() if getattr(run, field) != usual[aspect])
        if differs:
            flipped.append(Flip(run.cell, differs))
    return flipped


def _majority(values: Sequence[object]) -> object:
    counted = Counter(values)  # keeps the order of first occurrence, so that most_common settles ties by it
    return counted.most_common(1)[0][0] if counted else None


def facts(verdict: Verdict) -> Iterator[str]:
    """`jitter runs punct`, `seed flips 3`: each run and each question once for its place on each axis."""
    for axis in AXES:
        runs = [str(value) for run in verdict.runs if (value := getattr(run.cell, axis)) is not None]
        flipped = [str(value) for flip in verdict.flips if (value := getattr(flip.cell, axis)) is not None]
        yield from (f"{axis} runs {value}" for value in runs)
        yield from (f"{axis} flips {value}" for value in flipped)
        yield from (f"{axis} questions {value}" for value in set(runs))
        yield from (f"{axis} questions_flipped {value}" for value in set(flipped))


def sensitivity(tally: Tally) -> dict[str, list[Row]]:
    """A table for the jitters and one for the seeds, most harmful first."""
    places: dict[str, dict[str, Counter[str]]] = {axis: {} for axis in AXES}
    for fact, count in tally.counts.items():
        axis, what, value = str(fact).split(" ", 2)
        places[axis].setdefault(value, Counter())[what] += count
    tables = {axis: [_row(axis, value, counted) for value, counted in rows.items()] for axis, rows in places.items()}
    return {axis: sorted(rows, key=lambda row: (-row["rate"], str(row[axis]))) for axis, rows in tables.items()}


def _row(axis: str, value: str, counted: Mapping[str, int]) -> Row:
    """Rates of runs and of questions: only questions are independent of each other, so theirs is the honest one."""
    runs, flipped = counted["runs"], counted["flips"]
    asked, broken = counted["questions"], counted["questions_flipped"]
    return {
        axis: int(value) if axis == "seed" else value,
        "runs": runs,
        "flips": flipped,
        "rate": flipped / runs,
        "interval95": _interval(flipped, runs),
        "questions": asked,
        "questions_flipped": broken,
        "questions_interval95": _interval(broken, asked),
    }


def _interval(k: int, n: int) -> list[float] | None:
    interval = stats.wilson(k, n)
    return None if interval is None else [round(edge, 6) for edge in interval]
