"""The mean overlap of any two sets, against its definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from shipworthy.stats import mean_jaccard

SETS = st.lists(st.frozensets(st.integers(0, 6), max_size=4), max_size=7)


@given(SETS)
def test_the_mean_overlap_is_that_of_all_pairs(sets):
    pairs = [(one, other) for one, other in combinations(sets, 2) if one | other]
    shares = [Fraction(len(one & other), len(one | other)) for one, other in pairs]
    assert mean_jaccard(sets) == (sum(shares, Fraction(0)) / len(shares) if shares else None)
