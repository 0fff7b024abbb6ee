"""Which jitter and which seed cause the flips: runs that differ from the majority, counted along each axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ... import stats
from .verdict import Flip, Run, Verdict

# what a run can differ in → where that stands in the run
_ASPECTS = {"status": "status", "containment": "contained", "citation": "cited", "constraint": "kept"}


def flips(runs: Sequence[Run]) -> list[Flip]:
    """The runs that differ from the majority, and in what; a tie is won by the value that comes first in grid order."""
    usual = {aspect: _majority([getattr(run, field) for run in runs]) for aspect, field in _ASPECTS.items()}
    found = []
    for run in runs:
        differs = tuple(aspect for aspect, field in _ASPECTS.items() if getattr(run, field) != usual[aspect])
        if differs:
            found.append(Flip(run.cell, differs))
    return found


def _majority(values: Sequence[Any]) -> Any:
    counted = Counter(values)  # keeps the order of first occurrence, so that most_common settles ties by it
    return counted.most_common(1)[0][0] if counted else None


def sensitivity(verdicts: Iterable[Verdict]) -> dict[str, list[dict[str, Any]]]:
    """A table for the jitters and one for the seeds, most harmful first."""
    judged = list(verdicts)
    return {axis: _table(judged, axis) for axis in ("jitter", "seed")}


def _table(verdicts: Sequence[Verdict], axis: str) -> list[dict[str, Any]]:
    runs: Counter[Any] = Counter()
    flipped: Counter[Any] = Counter()
    asked: Counter[Any] = Counter()
    broken: Counter[Any] = Counter()
    for verdict in verdicts:
        here = Counter(getattr(run.cell, axis) for run in verdict.runs)
        there = Counter(getattr(flip.cell, axis) for flip in verdict.flips)
        runs.update(here)
        flipped.update(there)
        asked.update(here.keys())
        broken.update(there.keys())
    named = [value for value in runs if value is not None]
    rows = [_row(axis, value, runs[value], flipped[value], asked[value], broken[value]) for value in named]
    return sorted(rows, key=lambda row: (-row["rate"], str(row[axis])))


def _row(axis: str, value: Any, runs: int, flipped: int, asked: int, broken: int) -> dict[str, Any]:
    """Rates of runs and of questions: only questions are independent of each other, so theirs is the honest interval."""
    return {
        axis: value, "runs": runs, "flips": flipped, "rate": flipped / runs, "interval95": _interval(flipped, runs),
        "questions": asked, "questions_flipped": broken, "questions_interval95": _interval(broken, asked),
    }  # fmt: skip


def _interval(k: int, n: int) -> list[float] | None:
    found = stats.wilson(k, n)
    return None if found is None else [round(edge, 6) for edge in found]
