"""Means: their 95 % interval, and their error when rows come in clusters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

from .proportions import Z_TWO_SIDED

Number = TypeVar("Number", int, float, Fraction, int | Fraction)

# Student's t, quantile 0.975, for 1 .. 20 degrees of freedom; the series in 1/df is right to 3e-7 beyond.
_T = (
    12.706205,
    4.302653,
    3.182446,
    2.776445,
    2.570582,
    2.446912,
    2.364624,
    2.306004,
    2.262157,
    2.228139,
    2.200985,
    2.178813,
    2.160369,
    2.144787,
    2.131450,
    2.119905,
    2.109816,
    2.100922,
    2.093024,
    2.085963,
)


class Clustered(NamedTuple):
    """A mean over rows of which those in one group are not independent; None where undefined."""

    mean: Fraction
    naive_se: float | None  # as if every row were an item; needs two rows
    cluster_se: float | None  # needs two groups
    deff: float | None  # design effect (cluster_se / naive_se)²; needs rows that differ
    n_eff: float | None  # rows / deff: how many independent rows these are worth


def mean_interval(values: Iterable[Number]) -> tuple[float, float] | None:
    """95 % interval of a mean, m ± t·s/√n with t of n-1 degrees of freedom; None below two values."""
    return mean_interval_of_counts(Counter(values))


def mean_interval_of_counts(counts: Mapping[Number, int]) -> tuple[float, float] | None:
    """`mean_interval` of a multiset, given as value → how often."""
    n = sum(counts.values())
    if n < 2:
        return None
    mean = exact_sum(counts) / n
    squares = exact_sum(_squared(counts)) - n * mean**2
    reach = _t_quantile(n - 1) * math.sqrt(squares / ((n - 1) * n))
    return float(mean) - reach, float(mean) + reach


def _squared(counts: Mapping[Number, int]) -> dict[Fraction, int]:
    squared: dict[Fraction, int] = {}
    for value, count in counts.items():
        square = Fraction(value) ** 2  # two values that differ in sign have one square
        squared[square] = squared.get(square, 0) + count
    return squared


def cluster_se(groups: Sequence[Sequence[Fraction | float]]) -> Clustered | None:
    """√(sum over groups of (sum of (x - mean))²) / N beside s/√N, and their ratio squared; None if empty."""
    exact = [[Fraction(value) for value in group] for group in groups if group]
    n = sum(len(group) for group in exact)
    if n == 0:
        return None
    mean = sum((sum(group, Fraction(0)) for group in exact), Fraction(0)) / n
    squares = sum(((value - mean) ** 2 for group in exact for value in group), Fraction(0))
    between = sum((sum((value - mean for value in group), Fraction(0)) ** 2 for group in exact), Fraction(0))
    return _clustered(mean, n, len(exact), squares, between)


def cluster_se_of_counts(groups: Mapping[tuple[int, int], int]) -> Clustered | None:
    """`cluster_se` of groups of yes and no, given as (yes, rows of the group) → how many such groups; by whole numbers.

    With x of 0 and 1 the sums of squares follow from a few sums: no row has to be looked at again.
    """
    kept = [(yes, rows, count) for (yes, rows), count in groups.items() if rows]
    n, number = sum(rows * count for _, rows, count in kept), sum(count for _, _, count in kept)
    if n == 0:
        return None
    total = sum(yes * count for yes, _, count in kept)
    squares = Fraction(total * (n - total), n)
    between = Fraction(sum((yes * n - rows * total) ** 2 * count for yes, rows, count in kept), n * n)
    return _clustered(Fraction(total, n), n, number, squares, between)


def _clustered(mean: Fraction, n: int, groups: int, squares: Fraction, between: Fraction) -> Clustered:
    naive = squares / ((n - 1) * n) if n > 1 else None
    clustered = between / n**2 if groups > 1 else None
    effect = clustered / naive if naive and clustered is not None else None
    return Clustered(mean, _root(naive), _root(clustered), _float(effect), _float(n / effect if effect else None))


def exact_sum(counts: Mapping[Number, int]) -> Fraction:
    """The sum of a multiset."""
    exact = ((value if isinstance(value, (int, Fraction)) else Fraction(value), n) for value, n in counts.items())
    return _sum((value.numerator, value.denominator, n) for value, n in exact)


def ratio_sum(counts: Mapping[tuple[int, int], int]) -> Fraction:
    """The sum of a multiset of values that are given as numerator and denominator."""
    return _sum((part, whole, n) for (part, whole), n in counts.items())


def _sum(ratios: Iterable[tuple[int, int, int]]) -> Fraction:
    """Numerators of one denominator are added first, and one fraction is made at the end: fractions are slow to add."""
    numerators: dict[int, int] = {}
    for part, whole, count in ratios:
        numerators[whole] = numerators.get(whole, 0) + part * count
    common = math.lcm(*numerators)
    return Fraction(sum(total * (common // whole) for whole, total in numerators.items()), common)


def _t_quantile(df: int) -> float:
    """0.975 quantile of Student's t: from the table, or z + (z³+z)/4df + … to the fourth power of 1/df."""
    if df <= len(_T):
        return _T[df - 1]
    z = Z_TWO_SIDED
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(df) ** power for power, term in enumerate(terms, start=1))


def _root(value: Fraction | None) -> float | None:
    return None if value is None else math.sqrt(value)


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
