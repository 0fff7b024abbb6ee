"""Rates over all runs; the runs of one question are one cluster, never as many items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ... import stats
from ...core.decision import number
from ...core.tally import Tally
from .verdict import RunFacts, Verdict

PART = "pooled"  # the part of the evidence that counts how many runs of a question have something


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


def facts(verdict: Verdict) -> Iterator[str]:
    """`acr 7/9`: 7 of the 9 runs of a question."""
    for name, rate in RATES.items():
        if verdict.runs and rate.answerable in (None, verdict.answerable):
            yield f"{name} {sum(map(rate.has, verdict.runs))}/{len(verdict.runs)}"


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
