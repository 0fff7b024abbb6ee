"""How far apart the answers to one question lie: edit distances of claims, overlap of citation sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import NamedTuple


class Overlap(NamedTuple):
    """Of citation sets: what all share of what any cites, and the mean over pairs of the same."""

    shared: Fraction | None
    pairwise: Fraction | None


def distance_and_agreement(claims: Iterable[str]) -> tuple[Fraction | None, Fraction | None]:
    """(ned50, iaa) of claims in canonical form; None with fewer than two claims.

    ned50 is the median over all pairs of edit distance / longer length, in code points; iaa the share of equal pairs.
    Equal claims are counted, not compared, so that a stable system costs next to nothing.
    """
    counted = Counter(claims)
    pairs = comb(counted.total(), 2)
    if not pairs:
        return None, None
    equal = sum(comb(count, 2) for count in counted.values())
    seen = _distances(counted)
    seen[0, 1] += equal
    return _median(seen, pairs), Fraction(equal, pairs)


def _distances(counted: Counter[str]) -> Counter[tuple[int, int]]:
    """How often each (edits, longer length) occurs among the pairs of different claims."""
    from rapidfuzz.distance import Levenshtein

    distance = Levenshtein.distance
    seen: Counter[tuple[int, int]] = Counter()
    by_length = sorted(counted, key=len)  # the one in hand is never shorter than those before it
    weights = [counted[claim] for claim in by_length]
    for place, claim in enumerate(by_length):
        longest, often = max(len(claim), 1), weights[place]
        edits = [distance(other, claim) for other in by_length[:place]]
        for edited, again in zip(edits, weights, strict=False):
            seen[edited, longest] += often * again
    return seen


def _median(seen: Mapping[tuple[int, int], int], pairs: int) -> Fraction:
    """The exact median of the fractions. Quotients order them: different ones of such lengths differ as floats too."""
    lower, upper = (pairs - 1) // 2, pairs // 2
    middle: list[Fraction] = []
    passed = 0
    for edits, longest in sorted(seen, key=lambda pair: pair[0] / pair[1]):
        passed += seen[edits, longest]
        while len(middle) < 2 and passed > (lower, upper)[len(middle)]:
            middle.append(Fraction(edits, longest))
    return (middle[0] + middle[1]) / 2


def citation_overlap(sets: Collection[frozenset[str]]) -> Overlap:
    """|∩| / |∪| over all sets, and the mean of it over pairs; None where nobody cites anything."""
    if not sets:
        return Overlap(None, None)
    union, shared = frozenset[str]().union(*sets), frozenset.intersection(*sets)
    whole = Fraction(len(shared), len(union)) if union else None
    total, pairs = Fraction(0), 0
    counted = Counter(sets)
    for one, often in counted.items():
        if one:  # two empty sets have no overlap to speak of
            total += comb(often, 2)
            pairs += comb(often, 2)
    for (one, often), (other, again) in combinations(counted.items(), 2):
        total += Fraction(len(one & other), len(one | other)) * often * again
        pairs += often * again
    return Overlap(whole, total / pairs if pairs else None)
