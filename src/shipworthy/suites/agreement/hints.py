"""Diagnosis: which way to look, from the pattern of gates that failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...core.gates import Outcome
from ...core.metrics import Measure, decimal
from ...core.tally import Tally
from ...text import plural
from .metrics import cell
from .pairs import LABELS

FEW = 30  # below that κ says little


def diagnose(outcomes: Iterable[Outcome], measures: Mapping[str, Measure], tally: Tally) -> list[str]:
    failed = {outcome.gate.metric for outcome in outcomes if outcome.state.startswith("FAIL")}
    agreed, kappa, ac1 = (measures[name].value for name in ("percent_agreement", "kappa", "ac1"))
    hints = []
    if "kappa" in failed and "percent_agreement" not in failed and ac1 is not None and kappa is not None:
        hints.append(
            f"The validators agree, but kappa is low ({decimal(kappa)}) because one label dominates. "
            f"AC1, which allows for that, is {decimal(ac1)}. Add pairs with rarer labels before you trust either."
        )
    if failed & {"kappa", "percent_agreement"}:
        hints += _where_they_differ(tally)
    if "abstain_rate" in failed:
        hints.append("One validator abstains too often. Check its instructions, and the pairs without an answer.")
    if "flagged_agreements" in failed:
        hints.append("Both validators accepted an answer with a hard flag. Make them check citations and constraints.")
    if agreed is not None and tally["items"] < FEW:
        hints.append(f"Only {plural(tally['items'], 'pair')}: too few for a reliable kappa. Use at least {FEW}.")
    return hints


def _where_they_differ(tally: Tally) -> list[str]:
    apart = [(scholar, auditor) for scholar in LABELS for auditor in LABELS if scholar != auditor]
    count, (scholar, auditor) = max((tally[cell(*labels)], labels) for labels in apart)
    if count < 2:  # one of each kind is no pattern
        return []
    return [f"Most common disagreement: scholar {scholar}, auditor {auditor} ({count} of {tally['disagreed']})."]
