"""Shadow beside live: which questions got worse or better, and whether chance could explain it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from ... import stats
from ...core.decision import number
from ...core.evaluate import measure_all, slice_measures
from ...core.evidence import Row
from ...core.metrics import Measure, Metric
from ...core.tally import Tally
from .judge import Context, Verdict

SEED = 0  # of the permutation test, so that the same logs give the same p
SLIP = Fraction(2, 100)

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


def changed(verdict: Verdict, context: Context) -> Iterator[Row]:
    """The question's change against live, where there is one."""
    shadow, live, metric = verdict.shadow, verdict.live, f"recall@{context.choices.canary_k}"
    if live is None or metric not in shadow.values or metric not in live.values:
        return
    now, before = shadow.values[metric], live.values[metric]
    if now != before or shadow.hit != live.hit:
        yield {
            "qid": verdict.qid,
            "type": list(shadow.target.types),
            "shadow": number(now),
            "live": number(before),
            "hit": [live.hit, shadow.hit],
            "difference": str(now - before),  # exactly, for the permutation test
        }


def compare_logs(changes: Iterable[Row], pairs: int, metric: str) -> Row:
    """The questions that changed, in the order of the gold set, and the paired tests."""
    rows = [(Fraction(row.pop("difference")), row) for row in changes]
    differences = [difference for difference, _ in rows]
    lost = [row["qid"] for _, row in rows if row["hit"] == [True, False]]
    gained = [row["qid"] for _, row in rows if row["hit"] == [False, True]]
    return {
        "metric": metric,
        "pairs": pairs,
        "difference": number(Fraction(sum(differences, Fraction(0)), pairs)) if pairs else None,
        "worse": [row for difference, row in rows if difference < 0],
        "better": [row for difference, row in rows if difference > 0],
        "hits_lost": lost,
        "hits_gained": gained,
        "mcnemar_two_sided_p": float(stats.mcnemar_two_sided(len(lost), len(gained))),
        "mcnemar_drop_p": float(stats.mcnemar_one_sided(len(lost), len(gained))),
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
