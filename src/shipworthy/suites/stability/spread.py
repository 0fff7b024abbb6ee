"""How far apart the answers to one question lie: edit distances of claims, overlap of citation sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import NamedTuple

from ...stats import mean_jaccard

MAX_CELLS = 20_000_000_000  # pairs of code points that one question's claims are compared in: some seconds of work
PIECE = 1_000  # code points that are compared at a time where that is not enough
COMPARED = 100_000  # code points of a claim that are compared then; what is behind them counts as different


class Overlap(NamedTuple):
    """Of citation sets: what all share of what any cites, and the mean over pairs of the same."""

    shared: Fraction | None
    pairwise: Fraction | None


def distance_and_agreement(claims: Iterable[str]) -> tuple[Fraction | None, Fraction | None]:
    """(ned50, iaa) of claims in canonical form; None with fewer than two claims.

    ned50 is the median over all pairs of edit distance / longer length, in code points; iaa the share of equal pairs.
    Equal claims are counted, not compared, so that a stable system costs next to nothing.
    """
    return _spread_of(frozenset(Counter(claims).items()))


@lru_cache(maxsize=8)  # the original script mostly reads the same claims
def _spread_of(claims: frozenset[tuple[str, int]]) -> tuple[Fraction | None, Fraction | None]:
    counted = Counter(dict(sorted(claims)))
    pairs = comb(counted.total(), 2)
    if not pairs:
        return None, None
    equal = sum(comb(count, 2) for count in counted.values())
    seen = _distances(counted)
    seen[0, 1] += equal
    return _median(seen, pairs), Fraction(equal, pairs)


def too_long(claims: Iterable[str]) -> bool:
    """Whether exact distances would take too long, so that they are bounded from above."""
    lengths = [len(claim) for claim in set(claims)]
    return (sum(lengths) ** 2 - sum(length**2 for length in lengths)) // 2 > MAX_CELLS


def _distances(counted: Counter[str]) -> Counter[tuple[int, int]]:
    """How often each (edits, longer length) occurs among the pairs of different claims."""
    from rapidfuzz.distance import Levenshtein

    distance = at_most if too_long(counted) else Levenshtein.distance
    seen: Counter[tuple[int, int]] = Counter()
    by_length = sorted(counted, key=len)  # the one in hand is never shorter than those before it
    weights = [counted[claim] for claim in by_length]
    for place, claim in enumerate(by_length):
        longest, often = max(len(claim), 1), weights[place]
        edits = [distance(other, claim) for other in by_length[:place]]
        for edited, again in zip(edits, weights, strict=False):
            seen[edited, longest] += often * again
    return seen


def at_most(one: str, other: str) -> int:
    """A number of edits that turns one text into the other, in time that grows with their length, not its square.

    It is never below the edit distance: a long claim can look less stable than it is, never more.
    """
    from rapidfuzz.distance import Levenshtein, Postfix, Prefix

    start = Prefix.similarity(one, other)
    one, other = one[start:], other[start:]
    end = Postfix.similarity(one, other)
    one, other = one[: len(one) - end], other[: len(other) - end]
    longer = min(max(len(one), len(other)), COMPARED)
    starts = range(0, longer, PIECE)
    edits = sum(Levenshtein.distance(one[at : at + PIECE], other[at : at + PIECE]) for at in starts)
    return edits + max(len(one) - len(starts) * PIECE, len(other) - len(starts) * PIECE, 0)


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
    return Overlap(shared_of_all(sets), mean_jaccard(sets))


def shared_of_all(sets: Collection[frozenset[str]]) -> Fraction | None:
    """|∩| / |∪| over all sets; None where nobody cites anything."""
    union = frozenset[str]().union(*sets)
    return Fraction(len(frozenset.intersection(*sets)), len(union)) if union else None
