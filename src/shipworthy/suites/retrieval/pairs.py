"""Shadow beside live: which questions got worse or better, and whether chance could explain it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ... import stats
from ...decision import number
from ...metrics import Measure
from .judge import Verdict
from .options import Options

SEED = 0  # of the permutation test, so that the same logs give the same p


def compare_logs(
    shadow: Sequence[Verdict], live: Sequence[Verdict], options: Options,
    measures: Mapping[str, Measure], live_measures: Mapping[str, Measure],
) -> dict[str, Any]:  # fmt: skip
    """Every metric on both sides, the questions that changed, and the paired tests."""
    metric = f"recall@{options.canary_k}"
    pairs = [(here, there) for here, there in zip(shadow, live, strict=True)
             if metric in here.values and metric in there.values]  # fmt: skip
    differences = [here.values[metric] - there.values[metric] for here, there in pairs]
    lost = [here.qid for here, there in pairs if there.hit and not here.hit]
    gained = [here.qid for here, there in pairs if here.hit and not there.hit]
    return {
        "metric": metric,
        "pairs": len(pairs),
        "difference": number(Fraction(sum(differences, Fraction(0)), len(pairs))) if pairs else None,
        "worse": [_change(here, there, metric) for here, there in pairs if here.values[metric] < there.values[metric]],
        "better": [_change(here, there, metric) for here, there in pairs if here.values[metric] > there.values[metric]],
        "hits_lost": lost,
        "hits_gained": gained,
        "mcnemar_two_sided_p": float(stats.mcnemar_two_sided(len(lost), len(gained))),
        "mcnemar_drop_p": float(stats.mcnemar_one_sided(len(lost), len(gained))),
        "permutation_p": stats.paired_permutation(differences, SEED) if pairs else None,
        "permutation_seed": SEED,
        "metrics": {
            name: {"shadow": number(measure.value), "live": number(live_measures[name].value)}
            for name, measure in measures.items() if name in live_measures
        },
    }  # fmt: skip


def _change(here: Verdict, there: Verdict, metric: str) -> dict[str, Any]:
    return {"qid": here.qid, "type": list(here.target.types), "shadow": number(here.values[metric]),
            "live": number(there.values[metric]), "hit": [there.hit, here.hit]}  # fmt: skip


def fallen_slices(
    here: Mapping[str, Mapping[str, Measure]], there: Mapping[str, Mapping[str, Measure]], metric: str, slip: Fraction
) -> list[tuple[str, Fraction, Fraction]]:
    """Slices whose metric fell by more than the slip, deepest fall first."""
    found = []
    for name, measures in here.items():
        now = measures[metric].value
        before = there[name][metric].value if name in there else None
        if now is not None and before is not None and before - now > slip:
            found.append((name, now, before))
    return sorted(found, key=lambda row: (row[1] - row[2], row[0]))
