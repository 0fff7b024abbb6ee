"""Statistics: every published number reproduced, and the properties that a ship decision relies on."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT, VECTORS
from shipworthy import stats
from shipworthy.stats import rates

PUBLISHED: dict[str, Any] = json.loads((VECTORS / "stats.json").read_text("utf-8"))
FIFTIETH = Fraction(1, 50)
GATES = [Fraction(n, 20) for n in range(1, 20)]

counts = st.integers(1, 150).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
gates = st.sampled_from(GATES)
directions = st.sampled_from([">=", "<="])
few = settings(max_examples=20 * EFFORT, deadline=None)


def exact(number: float) -> Fraction:
    return Fraction(str(number))


def near(number: float | None, digits: int = 6) -> Any:
    return None if number is None else pytest.approx(number, abs=0.51 * 10**-digits)


# ---- rates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", PUBLISHED["proportion"], ids=lambda row: f"{row['k']}of{row['n']}")
def test_intervals_of_a_rate(row: dict[str, Any]) -> None:
    k, n = row["k"], row["n"]
    assert stats.wilson(k, n) == (near(row["wilson95"][0]), near(row["wilson95"][1]))
    assert stats.clopper_pearson_lower(k, n) == near(row["cp_lower95_1s"])
    assert stats.clopper_pearson_upper(k, n) == near(row["cp_upper95_1s"])
    two_sided = stats.clopper_pearson_lower(k, n, 0.025), stats.clopper_pearson_upper(k, n, 0.025)
    assert two_sided == (near(row["cp95_2s"][0]), near(row["cp95_2s"][1]))


def test_wilson_reaches_the_ends_exactly_and_needs_items() -> None:
    assert stats.wilson(0, 7)[0] == 0.0  # type: ignore[index]
    assert stats.wilson(7, 7)[1] == 1.0  # type: ignore[index]
    assert stats.wilson(0, 0) is None
    assert stats.clopper_pearson_lower(0, 0) is None
    assert stats.clopper_pearson_upper(0, 0) is None


@pytest.mark.parametrize("row", PUBLISHED["verdict"], ids=lambda row: f"{row['k']}of{row['n']}at{row['p0']}")
def test_verdicts(row: dict[str, Any]) -> None:
    k, n, bound = row["k"], row["n"], exact(row["p0"])
    assert float(stats.prove_p(k, n, bound, ">=")) == near(row["p_prove"])
    assert float(stats.refute_p(k, n, bound, ">=")) == near(row["p_fail"])
    assert stats.verdict_state(k, n, bound, ">=") == row["verdict"]
    assert list(stats.more_items(k, n, bound, ">=")) == row["more"]
    mirrored = n - k, n, 1 - bound
    assert stats.verdict_state(*mirrored, "<=") == row["verdict"]
    assert list(stats.more_items(*mirrored, "<=")) == row["more"]


def test_no_items_no_verdict() -> None:
    assert stats.verdict_state(0, 0, Fraction(4, 5), ">=") == "NO-DATA"
    assert stats.more_items(0, 0, Fraction(19, 20), ">=") == (59, None)


def test_a_point_estimate_alone_lets_a_system_at_the_bar_pass_more_often_than_not() -> None:
    chances = [stats.prove_p(n * 4 // 5, n, Fraction(4, 5), ">=") for n in (30, 100, 400)]
    assert [round(float(chance), 2) for chance in chances] == [0.61, 0.56, 0.53]


@pytest.mark.parametrize("true", [0.90, 0.95])
def test_wilson_covers_a_small_sample(true: float) -> None:
    chance = [math.comb(30, k) * true**k * (1 - true) ** (30 - k) for k in range(31)]
    covered = [k for k in range(31) if (found := stats.wilson(k, 30)) and found[0] <= true <= found[1]]
    assert 0.935 <= sum(chance[k] for k in covered) <= 0.975


def test_what_a_clean_run_shows() -> None:
    assert stats.clopper_pearson_upper(0, 10) == near(0.259, 3)
    assert stats.clopper_pearson_upper(0, 60) == near(0.049, 3)
    assert stats.verdict_state(0, 60, Fraction(1, 20), "<=") == "PASS"
    assert stats.more_items(0, 10, Fraction(1, 20), "<=") == (49, 49)


def test_the_float_traps_do_not_decide() -> None:
    assert stats.met(8, 10, Fraction(4, 5), ">=")
    assert not stats.met(15999, 20000, Fraction(4, 5), ">=")
    assert stats.met(1, 10, Fraction(1, 10), "<=")
    assert stats.excludes_drop(0, 0, 133, exact(0.02)) and not stats.excludes_drop(0, 0, 132, exact(0.02))


def test_a_p_equal_to_alpha_proves() -> None:
    assert stats.prove_p(1, 1, Fraction(1, 20), ">=") == Fraction(1, 20)
    assert stats.proven(1, 1, Fraction(1, 20), ">=")
    just_below = Fraction(1, 20) - Fraction(1, 10**40)
    assert not stats.proven(1, 1, Fraction(1, 20), ">=", just_below)


def test_bounds_of_zero_and_one() -> None:
    assert stats.verdict_state(9, 9, Fraction(1), ">=") == "PASS-BUT-UNPROVEN"  # no sample proves certainty
    assert stats.verdict_state(8, 9, Fraction(1), ">=") == "FAIL"  # one miss refutes it
    assert stats.verdict_state(1, 9, Fraction(0), "<=") == "FAIL"
    assert stats.more_items(9, 9, Fraction(1), ">=") == (None, None)
    assert stats.more_items(0, 5, Fraction(0), ">=") == (1, None)


@pytest.mark.parametrize("call", [(5, 4, Fraction(1, 2)), (-1, 4, Fraction(1, 2)), (1, 4, Fraction(5, 4))])
def test_impossible_counts_are_refused(call: tuple[int, int, Fraction]) -> None:
    with pytest.raises(ValueError):
        stats.prove_p(*call, ">=")
    with pytest.raises(ValueError):
        stats.verdict_state(*call, "<=")


@few
@given(counts, gates, directions)
def test_p_is_the_binomial_sum(count: tuple[int, int], bound: Fraction, direction: Any) -> None:
    k, n = count
    chance = [math.comb(n, i) * bound**i * (1 - bound) ** (n - i) for i in range(n + 1)]
    assert stats.prove_p(k, n, bound, direction) == sum(chance[k:] if direction == ">=" else chance[: k + 1])


@few
@given(counts, gates)
def test_one_more_success_never_weakens_a_proof(count: tuple[int, int], bound: Fraction) -> None:
    k, n = count
    if k < n:
        assert stats.prove_p(k + 1, n, bound, ">=") < stats.prove_p(k, n, bound, ">=")
        assert stats.prove_p(k + 1, n, bound, "<=") > stats.prove_p(k, n, bound, "<=")


@few
@given(counts)
def test_raising_the_bound_never_turns_unproven_into_proven(count: tuple[int, int]) -> None:
    proofs = [stats.proven(*count, bound, ">=") for bound in GATES]
    assert proofs == sorted(proofs, reverse=True)
    upper = [stats.proven(*count, bound, "<=") for bound in GATES]
    assert upper == sorted(upper)


@few
@given(counts, gates, directions)
def test_a_proof_is_met_and_never_also_refuted(count: tuple[int, int], bound: Fraction, direction: Any) -> None:
    if stats.proven(*count, bound, direction):
        assert stats.met(*count, bound, direction)
        assert not stats.refuted(*count, bound, direction)


@few
@given(counts, gates)
def test_proof_agrees_with_the_clopper_pearson_bound(count: tuple[int, int], bound: Fraction) -> None:
    lower = stats.clopper_pearson_lower(*count)
    assert lower is not None
    if abs(lower - bound) > 1e-9:
        assert stats.proven(*count, bound, ">=") == (lower > bound)


@few
@given(counts)
def test_wilson_holds_the_rate_and_mirrors(count: tuple[int, int]) -> None:
    k, n = count
    low, high = stats.wilson(k, n) or (None, None)
    assert low is not None and high is not None and 0 <= low <= k / n <= high <= 1
    assert stats.wilson(n - k, n) == pytest.approx((1 - high, 1 - low))


# ---- large n -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [Fraction(1, 20), Fraction(4, 5), Fraction(999, 1000)])
@pytest.mark.parametrize("n", [30, 1999, 2000, 2001, 6000])
def test_the_two_ways_to_a_tail_agree(n: int, bound: Fraction) -> None:
    middle, reach = int(n * bound), 3 * math.isqrt(n) + 2
    for k in {0, n, *range(max(0, middle - reach), min(n, middle + reach), max(1, reach // 4))}:
        numerator, denominator = rates._exact_tail(k, n, bound)
        assert abs(rates.near_tail(k, n, bound) - Fraction(numerator, denominator)) < rates.TAIL_ERROR / 1000


def test_a_tie_beyond_the_exact_limit_is_decided_in_integers() -> None:
    n, bound = 2500, Fraction(4, 5)
    numerator, denominator = rates._exact_tail(2040, n, bound)
    alpha = Fraction(numerator, denominator)
    assert stats.proven(2040, n, bound, ">=", alpha)
    assert not stats.proven(2040, n, bound, ">=", alpha - Fraction(1, 10**60))


def test_a_million_items_are_right_and_never_summed_in_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    def summed(k: int, n: int, p: Fraction) -> None:
        raise AssertionError(f"a sum of {n} terms, each of {n} digits")

    monkeypatch.setattr(rates, "_exact_tail", summed)
    n = 10**6
    chance = stats.prove_p(800_659, n, Fraction(4, 5), ">=")
    assert chance <= Fraction(1, 20) < stats.prove_p(800_658, n, Fraction(4, 5), ">=")
    # continuity and skewness corrected normal approximation
    z = (800_659 - 0.5 - 0.8 * n) / math.sqrt(0.16 * n)
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    skew = (1 - 2 * 0.8) / math.sqrt(0.16 * n)
    assert float(chance) == pytest.approx(math.erfc(z / math.sqrt(2)) / 2 + skew / 6 * (z * z - 1) * density, abs=1e-7)
    assert stats.verdict_state(799_000, n, Fraction(4, 5), ">=") == "FAIL"
    assert stats.more_items(800_400, n, Fraction(4, 5), ">=") == (1294, None)
    assert stats.wilson(n, n) == pytest.approx((1 - 3.8414e-6, 1.0), abs=1e-9)


def test_the_callers_decimal_context_changes_nothing() -> None:
    expected = stats.prove_p(8040, 10_000, Fraction(4, 5), ">="), stats.tango_upper(2, 1, 200)
    rates.point.cache_clear()
    rates._ln_factorial.cache_clear()
    with localcontext() as context:
        context.prec = 3
        assert Decimal(1) / 3 == Decimal("0.333")
        assert (stats.prove_p(8040, 10_000, Fraction(4, 5), ">="), stats.tango_upper(2, 1, 200)) == expected


# ---- sample sizes --------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", PUBLISHED["min_n_table"])
def test_smallest_n(bound: str) -> None:
    table = PUBLISHED["min_n_table"][bound]
    assert [stats.smallest_n(Fraction(bound), failures) for failures in range(6)] == table
    assert [stats.smallest_n(1 - Fraction(bound), failures, "<=") for failures in range(6)] == table
    assert table[0] == PUBLISHED["min_n_zero_fail"][bound]


def test_smallest_n_at_the_ends() -> None:
    assert stats.smallest_n(Fraction(1)) is None
    assert stats.smallest_n(Fraction(0), direction="<=") is None
    assert stats.smallest_n(Fraction(0), failures=3) == 4
    assert stats.smallest_n(1 - Fraction(1, 10**9)) == math.ceil(math.log(0.05) / math.log1p(-1e-9))


@pytest.mark.parametrize(
    ("bound", "items", "allowed"),
    [
        ("0.80", (20, 70, 140, 280), (0, 8, 19, 44)),
        ("0.75", (20, 70, 140, 280), (1, 11, 26, 57)),
        ("0.90", (20, 70, 140, 280), (None, 2, 7, 19)),
        ("0.95", (10, 30, 60, 120), (None, None, 0, 1)),
        ("0.95", (20, 70, 140, 280), (None, 0, 2, 7)),
        ("0.70", (30, 100, 200, 400), (4, 22, 48, 104)),
    ],
)
def test_failures_that_a_gold_set_can_afford(bound: str, items: Any, allowed: Any) -> None:
    needed = [stats.critical_k(n, Fraction(bound)) for n in items]
    assert tuple(None if k is None else n - k for n, k in zip(items, needed, strict=True)) == allowed


@pytest.mark.parametrize("row", PUBLISHED["power_at"], ids=lambda row: str(row["n"]))
def test_power(row: dict[str, Any]) -> None:
    assert stats.critical_k(row["n"], exact(row["p0"])) == row["k_needed"]
    assert float(stats.power_at(row["n"], exact(row["p0"]), exact(row["true"]))) == near(row["prob_proven"], 4)


@pytest.mark.parametrize("row", PUBLISHED["n_for_80pct_chance_to_prove"], ids=lambda row: f"{row['p0']}-{row['true']}")
def test_items_for_a_likely_proof(row: dict[str, Any]) -> None:
    bound, true = exact(row["p0"]), exact(row["true"])
    assert stats.n_for_power(bound, true) == row["n80"]
    assert stats.critical_k(row["n80"], bound) == row["kc"]
    assert all(stats.power_at(n, bound, true) >= Fraction(4, 5) for n in range(row["n80"], row["n80"] + 10))
    assert stats.power_at(row["n80"] - 1, bound, true) < Fraction(4, 5)


def test_a_truth_at_the_bound_is_never_likely_proven() -> None:
    assert stats.n_for_power(Fraction(4, 5), Fraction(4, 5)) is None
    assert stats.n_for_power(Fraction(4, 5), Fraction(1)) == 14
    assert stats.n_for_power(Fraction(0), Fraction(1, 2)) == 3
    assert stats.power_at(13, Fraction(4, 5), Fraction(1)) == 0


@few
@given(counts, gates, directions)
def test_more_items_is_the_first_that_proves(count: tuple[int, int], bound: Fraction, direction: Any) -> None:
    k, n = count
    best, at_rate = stats.more_items(k, n, bound, direction)
    good = k if direction == ">=" else n - k
    gate = bound if direction == ">=" else 1 - bound

    def first(passed: Any, among: range) -> int | None:
        return next((m for m in among if stats.proven(passed(m), n + m, gate, ">=")), None)

    assert best == first(lambda m: good + m, range(best + 1 if best is not None else 500))
    if at_rate is None:  # never, or so late that nobody looks
        late = n + stats.MOST_ITEMS
        assert good <= gate * n or not stats.proven(good * late // n, late, gate, ">=")
    elif at_rate < 1000:
        assert at_rate == first(lambda m: good * (n + m) // n, range(at_rate + 1))


def test_a_search_that_leads_nowhere_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[bool] = []
    step = rates._Walk.step

    def counted(walk: rates._Walk, hit: bool) -> None:
        steps.append(hit)
        step(walk, hit)

    monkeypatch.setattr(rates._Walk, "step", counted)
    assert stats.more_items(8001, 10_000, Fraction(4, 5), ">=")[1] is None
    assert len(steps) == stats.MOST_ITEMS
    assert stats.more_items(900_000, 1_000_000, Fraction(19, 20), ">=") == (None, None)
    assert len(steps) == stats.MOST_ITEMS  # a rate below the bound is not walked at all


# ---- pairs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", PUBLISHED["mcnemar"], ids=lambda row: f"{row['b']}-{row['c']}")
def test_mcnemar(row: dict[str, Any]) -> None:
    assert float(stats.mcnemar_one_sided(row["b"], row["c"])) == near(row["p_regression_one_sided"])
    assert float(stats.mcnemar_two_sided(row["b"], row["c"])) == near(row["p_two_sided"])
    assert stats.mcnemar_two_sided(row["c"], row["b"]) == stats.mcnemar_two_sided(row["b"], row["c"])


def test_mcnemar_of_the_worked_drop() -> None:
    assert float(stats.mcnemar_one_sided(9, 1)) == near(0.011, 3)
    fewest = [next(b for b in range(99) if stats.mcnemar_one_sided(b, c) <= stats.ALPHA) for c in range(6)]
    assert fewest == [5, 7, 9, 10, 12, 13]


@pytest.mark.parametrize("row", PUBLISHED["tango"], ids=lambda row: f"{row['b']}-{row['c']}-{row['n']}")
def test_tango(row: dict[str, Any]) -> None:
    pairs = row["b"], row["c"], row["n"]
    assert stats.tango_upper(*pairs) == near(row["upper95_1s"], 5)
    assert stats.excludes_drop(*pairs, FIFTIETH) == row["noninferior_2pts"]


def test_items_until_no_regression_is_shown() -> None:
    assert stats.more_for_no_regression(2, 1, 200, FIFTIETH) == 55
    assert stats.more_for_no_regression(0, 0, 0, FIFTIETH) == 133
    assert stats.more_for_no_regression(1, 1, 100, FIFTIETH) == 76
    assert stats.more_for_no_regression(5, 5, 100, FIFTIETH) == 191
    assert stats.more_for_no_regression(0, 0, 400, FIFTIETH) == 0
    assert stats.more_for_no_regression(5, 0, 400, Fraction(0)) is None
    assert stats.more_for_no_regression(0, 9, 400, Fraction(0)) == 0


def test_tango_at_the_ends() -> None:
    assert stats.tango_upper(0, 0, 0) is None
    assert stats.tango_upper(10, 0, 10) == 1.0
    assert stats.tango_upper(0, 10, 10) < 0  # type: ignore[operator]
    assert not stats.excludes_drop(0, 0, 0, FIFTIETH)
    with pytest.raises(ValueError):
        stats.tango_upper(6, 5, 10)
    with pytest.raises(ValueError):
        stats.excludes_drop(1, 1, 10, Fraction(3))


@few
@given(st.integers(0, 12), st.integers(0, 12), st.integers(24, 400))
def test_one_more_loss_raises_tangos_bound(b: int, c: int, n: int) -> None:
    first, second = stats.tango_upper(b, c, n + 1), stats.tango_upper(b + 1, c, n + 1)
    assert first is not None and second is not None and (b - c) / (n + 1) <= first < second


def test_few_differences_are_enumerated() -> None:
    assert stats.paired_permutation([Fraction(1)] * 5, seed=1) == 2 / 32
    assert stats.paired_permutation([0.5, 0.25, -0.25, 0, 0], seed=1) == 6 / 8  # zeros carry no sign
    assert stats.paired_permutation([], seed=1) == 1.0
    assert stats.paired_permutation([0.0] * 30, seed=1) == 1.0


def test_many_differences_are_drawn_from_the_seed() -> None:
    differences = [Fraction(i % 7 - 2, 10) for i in range(60)]
    first = stats.paired_permutation(differences, seed=7, draws=2000)
    assert first == stats.paired_permutation(differences, seed=7, draws=2000)
    assert stats.paired_permutation([Fraction(1)] * 40, seed=7, draws=999) == 1 / 1000  # never zero
    assert stats.paired_permutation([1.0, -1.0] * 20, seed=7, draws=999) == 1.0


def test_differences_are_a_multiset() -> None:
    differences = [Fraction(i % 9 - 3, 1 + i % 5) for i in range(75)]
    first = stats.paired_permutation(differences, seed=0, draws=500)
    assert first == stats.paired_permutation(differences[::-1], seed=0, draws=500)
    assert first == stats.paired_permutation(Counter(differences), seed=0, draws=500)
    assert 0.0 < first < 1.0 and first != stats.paired_permutation(differences, seed=1, draws=500)


@pytest.mark.parametrize("counts", [{3: 20, -2: 25, 1: 3}, {5: 2, -1: 30, 2: 7}, dict.fromkeys(range(1, 24), 1)])
def test_drawn_p_agrees_with_counting_every_pattern_of_signs(counts: dict[int, int]) -> None:
    sums = Counter({0: 1})
    for size, count in counts.items():
        for _ in range(count):
            shifted = Counter[int]()
            for total, ways in sums.items():
                shifted[total + size] += ways
                shifted[total - size] += ways
            sums = shifted
    observed = abs(sum(size * count for size, count in counts.items()))
    exact = sum(ways for total, ways in sums.items() if abs(total) >= observed) / sums.total()
    differences = {Fraction(size, 7): count for size, count in counts.items()}
    assert stats.paired_permutation(differences, seed=0) == pytest.approx(exact, abs=0.02)


def test_drawn_and_exact_p_agree() -> None:
    differences = [Fraction(1)] * 12 + [Fraction(-1)] * 5
    drawn = stats.paired_permutation(differences, seed=3, draws=20_000)
    assert drawn == pytest.approx(float(stats.mcnemar_two_sided(12, 5)), abs=0.01)


# ---- many looks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["holm", "holm2"])
def test_holm(key: str) -> None:
    row = PUBLISHED[key]
    adjusted = stats.holm([exact(p) for p in row["p"]])
    assert adjusted == [exact(p) for p in row["holm"]]
    assert stats.holm(row["p"]) == pytest.approx(row["holm"])
    if "reject_holm_05" in row:
        assert [p <= stats.ALPHA for p in adjusted] == row["reject_holm_05"]
    backwards = stats.holm([exact(p) for p in reversed(row["p"])])
    assert backwards == adjusted[::-1]


def test_holm_at_the_ends() -> None:
    empty: list[float] = []
    assert stats.holm(empty) == []
    assert stats.holm([0.9, 0.8]) == [1.0, 1.0]


@few
@given(st.lists(st.fractions(0, 1), max_size=12))
def test_holm_lies_between_p_and_bonferroni(ps: list[Fraction]) -> None:
    for raw, adjusted in zip(ps, stats.holm(ps), strict=True):
        assert raw <= adjusted <= min(Fraction(1), raw * len(ps))


@pytest.mark.parametrize("row", PUBLISHED["e_sign"], ids=lambda row: f"{row['b']}-{row['c']}")
def test_e_values(row: dict[str, Any]) -> None:
    assert float(stats.e_value(row["b"], row["c"])) == near(row["e_one_sided"], 4)
    assert float(stats.e_value_two_sided(row["b"], row["c"])) == near(row["e_two_sided"], 4)
    assert stats.alarm(stats.e_value(row["b"], row["c"])) == row["alarm_at_20"]
    assert float(stats.mcnemar_one_sided(row["b"], row["c"])) == near(row["mcnemar_1s"], 5)


@pytest.mark.parametrize("row", PUBLISHED["e_binom"], ids=lambda row: f"{row['k']}of{row['n']}")
def test_e_value_of_a_rate(row: dict[str, Any]) -> None:
    evidence = stats.e_value_rate(row["k"], row["n"], exact(row["p0"]))
    assert evidence is not None and float(evidence) == near(row["e"], 4)
    assert stats.e_value_rate(3, 6, Fraction(1, 2)) == stats.e_value_two_sided(3, 3)
    assert stats.e_value_rate(1, 2, Fraction(0)) is None


def test_losses_that_ring_the_alarm() -> None:
    fewest = [next(b for b in range(99) if stats.alarm(stats.e_value(b, c))) for c in range(6)]
    assert fewest == [7, 10, 12, 14, 16, 18]


@few
@given(st.integers(0, 60))
def test_an_e_value_averages_to_one_if_nothing_changed(flips: int) -> None:
    weights = [Fraction(math.comb(flips, b), 2**flips) for b in range(flips + 1)]
    for evidence in (stats.e_value, stats.e_value_two_sided):
        assert sum(weight * evidence(b, flips - b) for b, weight in enumerate(weights)) == 1


# ---- percentiles ---------------------------------------------------------------------------------


def test_percentiles_interpolate_exactly() -> None:
    values = [1, 2, 3, 4]
    wanted = {0: 1, 50: Fraction(5, 2), 90: Fraction(37, 10), 95: Fraction(77, 20), 100: 4}
    assert {p: stats.percentile(values, p) for p in wanted} == wanted
    assert stats.percentile([Fraction(1, 3)], 99) == Fraction(1, 3)
    assert stats.percentile([], 50) is None
    assert stats.Ordered({}).percentile(50) is None
    assert isinstance(stats.percentile([1.5, 2.5], 50), Fraction)
    with pytest.raises(ValueError):
        stats.percentile(values, 101)


@few
@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(0, 1000))
def test_percentile_of_a_multiset_is_that_of_its_values(values: list[int], tenths: int) -> None:
    p = Fraction(tenths, 10)
    multiset = {value: values.count(value) for value in sorted(set(values), reverse=True)}
    assert stats.Ordered(multiset).percentile(p) == stats.percentile(sorted(values), p)


@pytest.mark.parametrize("name", PUBLISHED["quantile"]["ranks"])
def test_quantile_ranks(name: str) -> None:
    n, q = (part.split("=")[1] for part in name.split(","))
    row = PUBLISHED["quantile"]["ranks"][name]
    assert list(stats.quantile_ranks(int(n), Fraction(q))) == row["ci95_2s"]
    assert stats.upper_rank(int(n), Fraction(q)) == row["upper95_1s"]


@pytest.mark.parametrize("q", PUBLISHED["quantile"]["min_n_upper_bound"])
def test_values_that_a_percentile_needs(q: str) -> None:
    n = PUBLISHED["quantile"]["min_n_upper_bound"][q]
    assert stats.min_n_for_quantile(Fraction(q)) == n
    assert stats.upper_rank(n, Fraction(q)) == n
    assert stats.upper_rank(n - 1, Fraction(q)) is None


def test_no_values_have_no_ranks() -> None:
    assert stats.upper_rank(0, Fraction(19, 20)) is None
    assert stats.quantile_ranks(0, Fraction(1, 2)) == (None, None)
    assert stats.quantile_ranks(1, Fraction(1, 2)) == (None, None)


def test_ranks_of_a_million_values_lie_around_the_percentile() -> None:
    low, high = stats.quantile_ranks(10**6, Fraction(19, 20))
    assert (low, high) == (949_572, 950_428)


# ---- means ---------------------------------------------------------------------------------------


def cluster_se(groups: list[list[int]]) -> stats.Clustered | None:
    return stats.cluster_se_of_counts(Counter((sum(group), len(group)) for group in groups))


def test_clusters() -> None:
    row = PUBLISHED["cluster"]
    found = cluster_se(row["groups"])
    assert found is not None and found.mean == Fraction(17, 24)
    assert (found.naive_se, found.cluster_se) == (near(row["naive_se"]), near(row["cluster_se"]))
    assert (found.deff, found.n_eff) == (near(row["deff"], 3), near(row["n_eff"], 1))


def test_clusters_that_say_nothing() -> None:
    assert cluster_se([]) is None
    assert cluster_se([[], []]) is None
    assert cluster_se([[1]]) == stats.Clustered(Fraction(1), None, None, None, None)
    assert cluster_se([[1, 1], [1]]) == stats.Clustered(Fraction(1), 0.0, 0.0, None, None)
    assert cluster_se([[0, 1], [0, 1]])[2:] == (0.0, 0.0, None)  # type: ignore[index]


def test_copies_of_a_row_add_no_evidence() -> None:
    once = cluster_se([[1], [0], [1], [1]])
    thrice = cluster_se([[1] * 3, [0] * 3, [1] * 3, [1] * 3])
    assert once is not None and thrice is not None and once.cluster_se == thrice.cluster_se


def student_two_sided(t: float, df: int) -> float:
    """P[|T| <= t] by the finite trigonometric series for whole degrees of freedom."""
    angle = math.atan(t / math.sqrt(df))
    cosine, term, total = math.cos(angle), 1.0, 1.0
    if df == 1:
        return 2 * angle / math.pi
    if df % 2 == 0:
        for j in range(2, df - 1, 2):
            term *= cosine**2 * (j - 1) / j
            total += term
        return math.sin(angle) * total
    for j in range(3, df - 1, 2):
        term *= cosine**2 * (j - 1) / j
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * cosine * total)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 21, 22, 23, 40, 401])
def test_mean_interval_is_students(n: int) -> None:
    values = [Fraction(i * i % 11, 3) for i in range(n)]
    low, high = stats.mean_interval_of_counts(Counter(values)) or (0.0, 0.0)
    mean = sum(values) / n
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    assert (low + high) / 2 == pytest.approx(float(mean))
    assert student_two_sided((high - low) / 2 / error, n - 1) == pytest.approx(0.95, abs=1e-7)


def test_mean_interval_needs_two_values() -> None:
    assert stats.mean_interval_of_counts({0.5: 1}) is None
    assert stats.mean_interval_of_counts({0.5: 2}) == (0.5, 0.5)
    assert stats.mean_interval_of_counts({1: 2, 4: 1}) == pytest.approx((2 - 4.302653, 2 + 4.302653))


# ---- agreement -----------------------------------------------------------------------------------


def test_kappa() -> None:
    row = PUBLISHED["kappa"]
    value, interval = stats.kappa(row["table"]), stats.kappa_interval(row["table"])
    assert value is not None and float(value) == near(row["kappa"])
    assert interval == (near(row["se"]), near(row["ci"][0]), near(row["ci"][1]))


def test_kappa_where_it_is_undefined() -> None:
    assert stats.kappa([[7, 0], [0, 0]]) is None
    assert stats.kappa_interval([[7, 0], [0, 0]]) is None
    assert stats.kappa([[0, 0], [0, 0]]) is None
    assert stats.kappa([]) is None
    assert stats.kappa([[0, 3], [4, 0]]) == Fraction(-24, 25)
    assert stats.kappa_interval([[5, 0], [0, 5]]) == (0.0, 1.0, 1.0)
    with pytest.raises(ValueError):
        stats.kappa([[1, 2, 3], [4, 5, 6]])


def test_ac1_stays_up_when_one_label_dominates() -> None:
    table = [[118, 5], [2, 0]]
    kappa, ac1 = stats.kappa(table), stats.gwet_ac1(table)
    assert kappa is not None and float(kappa) == pytest.approx(-0.0234, abs=1e-4)
    assert ac1 is not None and float(ac1) == pytest.approx(0.9408, abs=1e-4)
    assert stats.gwet_ac1([[7, 0], [0, 0]]) == 1
    assert stats.gwet_ac1([[7]]) is None
    assert stats.gwet_ac1([[0, 0], [0, 0]]) is None


@few
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3))
def test_agreement_does_not_depend_on_who_is_first(table: list[list[int]]) -> None:
    turned = [list(column) for column in zip(*table, strict=True)]
    assert stats.kappa(table) == stats.kappa(turned)
    assert stats.gwet_ac1(table) == stats.gwet_ac1(turned)
    assert stats.kappa_interval(table) == stats.kappa_interval(turned)


def test_auc() -> None:
    assert stats.auc([3, 4], [1, 2]) == 1
    assert stats.auc([1, 2], [1, 2]) == Fraction(1, 2)
    assert stats.auc([0.9, 0.4, 0.4], [0.4, 0.1]) == Fraction(5, 6)
    assert stats.auc([], [1]) is None and stats.auc([1], []) is None


@few
@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_auc_counts_pairs(pos: list[int], neg: list[int]) -> None:
    wins = sum(Fraction(1 + (p > q) - (p < q), 2) for p in pos for q in neg)
    assert stats.auc(pos, neg) == wins / (len(pos) * len(neg))


@pytest.fixture
def published(real_data: Callable[[str], Path]) -> dict[str, Any]:
    rows = json.loads(real_data("iaa/published_kappas.json").read_text("utf-8"))
    return {row["name"]: row for row in rows}


def test_published_kappa_with_its_error(published: dict[str, Any]) -> None:
    row = published["sas_3x3"]
    value, interval = stats.kappa(row["data"]), stats.kappa_interval(row["data"])
    assert value is not None and float(value) == near(row["published"]["cohen_kappa"], 4)
    low, high = row["published"]["ci95"]
    assert interval == (near(row["published"]["ase"], 4), near(low, 4), near(high, 4))


def test_published_kappa_below_chance(published: dict[str, Any]) -> None:
    row = published["anxiety_20x3"]
    table = [[0] * 6 for _ in range(6)]
    for _, second, third in row["data"]:
        table[second - 1][third - 1] += 1
    value = stats.kappa(table)
    assert value is not None and float(value) == near(row["published"]["cohen_kappa(raters 2,3)"], 9)


def test_every_public_function_says_its_formula() -> None:
    functions = [one for name in dir(stats) if name[0].islower() and callable(one := getattr(stats, name))]
    assert len(functions) > 40 and all(function.__doc__ for function in functions)
