"""Tables: which jitter and which seed cause the flips, and rates over all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ... import stats
from ...core.decision import number
from ...core.evidence import Row
from ...core.tally import Tally
from .judge import Outline, RunFacts

# --- runs that differ from the majority, counted along each axis ---

SENSITIVITY = "sensitivity"  # the part of the evidence that is counted along the axes
AXES = ("jitter", "seed")


def flip_facts(outline: Outline) -> Iterator[str]:
    """`jitter runs punct`, `seed flips 3`: each run and each question once for its place on each axis."""
    for axis in AXES:
        runs = [str(value) for run in outline.runs if (value := getattr(run.cell, axis)) is not None]
        flipped = [str(value) for flip in outline.flips if (value := getattr(flip.cell, axis)) is not None]
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


def _interval(k: int, n: int) -> list[float | None] | None:
    interval = stats.wilson(k, n)
    return None if interval is None else list(map(_round, interval))


# --- rates over all runs; the runs of one question are one cluster, never as many items ---

POOLED = "pooled"  # the part of the evidence that counts how many runs of a question have something


class Pooled(NamedTuple):
    """A rate of runs."""

    answerable: bool | None  # which questions it is about; None for all
    has: Callable[[RunFacts], bool]


RATES = {
    "acr": Pooled(True, lambda run: run.contained),
    "cghc": Pooled(True, lambda run: bool(run.cited)),
    "pass": Pooled(None, lambda run: run.passed),
    "refusal_rate": Pooled(False, lambda run: run.status == "refused"),
}


def pooled_facts(outline: Outline) -> Iterator[str]:
    """`acr 7/9`: 7 of the 9 runs of a question."""
    for name, rate in RATES.items():
        if outline.runs and rate.answerable in (None, outline.answerable):
            yield f"{name} {sum(map(rate.has, outline.runs))}/{len(outline.runs)}"


def pooled(tally: Tally) -> dict[str, object]:
    groups: dict[str, dict[tuple[int, int], int]] = {name: {} for name in RATES}
    for fact, questions in tally.counts.items():
        name, share = str(fact).split(" ")
        having, runs = map(int, share.split("/"))
        groups[name][having, runs] = questions
    return {name: _shown(clusters) for name, clusters in groups.items()}


def _shown(clusters: Mapping[tuple[int, int], int]) -> dict[str, object] | None:
    clustered = stats.cluster_se_of_counts(clusters)
    if clustered is None:
        return None
    mean = float(clustered.mean)
    edge = None if clustered.cluster_se is None else 1.959964 * clustered.cluster_se
    return {
        "rate": number(clustered.mean),
        "runs": sum(runs * questions for (_, runs), questions in clusters.items()),
        "questions": sum(clusters.values()),
        "cluster_se": _round(clustered.cluster_se),
        "naive_se": _round(clustered.naive_se),
        "design_effect": _round(clustered.deff),
        "effective_items": _round(clustered.n_eff),
        "interval95": None if edge is None else [_round(max(0.0, mean - edge)), _round(min(1.0, mean + edge))],
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
