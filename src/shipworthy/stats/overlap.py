"""Overlap: how much the sets of a collection have in common, pair by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from fractions import Fraction
from itertools import combinations
from math import comb


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
    pairs = comb(total, 2) - comb(counted[frozenset()], 2)
    shared = Counter({1: sum(comb(often, 2) for _, size, often in marked if size)})
    for (one, of_one, often), (other, of_other, again) in combinations([each for each in marked if each[0]], 2):
        if both := (one & other).bit_count():
            shared[of_one + of_other - both] += both * often * again
    return sum((Fraction(both, union) for union, both in shared.items()), Fraction(0)) / pairs if pairs else None
