"""Agreement of raters on tables of counts, of sets with each other, and how well a score separates two classes.

Two raters have one table, label by label. Any number of raters have a row for each item: how many gave it each label.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Literal, NamedTuple

from .means import Spread, mean_spread, pooled_spread
from .rates import Z_TWO_SIDED, clopper_pearson_lower, clopper_pearson_upper

Table = Sequence[Sequence[int]]
Weights = Literal["linear", "quadratic"] | None

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
    """How far κ may be off: what the pairs prove of agreement (`shares_spread`) in place of Po; None if κ is.

    The chance agreement is the one that was seen. κ ± z·SE claims too much: at its bound it is proven in up to 11 %
    of draws where 5 % are promised, because few disagreements have a small SE too.
    """
    if kappa(table, weights) is None:
        return None
    most, shares = _apart(0, len(table) - 1, weights), Counter[Fraction]()
    for i, row in enumerate(table):
        for j, count in enumerate(row):
            shares[1 - Fraction(_apart(i, j, weights), most)] += count
    *_, chance = _by_chance(table, weights)
    return _beyond_chance(shares_spread(+shares), chance)


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


def mean_jaccard(sets: Iterable[frozenset[Hashable]]) -> Fraction | None:
    """The exact mean of |∩| / |∪| over all pairs; two empty sets are no pair. None where there is no pair.

    Each element that several sets have is a bit, so that a pair costs one operation on whole numbers. What is shared is
    added up for each size of a union: there are few sizes, so that the exact sum stays short.
    """
    counted = Counter(sets)
    holders = Counter(element for one in counted for element in one)
    bits = {element: 1 << bit for bit, element in enumerate(each for each, n in holders.items() if n > 1)}
    marked = [(sum(bits.get(element, 0) for element in one), len(one), often) for one, often in counted.items()]
    total = counted.total()
    pairs = math.comb(total, 2) - math.comb(counted[frozenset()], 2)
    shared = Counter({1: sum(math.comb(often, 2) for _, size, often in marked if size)})
    for (one, of_one, often), (other, of_other, again) in combinations([each for each in marked if each[0]], 2):
        if both := (one & other).bit_count():
            shared[of_one + of_other - both] += both * often * again
    return sum((Fraction(both, union) for union, both in shared.items()), Fraction(0)) / pairs if pairs else None


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


def shares_spread(shares: Mapping[Fraction, int], low: Fraction = Fraction(0)) -> Spread | None:
    """How far the mean of shares from `low` to 1 may be off, given as share → how often; None without any.

    Where each is at one of the two ends, as with two raters, it is a rate and has a rate's exact bounds (Clopper and
    Pearson).
    """
    if not shares or not set(shares) <= {low, 1}:
        return mean_spread(shares, low, 1)
    k, n = shares.get(Fraction(1), 0), sum(shares.values())
    edges = [
        float(low + (1 - low) * Fraction(edge or 0.0))
        for alpha in (0.025, 0.05)
        for edge in (clopper_pearson_lower(k, n, alpha), clopper_pearson_upper(k, n, alpha))
    ]
    return Spread((edges[0], edges[1]), (edges[2] if k else None, edges[3] if k < n else None))


def raters_spread(table: Table, coefficient: Callable[[Table], Fraction | None]) -> Spread | None:
    """`kappa_spread` for one of the three above: an item counts once, by the share of its pairs of raters that agree.

    Items with more ratings than others weigh more, as they do in α. None where the coefficient is.
    """
    if coefficient(table) is None:
        return None
    rows = Counter(tuple(row) for row in table if sum(row) > 1)
    chance, sizes = _CHANCE[coefficient](_pool(table).totals), {sum(row) for row in rows}
    if len(sizes) == 1:
        size, shares = sizes.pop(), Counter[Fraction]()
        for row, count in rows.items():
            shares[Fraction(_agreeing(row), size * (size - 1))] += count
        return _beyond_chance(shares_spread(shares, _least_agreement(size, len(table[0]))), chance)
    groups: Counter[tuple[int | Fraction, int | Fraction]] = Counter()
    for row, count in rows.items():
        groups[Fraction(_agreeing(row), sum(row) - 1), sum(row)] += count
    return _beyond_chance(pooled_spread(groups), chance)


def _least_agreement(ratings: int, labels: int) -> Fraction:
    """The share of pairs that agree if the ratings of an item are as far apart as they can be."""
    each, more = divmod(ratings, labels)
    return Fraction(_agreeing([each + 1] * more + [each] * (labels - more)), ratings * (ratings - 1))


class _Pool(NamedTuple):
    """All ratings of items with two or more, in one pot."""

    totals: tuple[int, ...]  # of each label
    agreed: Fraction  # sum over items of agreeing ordered pairs / (ratings - 1)


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


def _beyond_chance(spread: Spread | None, chance: Fraction) -> Spread | None:
    """Edges of agreement as edges of agreement beyond chance, which is never below -1."""
    if spread is None:
        return None

    def put(rate: float) -> float:
        return max(-1.0, (rate - float(chance)) / (1 - float(chance)))

    lower, upper = spread.bounds
    return Spread(
        (put(spread.interval[0]), put(spread.interval[1])),
        (None if lower is None else put(lower), None if upper is None else put(upper)),
    )


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
