"""The reference profile: what the original script prints about agreement; κ of one label is 0, abstentions are scholar's."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ... import stats
from .judge import Verdict
from .pairs import LABELS


def reference(verdicts: Sequence[Verdict]) -> tuple[dict[str, Any], dict[str, Fraction]]:
    """The reference's numbers to four places, and unrounded."""
    n = len(verdicts)
    counted = [[0] * len(LABELS) for _ in LABELS]
    for verdict in verdicts:
        counted[LABELS.index(verdict.scholar)][LABELS.index(verdict.auditor)] += 1
    abstained = sum(verdict.scholar == "ABSTAIN" for verdict in verdicts)
    exact = {
        "percent_agreement": Fraction(sum(verdict.agreed for verdict in verdicts), n),
        "kappa": stats.kappa(counted) or Fraction(0),
        "abstain_rate": Fraction(abstained, n),
    }
    shown = {name: round(value.numerator / value.denominator, 4) for name, value in exact.items()}
    return {"n": n, **shown}, exact


def arbitration(verdicts: Sequence[Verdict]) -> list[list[str]]:
    """(qid, final, why) of the disagreements, in the order of the file."""
    return [[verdict.qid, verdict.final, verdict.why] for verdict in verdicts if not verdict.agreed]
