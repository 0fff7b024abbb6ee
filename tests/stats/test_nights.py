"""The evidence that nights got worse: worth at most 1 on average if they could have come in any order."""

from __future__ import annotations

import math
from itertools import permutations, product
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from shipworthy import stats

SCORES = st.lists(st.integers(0, 6), max_size=14)


@pytest.mark.parametrize(("nights", "wagered"), [(6, 1 / 2), (7, 1 / 2 + 1 / 6), (8, 1 / 2 + 1 / 6 + 1 / 12)])
def test_over_all_orders_the_mean_is_what_is_wagered(nights: int, wagered: float) -> None:
    found = [stats.drop_evidence(order)[-1] for order in permutations(range(nights))]
    assert fmean(found) == pytest.approx(wagered)


def test_with_equal_nights_the_mean_is_no_more() -> None:
    for values in ((0, 0, 0, 0, 0, 0, 1), (0, 0, 0, 1, 1, 1, 1), (0, 0, 1, 1, 2, 2, 2)):
        orders = [order for order in product((0, 1, 2), repeat=7) if tuple(sorted(order)) == values]
        assert fmean(stats.drop_evidence(order)[-1] for order in orders) <= 1 / 2 + 1 / 6


def test_worked_out_by_hand() -> None:
    """Five nights and a worse one: all orders of which are 6 times as likely if a change puts it last, and 1/2 bets so.

    With a factor θ it is the worst of six in θ of θ+5 cases.
    """
    expected = (6 + sum(6 * factor / (factor + 5) for factor in (3, 10, 30))) / 4 / 2
    assert stats.drop_evidence([9, 8, 9, 7, 9, 1])[-1] == pytest.approx(expected)
    assert stats.drop_evidence([5, 5, 5, 5, 5]) == [0.0] * 5 and stats.drop_evidence([]) == []


def test_nights_that_are_all_the_same_are_no_evidence() -> None:
    assert max(stats.drop_evidence([200] * 90)) < 1
    assert max(stats.drop_evidence(range(90))) < 1  # ever better


@settings(max_examples=17 * EFFORT)
@given(SCORES, st.integers(1, 5), st.integers(-3, 3))
def test_only_the_order_counts_and_no_later_night_changes_it(scores: list[int], by: int, plus: int) -> None:
    found = stats.drop_evidence(scores)
    assert found == stats.drop_evidence([by * score + plus for score in scores])
    assert found[:7] == stats.drop_evidence(scores[:7])
    assert all(math.isfinite(one) and one >= 0 for one in found)


@settings(max_examples=17 * EFFORT)
@given(st.lists(st.integers(0, 6), min_size=7, max_size=14))
def test_a_worse_last_night_is_never_less_evidence(scores: list[int]) -> None:
    worse = [*scores[:-1], scores[-1] - 1]
    assert stats.drop_evidence(worse)[-1] >= stats.drop_evidence(scores)[-1] - 1e-12
