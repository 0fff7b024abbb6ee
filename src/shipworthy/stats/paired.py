"""Paired comparisons: the same items before and after, b of them lost (pass to fail) and c gained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from fractions import Fraction
from random import Random

from .binomial import first_true, tail
from .samples import MOST_ITEMS

_HALF = Fraction(1, 2)
_Z_ONE_SIDED = Decimal("1.6448536269514722")  # standard normal quantile of 0.95
_DIGITS = Context(prec=50, traps=[InvalidOperation, DivisionByZero, Overflow])
_ENUMERATED = 16  # up to this many differences every sign pattern is counted
_CHUNK = 10


def mcnemar_one_sided(b: int, c: int) -> Fraction:
    """Exact p of a drop: sum over i >= b of C(b+c, i) / 2^(b+c)."""
    return tail(b, b + c, _HALF)


def mcnemar_two_sided(b: int, c: int) -> Fraction:
    """Exact p of any change: min(1, 2 · sum over i >= max(b, c) of C(b+c, i) / 2^(b+c))."""
    return min(Fraction(1), 2 * tail(max(b, c), b + c, _HALF))


def tango_upper(b: int, c: int, n: int) -> float | None:
    """Largest drop still possible (95 %): d with (b-c-nd) / √(n(2q+d(1-d))) = -z; None without items."""
    _check_pairs(b, c, n)
    if n == 0:
        return None
    low, high = Fraction(b - c, n), Fraction(1)
    while high - low > Fraction(1, 2**50):
        middle = (low + high) / 2
        low, high = (low, middle) if excludes_drop(b, c, n, middle) else (middle, high)
    return float(high)


def excludes_drop(b: int, c: int, n: int, slip: Fraction) -> bool:
    """Whether Tango's upper bound is <= slip: (n·slip - b + c)² >= z² n (2q + slip(1-slip)), in 50 digits."""
    _check_pairs(b, c, n)
    if not -1 <= slip <= 1:
        raise ValueError(f"a drop of {slip} is not a difference of two rates: it must lie between -1 and 1")
    gap = n * slip - (b - c)
    if n == 0 or gap <= 0:
        return False
    with localcontext(_DIGITS):
        variance = n * (2 * _constrained_gain(b, c, n, slip) + _decimal(slip * (1 - slip)))
        return _decimal(gap) ** 2 >= _Z_ONE_SIDED**2 * variance


def more_for_no_regression(b: int, c: int, n: int, slip: Fraction) -> int | None:
    """Fewest further items, none lost or gained, until excludes_drop(b, c, n', slip); None if too far."""
    _check_pairs(b, c, n)
    if slip <= 0:
        return 0 if excludes_drop(b, c, n, slip) else None
    return first_true(lambda more: excludes_drop(b, c, n + more, slip), 0, 0, MOST_ITEMS)


def paired_permutation(differences: Sequence[Fraction | float], seed: int, draws: int = 10_000) -> float:
    """Two-sided sign-flip test of a mean difference: (1 + #{|S*| >= |S|}) / (1 + draws); all flips when few.

    Sums are exact. Only `Random.random` is drawn from, the one method whose sequence Python promises to keep.
    """
    values = _whole_numbers([Fraction(value) for value in differences if value])
    observed = abs(sum(values))
    if len(values) <= _ENUMERATED:
        flips = _signed_sums(values)
        return sum(abs(flip) >= observed for flip in flips) / len(flips)
    generator = Random(seed).random
    tables = [_signed_sums(values[start : start + _CHUNK]) for start in range(0, len(values), _CHUNK)]
    hits = 0
    for _ in range(draws):
        hits += abs(sum([table[int(generator() * len(table))] for table in tables])) >= observed
    return (1 + hits) / (1 + draws)


def _constrained_gain(b: int, c: int, n: int, slip: Fraction) -> Decimal:
    """q, the likeliest rate of gains if the drop is `slip`: (√(B²-8nC) - B) / 4n, with B and C as below."""
    linear = -b - c + (2 * n - b + c) * slip
    constant = -c * slip * (1 - slip)
    root = _decimal(linear**2 - 8 * n * constant).sqrt()
    return max(Decimal(0), (root - _decimal(linear)) / (4 * n))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _check_pairs(b: int, c: int, n: int) -> None:
    if min(b, c) < 0 or b + c > n:
        raise ValueError(f"{b} lost and {c} gained do not fit into {n} items")


def _whole_numbers(values: Sequence[Fraction]) -> list[int]:
    """The values over their common denominator."""
    common = math.lcm(*(value.denominator for value in values))
    return [value.numerator * (common // value.denominator) for value in values]


def _signed_sums(values: Sequence[int]) -> list[int]:
    """The 2^n sums ±v1 ±v2 …, in a fixed order."""
    sums = [0]
    for value in values:
        sums = [total + value for total in sums] + [total - value for total in sums]
    return sums
