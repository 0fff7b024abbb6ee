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
            f"The validators agree and κ is low ({decimal(kappa)}): one label dominates, and κ collapses. AC1 is "
            f"{decimal(ac1)}. Add pairs with the rarer labels before trusting either."
        )
    if failed & {"kappa", "percent_agreement"}:
        hints += _where_they_differ(tally)
    if "abstain_rate" in failed:
        hints.append("A validator abstains often: look at its instructions, and at pairs without an answer.")
    if "flagged_agreements" in failed:
        hints.append("Both validators accept what a hard flag forbids: neither looks at provenance or constraints.")
    if agreed is not None and tally["items"] < FEW:
        hints.append(
            f"κ of {plural(tally['items'], 'pair')} is hardly more than a guess; {FEW} are the least to judge by."
        )
    return hints


def _where_they_differ(tally: Tally) -> list[str]:
    apart = [(scholar, auditor) for scholar in LABELS for auditor in LABELS if scholar != auditor]
    count, (scholar, auditor) = max((tally[cell(*labels)], labels) for labels in apart)
    if not count:
        return []
    return [
        f"They differ most where scholar says {scholar} and auditor {auditor}: {count} of "
        f"{plural(tally['disagreed'], 'disagreement')}."
    ]
