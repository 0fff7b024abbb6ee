"""Many looks: Holm's correction for many at once, e-values for one look after another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from .binomial import check_counts

Chance = TypeVar("Chance", float, Fraction)

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
