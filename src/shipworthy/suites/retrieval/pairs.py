"""Shadow beside live: which questions got worse or better, and whether chance could explain it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from ... import stats
from ...core.decision import number
from ...core.evaluate import measure_all, slice_measures
from ...core.evidence import Row
from ...core.metrics import Measure, Metric
from ...core.tally import Fact, Tally
from .judge import Context, Verdict

SEED = 0  # of the permutation test, so that the same logs give the same p
SLIP = Fraction(2, 100)
DIFFERENCE, LOST, GAINED = "live difference", "live hit lost", "live hit gained"  # facts of the comparison
COMPARED = ("pairs", DIFFERENCE, LOST, GAINED)

Slices = Mapping[str, Mapping[str, Measure]]


class Live(NamedTuple):
    """What the index that serves measures."""

    measures: Mapping[str, Measure]
    slices: Slices


class Fallen(NamedTuple):
    """A slice whose metric fell."""

    name: str
    now: Fraction
    before: Fraction


def measure_live(tally: Tally, known: Mapping[str, Metric]) -> Live:
    return Live(measure_all(tally, known, ())[0], slice_measures(tally, known))


class Change(NamedTuple):
    """A question that both logs answer: the metric on both sides, and whether every run hit something."""

    now: Fraction
    before: Fraction
    hit: bool
    was_hit: bool


def change_of(verdict: Verdict, context: Context) -> Change | None:
    """The question beside live; None where one of them has no value."""
    shadow, live, metric = verdict.shadow, verdict.live, f"recall@{context.choices.canary_k}"
    if live is None or metric not in shadow.values or metric not in live.values:
        return None
    return Change(shadow.values[metric], live.values[metric], shadow.hit, live.hit)


def change_facts(change: Change | None) -> Iterator[Fact]:
    """What the paired tests count."""
    if change is None:
        return
    yield "pairs"
    if change.now != change.before:
        yield DIFFERENCE, change.now - change.before
    if change.hit != change.was_hit:
        yield GAINED if change.hit else LOST


def compare_logs(tally: Tally, lists: Row, metric: str) -> Row:
    """The questions that changed, and the paired tests."""
    pairs, lost, gained = tally["pairs"], tally[LOST], tally[GAINED]
    differences = {Fraction(value): count for value, count in tally.values(DIFFERENCE).items()}
    total = sum((value * count for value, count in differences.items()), Fraction(0))
    return {
        "metric": metric,
        "pairs": pairs,
        "difference": number(total / pairs) if pairs else None,
        **lists,
        "mcnemar_two_sided_p": float(stats.mcnemar_two_sided(lost, gained)),
        "mcnemar_drop_p": float(stats.mcnemar_one_sided(lost, gained)),
        "permutation_p": stats.paired_permutation(differences, SEED) if pairs else None,
        "permutation_seed": SEED,
    }


def compare_measures(measures: Mapping[str, Measure], slices: Slices, live: Live, metric: str, distances: bool) -> Row:
    """Every metric on both sides; distances only where one embedder made them."""
    return {
        "metrics": {
            name: {"shadow": number(measure.value), "live": number(live.measures[name].value)}
            for name, measure in measures.items()
            if distances or not name.startswith("delta_s")
        },
        "slices": {
            name: {"shadow": number(measures[metric].value), "live": number(live.slices[name][metric].value)}
            for name, measures in slices.items()
            if name in live.slices
        },
    }


def fallen_slices(slices: Slices, live: Slices, metric: str) -> list[Fallen]:
    """Slices whose metric fell by more than the slip, deepest fall first."""
    fallen = []
    for name, measures in slices.items():
        now = measures[metric].value
        before = live[name][metric].value if name in live else None
        if now is not None and before is not None and before - now > SLIP:
            fallen.append(Fallen(name, now, before))
    return sorted(fallen, key=lambda one: (one.now - one.before, one.name))
