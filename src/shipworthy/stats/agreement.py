"""Agreement of raters on tables of counts, and how well a score separates two classes.

Two raters have one table, label by label. Any number of raters have a row for each item: how many gave it each label.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from .bounded import Spread, mean_spread
from .means import mean_interval_of_counts
from .proportions import Z_TWO_SIDED, clopper_pearson_lower, clopper_pearson_upper

Table = Sequence[Sequence[int]]
Weights = Literal["linear", "quadratic"] | None

FEW_SPLIT = 5  # items on which raters differ, below which their spread is not to be trusted
_Z_ONE_SIDED = 1.6448536269514722
_Chance = Callable[[Sequence[int]], Fraction]  # label totals → chance agreement


def kappa(table: Table, weights: Weights = None) -> Fraction | None:
    """Cohen's 1 - sum of d · observed / sum of d · (row · column / n); None if that is 0, or nothing was counted.

    d is 1 off the diagonal, which makes it (Po - Pe) / (1 - Pe), Pe = sum of row share · column share; with `weights`
    it is |i - j| (linear) or (i - j)² (quadratic), by the order of the labels.
    """
    rows, columns, total = _margins(table)
    places = range(len(table))
    observed = sum(_apart(i, j, weights) * table[i][j] for i in places for j in places)
    expected = sum(_apart(i, j, weights) * rows[i] * columns[j] for i in places for j in places)
    return 1 - Fraction(observed * total, expected) if expected else None


def kappa_interval(table: Table, weights: Weights = None) -> tuple[float, float, float] | None:
    """(SE, low, high): κ ± z·SE of Fleiss, Cohen and Everitt; None if κ is.

    SE² = (sum of p·(v - (v̄row + v̄column)(1-κ))² - (κ - Pe(1-κ))²) / (n(1-Pe)²), v = 1 - d / its maximum.
    """
    value = kappa(table, weights)
    if value is None:
        return None
    error = math.sqrt(_kappa_variance(table, value, weights))
    reach = Z_TWO_SIDED * error
    return error, max(-1.0, float(value) - reach), min(1.0, float(value) + reach)


def kappa_spread(table: Table, weights: Weights = None) -> Spread | None:
    """`kappa_interval` with one-sided bounds κ ± z·SE; where SE is 0, what the agreements prove; None if κ is.

    Six pairs that all agree have no spread, and prove little all the same: the rate that k agreements of n prove
    (Clopper and Pearson) is then put into κ in place of Po, with the chance agreement that was seen. Weighted κ has no
    such rate unless all agree, and is left without.
    """
    value, found = kappa(table, weights), kappa_interval(table, weights)
    if value is None or found is None:
        return None
    error, low, high = found
    if error:
        reach = _Z_ONE_SIDED * error
        return Spread((low, high), (float(value) - reach, float(value) + reach))
    n, agreed, (*_, chance) = (
        sum(map(sum, table)),
        sum(row[i] for i, row in enumerate(table)),
        _by_chance(table, weights),
    )
    if weights and agreed < n:
        return None
    upper, highest = ((clopper_pearson_upper(agreed, n, alpha) or 0.0) for alpha in (0.05, 0.025))
    high, up = (_put(edge, chance) for edge in (highest, upper))
    spread = _few_apart(n, n - agreed, chance, high)
    return spread if agreed == n else Spread(spread.interval, (spread.bounds[0], up))


def gwet_ac1(table: Table) -> Fraction | None:
    """(Po - Pe) / (1 - Pe), Pe = sum of π(1-π) / (q-1), π the mean share of each of q labels; or None."""
    rows, columns, total = _margins(table)
    labels = len(table)
    if total == 0 or labels < 2:
        return None
    observed = Fraction(sum(table[i][i] for i in range(labels)), total)
    shares = [Fraction(r + c, 2 * total) for r, c in zip(rows, columns, strict=True)]
    expected = sum((share * (1 - share) for share in shares), Fraction(0)) / (labels - 1)
    return (observed - expected) / (1 - expected)


def auc(pos: Sequence[Fraction | float], neg: Sequence[Fraction | float]) -> Fraction | None:
    """(#{pos > neg} + ½ #{pos = neg}) / (|pos| · |neg|); None if either side is empty."""
    if not pos or not neg:
        return None
    ordered = sorted(neg)
    halves = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in pos)
    return Fraction(halves, 2 * len(pos) * len(neg))


# --- any number of raters: a row for each item, a column for each label ---


def fleiss_kappa(table: Table) -> Fraction | None:
    """(Po - Pe) / (1 - Pe): Po = mean over items of agreeing pairs / pairs, Pe = sum of squared label shares.

    None if Pe = 1, if the table is empty, or where the items don't all have the same number of ratings, two or more.
    """
    return _beyond(_pool(table), _squared_shares) if _even(table) else None


def free_marginal_kappa(table: Table) -> Fraction | None:
    """Randolph's (Po - 1/q) / (1 - 1/q), Po as in `fleiss_kappa`, q columns; None if q < 2, or as there."""
    return _beyond(_pool(table), _one_of) if _even(table) else None


def krippendorff_alpha(table: Table) -> Fraction | None:
    """Nominal 1 - Do/De, which is (Po - Pe) / (1 - Pe) with Po = sum over items of agreeing pairs · 2/(m-1), over N,
    and Pe = sum of n(n-1) / N(N-1), for m ratings of an item, n of a label and N of all.

    Items with fewer than two ratings are left out. None if nothing is left, or one label alone.
    """
    return _beyond(_pool(table), _drawn)


def shares_spread(shares: Mapping[Fraction, int]) -> Spread | None:
    """How far the mean of shares from 0 to 1 may be off, given as share → how often; None without any.

    Where each is 0 or 1, as with two raters, it is a rate and has a rate's exact bounds (Clopper and Pearson).
    """
    if not shares or not set(shares) <= {0, 1}:
        return mean_spread(shares, 0, 1)
    k, n = shares.get(Fraction(1), 0), sum(shares.values())
    low, lower = (clopper_pearson_lower(k, n, alpha) for alpha in (0.025, 0.05))
    high, upper = (clopper_pearson_upper(k, n, alpha) for alpha in (0.025, 0.05))
    return Spread((low or 0.0, 1.0 if high is None else high), (lower if k else None, upper if k < n else None))


def raters_spread(table: Table, coefficient: Callable[[Table], Fraction | None]) -> Spread | None:
    """θ ± t·√((n-1)/n · sum of (θ_i - mean)²) for one of the three above, θ_i being θ without item i (the jackknife).

    Where fewer than five items are not unanimous, too few to tell a spread from, the lower edge is what so many
    unanimous items prove of agreement, as in `kappa_spread`, and no miss is proven. None where θ is, or where the
    spread can't be told.
    """
    value = coefficient(table)
    if value is None:
        return None
    pool, chance = _pool(table), _CHANCE[coefficient]
    rows = Counter(tuple(row) for row in table if sum(row) > 1)
    reach = _jackknife(value, rows, pool, chance)
    split = sum(count for row, count in rows.items() if max(row) < sum(row))
    if split < FEW_SPLIT:
        return _few_apart(rows.total(), split, chance(pool.totals), 1.0 if reach is None else float(value) + reach)
    if reach is None:
        return None
    low, high = max(-1.0, float(value) - reach), min(1.0, float(value) + reach)
    return Spread((low, high), (low, high))


def _jackknife(value: Fraction, rows: Counter[tuple[int, ...]], pool: _Pool, chance: _Chance) -> float | None:
    n = rows.total()
    pseudo: Counter[float] = Counter()
    for row, count in rows.items():
        without = _beyond(pool.without(row), chance)
        if without is None:
            return None
        # Floats from here on: they are added exactly, so that the order of the items still does not matter.
        pseudo[n * float(value) - (n - 1) * float(without)] += count
    found = mean_interval_of_counts(pseudo)
    return None if found is None or len(pseudo) < 2 else (found[1] - found[0]) / 2


class _Pool(NamedTuple):
    """All ratings of items with two or more, in one pot."""

    totals: tuple[int, ...]  # of each label
    agreed: Fraction  # sum over items of agreeing ordered pairs / (ratings - 1)

    def without(self, row: Sequence[int]) -> _Pool:
        totals = tuple(total - count for total, count in zip(self.totals, row, strict=True))
        return _Pool(totals, self.agreed - Fraction(_agreeing(row), sum(row) - 1))


def _pool(table: Table) -> _Pool:
    rows = [row for row in table if sum(row) > 1]
    by_size: Counter[int] = Counter()
    for row in rows:
        by_size[sum(row)] += _agreeing(row)
    agreed = sum((Fraction(count, size - 1) for size, count in by_size.items()), Fraction(0))
    return _Pool(tuple(map(sum, zip(*rows, strict=True))), agreed)


def _agreeing(row: Sequence[int]) -> int:
    return sum(count * (count - 1) for count in row)


def _beyond(pool: _Pool, chance: _Chance) -> Fraction | None:
    total = sum(pool.totals)
    expected = chance(pool.totals) if total else Fraction(1)
    return None if expected == 1 else (pool.agreed / total - expected) / (1 - expected)


def _squared_shares(totals: Sequence[int]) -> Fraction:
    return Fraction(sum(count**2 for count in totals), sum(totals) ** 2)


def _one_of(totals: Sequence[int]) -> Fraction:
    return Fraction(1, len(totals))


def _drawn(totals: Sequence[int]) -> Fraction:
    """The chance that two of the ratings, drawn without putting back, are equal."""
    return Fraction(_agreeing(totals), sum(totals) * (sum(totals) - 1))


_CHANCE: dict[Callable[[Table], Fraction | None], _Chance] = {
    fleiss_kappa: _squared_shares,
    free_marginal_kappa: _one_of,
    krippendorff_alpha: _drawn,
}


def _even(table: Table) -> bool:
    sizes = {sum(row) for row in table}
    return len(sizes) == 1 and min(sizes) > 1


def _few_apart(n: int, apart: int, chance: Fraction, high: float = 1.0) -> Spread:
    """The rate that n - apart of n proves (Clopper and Pearson) in place of Po."""
    likely, proven = (clopper_pearson_lower(n - apart, n, alpha) or 0.0 for alpha in (0.025, 0.05))
    lowest, low = (_put(edge, chance) for edge in (likely, proven))
    return Spread((max(-1.0, lowest), min(1.0, high)), (low, None))


def _put(rate: float, chance: Fraction) -> float:
    """A rate of agreement as agreement beyond chance."""
    return (rate - float(chance)) / (1 - float(chance))


def _apart(i: int, j: int, weights: Weights) -> int:
    """How far two labels are apart."""
    return (i - j) ** 2 if weights == "quadratic" else abs(i - j) if weights == "linear" else int(i != j)


def _kappa_variance(table: Table, value: Fraction, weights: Weights) -> Fraction:
    total, rest, most = sum(map(sum, table)), 1 - value, _apart(0, len(table) - 1, weights)
    of_row, of_column, expected = _by_chance(table, weights)
    squares = Fraction(0)
    for i, row in enumerate(table):
        for j, count in enumerate(row):
            if count:
                worth = 1 - Fraction(_apart(i, j, weights), most)
                squares += count * (worth - (of_row[i] + of_column[j]) * rest) ** 2
    return (squares / total - (value - expected * rest) ** 2) / (total * (1 - expected) ** 2)


def _by_chance(table: Table, weights: Weights) -> tuple[list[Fraction], list[Fraction], Fraction]:
    """What a cell is worth, from 0 to 1, if chance deals the other label: by row, by column, and over all (Pe)."""
    rows, columns, total = _margins(table)
    places, scale = range(len(table)), total * _apart(0, len(table) - 1, weights)
    of_row = [1 - Fraction(sum(_apart(i, j, weights) * columns[j] for j in places), scale) for i in places]
    of_column = [1 - Fraction(sum(_apart(i, j, weights) * rows[i] for i in places), scale) for j in places]
    return of_row, of_column, sum((of_row[i] * rows[i] for i in places), Fraction(0)) / total


def _margins(table: Table) -> tuple[list[int], list[int], int]:
    if any(len(row) != len(table) for row in table):
        raise ValueError("an agreement table needs as many columns as rows, in the same order of labels")
    rows = [sum(row) for row in table]
    return rows, [sum(column) for column in zip(*table, strict=True)], sum(rows)
