"""The evidence that nights got worse: worth at most 1 on average if they could have come in any order."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import permutations, product
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from counting import lines
from shipworthy import stats

SCORES = st.lists(st.integers(0, 6), max_size=14)


@pytest.mark.parametrize(("nights", "wagered"), [(6, 1 / 2), (7, 1 / 2 + 1 / 6)])
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


def defined(scores: list[int], change: int, factor: int) -> Fraction:
    """n! times the chance of the order, if the worst of any nights left is a later one `factor` times as easily."""
    order = sorted(range(len(scores)), key=lambda night: (-scores[night], -night))  # the best first
    left, ratio = 0, Fraction(1)
    for place, night in enumerate(order, start=1):
        rate = factor if night >= change else 1
        left += rate
        ratio *= Fraction(place * rate, left)
    return ratio


def evidence_by_definition(scores: list[int]) -> Fraction:
    nights, found = len(scores), Fraction(0)
    for change in range(max(5, nights - 60), nights):
        worst = sorted(range(nights), key=lambda night: (scores[night], night))[: nights - change]
        apart = math.comb(nights, change) if min(worst) >= change else 0
        ratios = apart + sum(defined(scores, change, factor) for factor in (3, 10, 30))
        found += ratios / 4 / ((change - 4) * (change - 3))
    return found


@settings(max_examples=10 * EFFORT, deadline=None)
@given(SCORES)
def test_it_is_what_the_definition_says(scores: list[int]) -> None:
    assert (
        stats.drop_evidence(scores)[-1:]
        == [pytest.approx(float(evidence_by_definition(scores)), rel=1e-9)][: len(scores)]
    )


@pytest.mark.parametrize("drop", [0, 30])
def test_many_nights_are_what_the_definition_says(drop: int) -> None:
    """More than are looked back at, with ties, with and without a change."""
    chance = random.Random(7)
    scores = [chance.randint(150, 200) - (drop if night >= 60 else 0) for night in range(90)]
    assert stats.drop_evidence(scores)[-1] == pytest.approx(float(evidence_by_definition(scores)), rel=1e-9)
    assert (max(stats.drop_evidence(scores)) > 20) is (drop > 0)


def test_another_night_takes_as_much_work_however_many_there_were() -> None:
    """It took work for each night before it, which made three thousand nights take two minutes."""
    chance = random.Random(1)
    scores = [chance.randint(150, 200) for _ in range(200)]
    work = [lines(stats.drop_evidence, scores[:nights]) for nights in (100, 150, 200)]
    assert work[2] - work[1] <= 1.05 * (work[1] - work[0])
