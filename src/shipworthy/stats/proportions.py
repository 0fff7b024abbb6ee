"""Rates: the interval to show, the exact test that proves a bound, and the state that a gate ends in."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from .binomial import ALPHA, check_counts, near_tail, point, tail, tail_within

Direction = Literal[">=", "<="]
State = Literal["PASS", "PASS-BUT-UNPROVEN", "FAIL-BUT-CLOSE", "FAIL", "NO-DATA"]

Z_TWO_SIDED = 1.959963984540054  # standard normal quantile of 0.975


def wilson(k: int, n: int) -> tuple[float, float] | None:
    """95 % score interval (r + z²/2n ± z√(r(1-r)/n + z²/4n²)) / (1 + z²/n), r = k/n; None without items."""
    check_counts(k, n, Fraction(0))
    if n == 0:
        return None
    rate, square = k / n, Z_TWO_SIDED**2
    middle = rate + square / (2 * n)
    reach = Z_TWO_SIDED * math.sqrt(rate * ((n - k) / n) / n + square / (4 * n) / n)
    scale = 1 + square / n
    low = 0.0 if k == 0 else max(0.0, (middle - reach) / scale)
    high = 1.0 if k == n else min(1.0, (middle + reach) / scale)
    return low, high


def prove_p(k: int, n: int, bound: Fraction, direction: Direction) -> Fraction:
    """How often a system exactly at the bound does this well: P[Bin(n, bound) >= k], or <= k for "<="."""
    return tail(*towards_more(k, n, bound, direction))


def refute_p(k: int, n: int, bound: Fraction, direction: Direction) -> Fraction:
    """How often a system exactly at the bound does this badly: P[Bin(n, bound) <= k], or >= k for "<="."""
    return prove_p(k, n, bound, opposite(direction))


def proven(k: int, n: int, bound: Fraction, direction: Direction, alpha: Fraction = ALPHA) -> bool:
    """prove_p <= alpha: the exact one-sided binomial test rejects the other side of the bound."""
    return tail_within(*towards_more(k, n, bound, direction), alpha)


def refuted(k: int, n: int, bound: Fraction, direction: Direction, alpha: Fraction = ALPHA) -> bool:
    """refute_p <= alpha: the miss is proven."""
    return proven(k, n, bound, opposite(direction), alpha)


def met(k: int, n: int, bound: Fraction, direction: Direction) -> bool:
    """k/n >= bound (or <=), compared as whole numbers."""
    count, n, rate = towards_more(k, n, bound, direction)
    return count * rate.denominator >= rate.numerator * n


def verdict_state(k: int, n: int, bound: Fraction, direction: Direction) -> State:
    """Met and proven, met, missed, missed and proven at 5 %, or nothing to judge (n = 0)."""
    if n == 0:
        return "NO-DATA"
    if met(k, n, bound, direction):
        return "PASS" if proven(k, n, bound, direction) else "PASS-BUT-UNPROVEN"
    return "FAIL" if refuted(k, n, bound, direction) else "FAIL-BUT-CLOSE"


def clopper_pearson_lower(k: int, n: int, alpha: float = 0.05) -> float | None:
    """One-sided lower bound: the rate p with P[Bin(n, p) >= k] = alpha; 0 for k = 0, None without items."""
    check_counts(k, n, Fraction(0))
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha} must lie strictly between 0 and 1")
    if n == 0:
        return None
    return 0.0 if k == 0 else _rate_with_tail(k, n, alpha)


def clopper_pearson_upper(k: int, n: int, alpha: float = 0.05) -> float | None:
    """One-sided upper bound: the rate p with P[Bin(n, p) <= k] = alpha; 1 for k = n, None without items."""
    lower = clopper_pearson_lower(n - k, n, alpha)
    return None if lower is None else 1.0 - lower


def towards_more(k: int, n: int, bound: Fraction, direction: Direction) -> tuple[int, int, Fraction]:
    """The same question asked with ">=": at most k of n is at least n-k of n at 1 - bound."""
    return (k, n, bound) if direction == ">=" else (n - k, n, 1 - bound)


def opposite(direction: Direction) -> Direction:
    """The other side of a bound."""
    return "<=" if direction == ">=" else ">="


def _rate_with_tail(k: int, n: int, alpha: float) -> float:
    """Newton's method in a shrinking bracket; the slope of the tail is k/p · P[Bin(n, p) = k]."""
    low, high = 0.0, 1.0
    rate = (k + 0.5) / (n + 1)
    for _ in range(100):
        excess = float(near_tail(k, n, Fraction(rate))) - alpha
        low, high = (low, rate) if excess > 0 else (rate, high)
        slope = k / rate * float(point(k, n, Fraction(rate)))
        step = rate - excess / slope if slope else low
        following = step if low <= step <= high else (low + high) / 2
        if abs(following - rate) <= 1e-13 * rate:
            break
        rate = following
    return rate
