"""Means: their 95 % interval, their error when rows come in clusters, and bounds that prove."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple, TypeVar

from .rates import ALPHA, Z_TWO_SIDED

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


def mean_interval_of_counts(counts: Mapping[Number, int]) -> tuple[float, float] | None:
    """95 % interval of a mean, m ± t·s/√n with t of n-1 degrees of freedom; None below two values.

    Values are given as value → how often.
    """
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


def cluster_se_of_counts(groups: Mapping[tuple[int, int], int]) -> Clustered | None:
    """√(sum over groups of (sum of (x - mean))²) / N beside s/√N, and their ratio squared; None if empty.

    x is yes or no, and groups are given as (yes, rows of the group) → how many such groups: with x of 0 and 1 the sums
    of squares follow from a few sums of whole numbers, and no row has to be looked at again.
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


# --- bounds that hold for the mean of any values within known limits, whatever their distribution and however few ---
#
# The bound is a bet (Waudby-Smith and Ramdas 2024; bets that stay the same, as in Orabona and Jun 2021). If the mean
# of values x in 0..1 is at most m, the payoff 1 + f·(x/m - 1), 0 <= f <= 1, is worth at most 1 on average. The
# product of n payoffs then reaches 20 with a chance of at most 1/20 (Markov). So every m at which the values seen pay
# 20 is ruled out, and the bound is the largest of these. The money is divided beforehand among f = 1, 1/2, 1/4, …: a
# bold bet gains most where values hardly vary, a cautious one where some are 0. The order of the values does not
# matter, and nothing is assumed about their distribution except its limits.

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
