"""Percentiles by linear interpolation, exactly, and the ranks of the order statistics that bound them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Generic, TypeVar

from .rates import ALPHA, critical_k, smallest_n, tail

Number = TypeVar("Number", int, float, Fraction, int | Fraction)

_TWO_SIDED = Fraction(1, 40)  # 2.5 % on each side


def percentile(sorted_values: Sequence[Fraction | float], p: int | Fraction) -> Fraction | None:
    """x_⌊r⌋ + (r-⌊r⌋)(x_⌊r⌋+1 - x_⌊r⌋) at rank r = p/100 · (n-1), counted from 0; None without values."""
    if not sorted_values:
        return None
    below, part = _rank(len(sorted_values), p)
    low = Fraction(sorted_values[below])
    return low + part * (Fraction(sorted_values[below + 1]) - low) if part else low


class Ordered(Generic[Number]):
    """A multiset in order, sorted once for as many percentiles and order statistics as are asked for."""

    def __init__(self, counts: Mapping[Number, int]) -> None:
        self._values: list[Number] = sorted(counts)
        self._ends = array("q", accumulate(counts[value] for value in self._values))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def at(self, rank: int) -> Number:
        """The value of a rank, counted from one."""
        return self._values[bisect_right(self._ends, rank - 1)]

    def percentile(self, p: int | Fraction) -> Fraction | None:
        """`percentile` of all values; None without any."""
        if not self._ends:
            return None
        below, part = _rank(len(self), p)
        low = Fraction(self.at(below + 1))
        return low + part * (Fraction(self.at(below + 2)) - low) if part else low


def quantile_ranks(n: int, q: Fraction) -> tuple[int | None, int | None]:
    """Ranks (from 1), 95 % interval: max r with P[B < r], min r with P[B >= r] <= 2.5 %, B ~ Bin(n, q)."""
    from_top = critical_k(n, 1 - q, _TWO_SIDED)
    return (None if from_top is None else n + 1 - from_top), critical_k(n, q, _TWO_SIDED)


def upper_rank(n: int, q: Fraction) -> int | None:
    """Rank (from 1) of the 95 % upper bound: min r with P[Bin(n, q) < r] >= 95 %; None if n is too small."""
    return critical_k(n, q)


def shortfall(n: int, q: Fraction, alpha: Fraction = ALPHA) -> Fraction | None:
    """How much of n shares must be reached to prove a mean above q: the mean of the top alpha of Bin(n, q); or None.

    Each share is a question's own, from 0 to 1: how many of its runs are within a time. No sum of n independent shares
    spreads more than a binomial of the same mean (Hoeffding 1963), so E(S - c)+ is at most the binomial's for every c,
    and P[S >= t] at most E(S - c)+ / (t - c) (Markov). That is alpha at t = c + E(B - c)+ / alpha, which is smallest at
    c = the critical count less one. With one run a question `critical_k` is exact, and never more than this.
    """
    critical = critical_k(n, q, alpha)
    if critical is None:
        return None
    c = critical - 1
    above = n * q * tail(max(c, 0), n - 1, q) - c * tail(critical, n, q) if n > 1 else q
    needed = c + above / alpha
    return needed if needed <= n else None


def min_n_for_quantile(q: Fraction) -> int | None:
    """The fewest values that give any upper bound: min n with q^n <= 5 % (p95 59, p99 299)."""
    return smallest_n(q)


def _rank(n: int, p: int | Fraction) -> tuple[int, Fraction]:
    if not 0 <= p <= 100:
        raise ValueError(f"{p} is not a percentile: it must lie between 0 and 100")
    rank = Fraction(p) * (n - 1) / 100
    return int(rank), rank - int(rank)
