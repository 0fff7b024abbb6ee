"""Bounds that hold for the mean of any values within known limits, whatever their distribution and however few.

The bound is a bet (Waudby-Smith and Ramdas 2024; bets that stay the same, as in Orabona and Jun 2021). If the mean of
values x in 0..1 is at most m, the payoff 1 + f·(x/m - 1), 0 <= f <= 1, is worth at most 1 on average. The product of n
payoffs then reaches 20 with a chance of at most 1/20 (Markov). So every m at which the values seen pay 20 is ruled
out, and the bound is the largest of these. The money is divided beforehand among f = 1, 1/2, 1/4, …: a bold bet gains
most where values hardly vary, a cautious one where some are 0. The order of the values does not matter, and nothing is
assumed about their distribution except its limits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from .binomial import ALPHA

MOST_DISTINCT = 500  # values beyond this many are put onto a grid of so many steps
_PARTS = 1024  # of a step of the grid, in which a value's place between two points is counted
_DIGITS = 6  # of a bound, cut towards the safe side, so that no last bit of a logarithm decides
_LOWEST, _NEAR, _STEPS = -20.0, 1e-12, 200  # of log m: below e^-20 the bound is 0; when to stop
_SMALLEST_STAKE = 4  # f goes down to about 4/√n: less than what n values with the largest spread call for

Values = Mapping[int, int] | Mapping[float, int] | Mapping[Fraction, int] | Mapping[int | Fraction, int]


class Spread(NamedTuple):
    """How far a number may be off: the two-sided 95 % interval, and the one-sided bounds that prove."""

    interval: tuple[float, float]
    bounds: tuple[float | None, float | None]


def mean_spread(counts: Values, low: Fraction | int, high: Fraction | int) -> Spread | None:
    """Interval (97.5 % on either side) and one-sided 95 % bounds of a mean; None without values, or if one lies outside
    low..high.
    """
    found = _bounds(counts, Fraction(low), Fraction(high), (ALPHA / 2, ALPHA))
    return Spread(found[0], found[1]) if found else None


def ratio_spread(counts: Mapping[tuple[int, int], int]) -> Spread | None:
    """`mean_spread` of values in 0..1 that are given as numerator and denominator, in lowest terms."""
    shares = [(part, whole, count) for (part, whole), count in counts.items()]
    found = _share_bounds(shares, Fraction(0), Fraction(1), (ALPHA / 2, ALPHA))
    return Spread(found[0], found[1]) if found else None


def pooled_spread(groups: Mapping[tuple[int | Fraction, int | Fraction], int]) -> Spread | None:
    """How far the share sum of k / sum of m may be off, given as (k, m) → how many groups; None without any.

    Rows of one group are not independent, and groups of many rows weigh more: each is one value, k / the largest m,
    whose mean is bounded from below; the bound from above is that of what the rows lack.
    """
    kept = {group: count for group, count in groups.items() if group[1] and count}
    if not kept:
        return None
    most, rows, number = (
        max(m for _, m in kept),
        sum(m * count for (_, m), count in kept.items()),
        sum(kept.values()),
    )
    having: Counter[Fraction] = Counter()
    lacking: Counter[Fraction] = Counter()
    for (k, m), count in kept.items():
        having[Fraction(k, most)] += count
        lacking[Fraction(m - k, most)] += count
    low, high = mean_spread(having, 0, 1), mean_spread(lacking, 0, 1)
    if low is None or high is None:
        return None
    scale = number * most / rows
    edges = [(edge[0] * scale, 1 - other[0] * scale) for edge, other in zip(low, high, strict=True)]  # type: ignore[operator]
    return Spread((edges[0][0], edges[0][1]), (edges[1][0], edges[1][1]))


def mean_bounds(
    counts: Values, low: Fraction | int, high: Fraction | int, alpha: Fraction = ALPHA
) -> tuple[float, float] | None:
    """Lower and upper bound of the mean of independent values in low..high, given as value → how often.

    Each alone is wrong with a chance of at most alpha. None without values, or if one lies outside low..high.
    """
    found = _bounds(counts, Fraction(low), Fraction(high), (alpha,))
    return found[0] if found else None


def evidence(
    counts: Values, low: Fraction | int, high: Fraction | int, at: Fraction | int, most: int
) -> tuple[float, float]:
    """What bets have paid, as logarithms: against a mean of at most `at`, and against one of at least `at`.

    The stakes are those for `most` values and never change. So each product of payoffs is a martingale while the mean
    is what it bets against, and the chance that it ever reaches 1/alpha, at whatever look, is at most alpha (Ville).
    """
    span, stakes = Fraction(high) - Fraction(low), _stakes(float(most))
    shares = _shares(counts, Fraction(low), span)
    mean = (Fraction(at) - Fraction(low)) / span
    falling = [(whole - part, whole, count) for part, whole, count in shares]
    return _fortune(shares, float(mean), stakes), _fortune(falling, float(1 - mean), stakes)


def _fortune(shares: list[tuple[int, int, int]], mean: float, stakes: list[float]) -> float:
    """The logarithm of what bets against a mean of at most so much have paid; a stake that was lost pays nothing."""
    if not shares or mean <= 0:
        return 0.0
    points = [(part / whole, float(count)) for part, whole, count in shares]
    smallest = min(value for value, _ in points)
    left = [stake for stake in stakes if stake < 1 or smallest > 0]
    return _paid(points, left, mean)[0] - math.log(len(stakes))


def _bounds(
    counts: Values, low: Fraction, high: Fraction, alphas: tuple[Fraction, ...]
) -> list[tuple[float, float]] | None:
    return _share_bounds(_shares(counts, low, high - low), low, high, alphas)


def _share_bounds(
    shares: list[tuple[int, int, int]], low: Fraction, high: Fraction, alphas: tuple[Fraction, ...]
) -> list[tuple[float, float]] | None:
    if not shares or not all(0 <= part <= whole for part, whole, _ in shares):
        return None
    rising, falling = _points(shares), _points([(whole - part, whole, count) for part, whole, count in shares])
    levels = [-math.log(alpha) for alpha in alphas]
    edges = [(_lower(rising, level), 1 - _lower(falling, level)) for level in levels]
    return [(float(low + (high - low) * lower), float(low + (high - low) * upper)) for lower, upper in edges]


def _shares(counts: Values, low: Fraction, width: Fraction) -> list[tuple[int, int, int]]:
    """Each value as a share of the way from low to high, (part, whole, how often): whole numbers, for speed."""
    pairs = [(value if isinstance(value, int | Fraction) else Fraction(value), n) for value, n in counts.items() if n]
    if low == 0 and width == 1:
        return [(value.numerator, value.denominator, n) for value, n in pairs]
    exact = [((value - low) / width, n) for value, n in pairs]
    return [(share.numerator, share.denominator, n) for share, n in exact]


def _points(shares: list[tuple[int, int, int]]) -> list[tuple[float, float]]:
    """(value, weight); where there are very many, each value's weight goes to the two points of a grid beside it.

    That keeps the mean (but for 1/1024 of a step, downwards) and only lowers what a bet pays, whose logarithm is
    concave: the bound stays valid. Weights are added as integers, so that no order of the values shows.
    """
    if len(shares) <= MOST_DISTINCT:
        return [(part / whole, float(count)) for part, whole, count in shares]
    weights = [0] * (MOST_DISTINCT + 2)
    for part, whole, count in shares:
        step, rest = divmod(part * MOST_DISTINCT * _PARTS // whole, _PARTS)
        weights[step] += (_PARTS - rest) * count
        weights[step + 1] += rest * count
    return [(step / MOST_DISTINCT, weight / _PARTS) for step, weight in enumerate(weights) if weight]


def _lower(points: list[tuple[float, float]], level: float) -> Fraction:
    """The largest m, cut to six digits, at which the bets have paid exp(level).

    The logarithm of what they pay is convex in log m and falls. So Newton's method, begun at the mean, steps to the
    left of the place that is looked for and comes nearer from there, never beyond it.
    """
    n = math.fsum(weight for _, weight in points)
    mean = math.fsum(value * weight for value, weight in points) / n
    if mean <= 0:
        return Fraction(0)
    smallest = min(value for value, _ in points)
    stakes = [stake for stake in _stakes(n) if stake < 1 or smallest > 0]
    share = math.log(len(_stakes(n)))
    log_m = math.log(mean)
    for _ in range(_STEPS):
        paid, slope = _paid(points, stakes, math.exp(log_m))
        following = max(_LOWEST, log_m + (paid - share - level) / slope)
        if abs(following - log_m) < _NEAR:
            break
        log_m = following
    return Fraction(math.floor(math.exp(log_m) * (1 - 10 * _NEAR) * 10**_DIGITS), 10**_DIGITS)


def _stakes(n: float) -> list[float]:
    """1, 1/2, 1/4, … of the most that can be staked."""
    halvings = max(1, math.ceil(math.log2(math.sqrt(n) / _SMALLEST_STAKE)))
    return [0.5**halving for halving in range(halvings + 1)]


def _paid(points: list[tuple[float, float]], stakes: list[float], m: float) -> tuple[float, float]:
    """The logarithm of what the bets pay together, and how fast it falls with log m (as a positive number)."""
    found = []
    for stake in stakes:
        kept, ratio = 1 - stake, stake / m
        gains = [(kept + ratio * value, weight) for value, weight in points]
        paid = math.fsum(weight * math.log(gain) for gain, weight in gains)
        found.append((paid, math.fsum(weight * (1 - kept / gain) for gain, weight in gains)))
    most = max(paid for paid, _ in found)
    shares = [math.exp(paid - most) for paid, _ in found]
    total = math.fsum(shares)
    slope = math.fsum(share * fall for share, (_, fall) in zip(shares, found, strict=True)) / total
    return most + math.log(total), slope
