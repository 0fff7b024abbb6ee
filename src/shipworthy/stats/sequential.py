"""Many looks: Holm's correction for many at once, evidence that may be looked at night after night."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from operator import getitem, sub
from typing import TypeVar

from .rates import check_counts

# --- whether numbers that come one after another got worse, looked at after each of them ---
#
# If nothing changed, the nights could have come in any order: that is all that is assumed. The nights may be as flaky
# as they like, and the items of one night may fail together. A change before night c that makes nights worse by a
# factor θ (Lehmann's alternative: a later night is the worse one of two in θ of θ+1 cases) makes some orders likelier
# than others. The evidence is how much likelier, averaged over c and θ with weights that are fixed beforehand. Under
# "nothing changed" it is a martingale with mean 1 of the ranks, so that it ever reaches 20 in at most one history of
# twenty (Ville).
#
# Nights that are equal are put into the order that speaks least for a change, the earlier ones first: whatever the
# true order of two equal nights, the evidence would be at least that.

QUIET = 5  # nights before the earliest change that is looked for
LOOK_BACK = 60  # nights since the change, at most; evidence for older ones is left out, which only makes it smaller
FACTORS = (3, 10, 30)  # by which nights may get worse; besides them, all later ones worse than all earlier ones


def drop_evidence(scores: Sequence[int]) -> list[float]:
    """The evidence of a drop after each score, higher ones being better; 0 as long as there are too few."""
    ordered: list[tuple[int, int]] = []  # the worst first
    factors = [_Factor(factor, len(scores)) for factor in FACTORS]
    evidence = []
    for night, score in enumerate(scores):
        insort(ordered, (score, night))
        since = range(night, max(QUIET, night + 1 - LOOK_BACK) - 1, -1)
        evidence.append(_evidence([night - bisect_left(ordered, (scores[one], one)) for one in since], night, factors))
    return evidence


def _evidence(places: list[int], night: int, factors: Sequence[_Factor]) -> float:
    """The mean of the likelihood ratios. `places`: how many nights are better than the last one, the one before, …"""
    later: list[int] = []  # places of the nights since the change
    logs = [0.0] * len(factors)
    ends = [factor.ends(night + 1) for factor in factors]
    bets = []
    for count, place in enumerate(places):
        change = night - count
        slot = bisect_left(later, place)
        worse = later[slot:]
        later.insert(slot, place)
        ratio = math.comb(night + 1, count + 1) if later[0] == change else 0.0  # all later ones worse than all others
        for index, factor in enumerate(factors):
            logs[index] += factor.logs[place + slot * factor.step] + sum(map(getitem, factor.rises[slot:count], worse))
            ratio += math.exp(logs[index] - ends[index][count])
        bets.append(_weight(change) * ratio / (len(factors) + 1))
    return math.fsum(bets)


def _weight(change: int) -> float:
    """1/2, 1/6, 1/12, … for a change at the first night that is looked at, the second, the third: 1 in all."""
    rank = change - QUIET + 1
    return 1 / (rank * (rank + 1))


class _Factor:
    """What makes an order θ times as easily: the worst of any nights left is a later one.

    Then n! times its chance is a product over all nights, the best first, of place * rate / (sum of rates so far). From
    one later night to the next the sums go up by 1, so that all but the later nights cancel. With step = θ-1 and
    Q(x) = (x+1) … (x+step), the later night after j others has the factor θ Q(place + j step) / Q(nights + j step).
    One more night before it makes j one more, by which the logarithm of Q rises.
    """

    def __init__(self, factor: int, nights: int) -> None:
        self.factor, self.step = factor, factor - 1
        size = nights + (LOOK_BACK + 1) * self.step
        self.logs = [math.log(math.prod(range(low + 1, low + factor))) for low in range(size)]
        rises = list(map(sub, self.logs[self.step :], self.logs))
        self.rises = [rises[shift : shift + nights] for shift in range(0, LOOK_BACK * self.step, self.step)]

    def ends(self, nights: int) -> list[float]:
        """Logarithms of what all later nights together are divided by: of one, of two, and so on."""
        each = math.log(self.factor)
        return list(accumulate(one - each for one in self.logs[nights : nights + LOOK_BACK * self.step : self.step]))


Chance = TypeVar("Chance", float, Fraction)

# --- many tests at once, and e-values of pairs ---

ALARM = 20  # without a change, E ever reaches this in at most 1 history of 20 (Ville)


def holm(ps: Sequence[Chance]) -> list[Chance]:
    """Adjusted p in the order given: the running max of p_(j) · (m-j+1), at most 1."""
    adjusted = list(ps)
    running = None
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        scaled = min(ps[index] * (len(ps) - rank), type(ps[index])(1))
        running = scaled if running is None else max(running, scaled)
        adjusted[index] = running
    return adjusted


def e_value(b: int, c: int) -> Fraction:
    """Evidence of a drop, b lost and c gained: sum over i <= b of C(m+1, i) / ((m+1) C(m, b)), m = b+c."""
    total = b + c
    check_counts(b, total, Fraction(0))
    ways = _binomials_to(b, total + 1) if b <= c else 2 ** (total + 1) - _binomials_to(c, total + 1)
    return Fraction(ways, (total + 1) * math.comb(total, b))


def e_value_two_sided(b: int, c: int) -> Fraction:
    """Evidence of any change: 2^m / ((m+1) C(m, b)), m = b+c."""
    total = b + c
    check_counts(b, total, Fraction(0))
    return Fraction(2**total, (total + 1) * math.comb(total, b))


def e_value_rate(k: int, n: int, rate: Fraction) -> Fraction | None:
    """Evidence against a rate: 1 / ((n+1) C(n, k) rate^k (1-rate)^(n-k)); None if the rate rules k out."""
    check_counts(k, n, rate)
    chance = math.comb(n, k) * rate**k * (1 - rate) ** (n - k)
    return 1 / ((n + 1) * chance) if chance else None


def alarm(evidence: Fraction) -> bool:
    """E >= 20: may be asked every night without raising the 5 % of false alarms."""
    return evidence >= ALARM


def _binomials_to(last: int, n: int) -> int:
    """Sum over i <= last of C(n, i)."""
    term, total = 1, 0
    for i in range(last + 1):
        total += term
        term = term * (n - i) // (i + 1)
    return total
