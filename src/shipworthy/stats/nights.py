"""Whether numbers that come one after another got worse, looked at after each of them.

If nothing changed, the nights could have come in any order: that is all that is assumed. The nights may be as flaky as
they like, and the items of one night may fail together. A change before night c that makes nights worse by a factor θ
(Lehmann's alternative: a later night is the worse one of two in θ of θ+1 cases) makes some orders likelier than others.
The evidence is how much likelier, averaged over c and θ with weights that are fixed beforehand. Under "nothing changed"
it is a martingale with mean 1 of the ranks, so that it ever reaches 20 in at most one history of twenty (Ville).

Nights that are equal are put into the order that speaks least for a change, the earlier ones first: whatever the true
order of two equal nights, the evidence would be at least that.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence

QUIET = 5  # nights before the earliest change that is looked for
LOOK_BACK = 60  # nights since the change, at most; evidence for older ones is left out, which only makes it smaller
FACTORS = (3.0, 10.0, 30.0)  # by which nights may get worse; besides them, all later ones worse than all earlier ones


def drop_evidence(scores: Sequence[int]) -> list[float]:
    """The evidence of a drop after each score, higher ones being better; 0 as long as there are too few."""
    ordered: list[tuple[int, int]] = []
    evidence = []
    for night, score in enumerate(scores):
        insort(ordered, (score, night))
        evidence.append(_evidence([place for _, place in ordered]))
    return evidence


def _evidence(order: list[int]) -> float:
    """The mean of the likelihood ratios for the nights in this order, the worst first."""
    nights = len(order)
    changes = range(max(QUIET, nights - LOOK_BACK), nights)
    return math.fsum(_weight(change) * _ratio(order, change) for change in changes)


def _weight(change: int) -> float:
    """1/2, 1/6, 1/12, … for a change at the first night that is looked at, the second, the third: 1 in all."""
    rank = change - QUIET + 1
    return 1 / (rank * (rank + 1))


def _ratio(order: list[int], change: int) -> float:
    """How much likelier this order is after such a change, mean over the factors."""
    later = len(order) - change
    apart = math.comb(len(order), later) if min(order[:later]) >= change else 0
    return (apart + math.fsum(_worse(order, change, factor) for factor in FACTORS)) / (len(FACTORS) + 1)


def _worse(order: list[int], change: int, factor: float) -> float:
    """n! times the chance of the order, if the worst of any nights left is a later one `factor` times as easily."""
    left, ratio = 0.0, 1.0
    for place, night in enumerate(reversed(order), start=1):
        rate = factor if night >= change else 1.0
        left += rate
        ratio *= place * rate / left
    return ratio
