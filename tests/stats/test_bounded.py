"""The bound that proves a mean: right at least 95 times in 100 whatever the values, and never from a spread of 0."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from shipworthy import stats
from shipworthy.core.gates import Gate, compare
from shipworthy.core.metrics import Mean, Words
from shipworthy.core.tally import Tally

VALUES = st.dictionaries(st.fractions(0, 1, max_denominator=30), st.integers(1, 40), min_size=1, max_size=8)
THOUSAND = 1000  # values are drawn in thousandths, so that the true mean is exact

# (chance in percent, thousandths) for each value that can be drawn
NASTY = {
    "two points near the edge": [(97, 1000), (3, 0)],
    "rarely far off": [(99, 900), (1, 0)],
    "no spread": [(100, 790)],
    "all but none": [(5, 1000), (95, 990)],
    "skewed": [(60, 1000), (30, 950), (8, 500), (2, 0)],
    "skewed the other way": [(70, 0), (20, 50), (8, 400), (2, 1000)],
    "a coin": [(50, 0), (50, 1000)],
    "thirds": [(20, 0), (20, 333), (60, 1000)],
}


def state(metric: Mean, gate: str, values: dict[int | Fraction, int]) -> str:
    measure = metric.measure(Tally({("x", value): count for value, count in values.items()}))
    return compare(Gate.parse(gate), metric, measure, True).state


def test_two_equal_values_prove_nothing() -> None:
    """Their spread is 0, and so was the interval: any mean counted as proven from n = 2 on."""
    recall = Mean("recall", Words("mean recall"), of="x")
    assert state(recall, "recall >= 0.8", {Fraction(9, 10): 2}) == "PASS-BUT-UNPROVEN"
    assert state(recall, "recall >= 0.95", {Fraction(9, 10): 2}) == "FAIL-BUT-CLOSE"
    assert state(recall, "recall >= 0.8", {1: 2}) == "PASS-BUT-UNPROVEN"


@pytest.mark.parametrize(
    ("value", "needed"),
    # the smallest n with ((x/0.8)^n + (1/2 + x/1.6)^n) / 2 >= 20
    [(Fraction(1), 16), (Fraction(95, 100), 21), (Fraction(9, 10), 30), (Fraction(85, 100), 59)],
)
def test_how_many_equal_values_prove_a_mean(value: Fraction, needed: int) -> None:
    recall = Mean("recall", Words("mean recall"), of="x")
    assert state(recall, "recall >= 0.8", {value: needed}) == "PASS"
    assert state(recall, "recall >= 0.8", {value: needed - 1}) == "PASS-BUT-UNPROVEN"


def test_a_mean_without_limits_is_shown_and_proves_nothing() -> None:
    steps = Mean("steps", Words("steps to the anchor"), "lower", high=None, of="x")
    measure = steps.measure(Tally({("x", 1): 500, ("x", 2): 500}))
    assert measure.bounds == (None, None) and measure.interval is not None and measure.n == 1000
    assert state(steps, "steps <= 5", {1: 500, 2: 500}) == "PASS-BUT-UNPROVEN"
    assert state(steps, "steps <= 1", {1: 500, 2: 500}) == "FAIL-BUT-CLOSE"
    assert steps.measure(Tally({("x", 1): 2})).interval is None  # without spread there is nothing to show either


def test_limits_other_than_0_and_1() -> None:
    shares, scores = {Fraction(9, 10): 40, Fraction(1, 2): 3}, {Fraction(46, 10): 40, Fraction(3): 3}
    low, high = stats.mean_bounds(shares, 0, 1) or (0.0, 0.0)
    assert stats.mean_bounds(scores, 1, 5) == pytest.approx((1 + 4 * low, 1 + 4 * high))
    assert stats.mean_bounds({Fraction(3, 2): 9}, 0, 1) is None  # not within its limits: nothing holds
    assert stats.mean_bounds({}, 0, 1) is None and stats.mean_spread({0: 0}, 0, 1) is None


@given(VALUES)
def test_bounds_lie_around_the_mean_and_within_the_limits(values: dict[Fraction, int]) -> None:
    mean = sum(value * count for value, count in values.items()) / sum(values.values())
    spread = stats.mean_spread(values, 0, 1)
    assert spread is not None
    (widest, highest), (low, high) = spread
    assert low is not None and high is not None
    assert 0 <= widest <= low <= mean <= high <= highest <= 1


@given(VALUES)
def test_what_a_bound_rules_out_would_have_paid_twenty(values: dict[Fraction, int]) -> None:
    """The definition, in exact fractions: bets of 1, 1/2, … on the values pay 20 at the bound."""
    low, _ = stats.mean_bounds(values, 0, 1) or (0.0, 0.0)
    m = Fraction(str(low))
    if not m:
        return
    n = sum(values.values())
    stakes = [Fraction(1, 2**power) for power in range(max(1, math.ceil(math.log2(math.sqrt(n) / 4))) + 1)]
    pays = [math.prod((1 - stake + stake * value / m) ** count for value, count in values.items()) for stake in stakes]
    assert sum(pays) / len(stakes) >= 20


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_the_values_does_not_show(values: dict[Fraction, int], chance: random.Random) -> None:
    pairs = list(values.items())
    chance.shuffle(pairs)
    assert stats.mean_spread(dict(pairs), 0, 1) == stats.mean_spread(values, 0, 1)
    upside_down = stats.mean_bounds({1 - value: count for value, count in values.items()}, 0, 1) or (0.0, 0.0)
    assert stats.mean_bounds(values, 0, 1) == pytest.approx((1 - upside_down[1], 1 - upside_down[0]))


@settings(max_examples=7 * EFFORT, deadline=None)
@given(st.integers(600, 3000), st.randoms(use_true_random=False))
def test_very_many_values_are_put_on_a_grid_that_gives_nothing_away(n: int, chance: random.Random) -> None:
    fine = Counter(Fraction(chance.randrange(700_000, 1_000_000), 1_000_000) for _ in range(n))
    coarse = Counter({Fraction(int(value * 400), 400): 0 for value in fine})
    for value, count in fine.items():
        coarse[Fraction(int(value * 400), 400)] += count
    on_grid, below = stats.mean_bounds(fine, 0, 1), stats.mean_bounds(coarse, 0, 1)
    assert on_grid is not None and below is not None
    assert below[0] <= on_grid[0] <= below[0] + 1 / 400 + 1e-5  # values cut down by up to 1/400 lower it by as much


@pytest.mark.parametrize("draws", [5, 30, 120])
@pytest.mark.parametrize("name", NASTY)
def test_the_bounds_are_wrong_at_most_once_in_twenty(name: str, draws: int) -> None:
    """2,000 samples each; with a true chance of 5 %, more than 130 wrong ones happen once in a thousand times."""
    draw, mean = drawing(NASTY[name], random.Random(f"{name} {draws}"))
    wrong = [0, 0]
    for _ in range(2000):
        low, high = bounds_of(draw(draws))
        wrong[0] += Fraction(str(low)) > mean
        wrong[1] += Fraction(str(high)) < mean
    assert max(wrong) <= 130


def drawing(chances: list[tuple[int, int]], chance: random.Random) -> tuple[Callable[[int], list[int]], Fraction]:
    percents, values = zip(*chances, strict=True)
    mean = Fraction(sum(percent * value for percent, value in chances), 100 * THOUSAND)
    return lambda n: chance.choices(values, percents, k=n), mean


_BOUNDS: dict[tuple[tuple[int, int], ...], tuple[float, float]] = {}


def bounds_of(drawn: list[int]) -> tuple[float, float]:
    counts = Counter(drawn)
    key = tuple(sorted(counts.items()))
    if key not in _BOUNDS:
        found = stats.mean_bounds({Fraction(value, THOUSAND): count for value, count in counts.items()}, 0, 1)
        assert found is not None
        _BOUNDS[key] = found
    return _BOUNDS[key]
