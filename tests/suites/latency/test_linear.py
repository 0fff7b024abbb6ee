"""Ten times the data is ten times the work: what was once squared, or kept for every item, counted and not timed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from latency_runs import GOLD, served

from conftest import gold, trace
from counting import calls
from shipworthy import stats
from shipworthy.core.join import Unknown
from shipworthy.core.tally import NAMED, Tally
from shipworthy.history.nightly import nightly
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.stability.judge import citation_overlap


def own_seeds(questions: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Each question run three times, with seeds of its own: the grid has a column for every run of the file."""
    golds = [gold(f"q{number:04}") for number in range(questions)]
    runs = [
        trace(item["qid"]) | {"seed": 10 * at + run, "jitter": "none"}
        for at, item in enumerate(golds)
        for run in range(3)
    ]
    return golds, runs


def test_random_seeds_are_counted_as_missing_runs_without_a_walk_through_the_grid() -> None:
    def judged(questions: int) -> int:
        golds, runs = own_seeds(questions)
        decisions: list[Any] = []
        work = calls(lambda: decisions.append(evaluate("stability", gold=golds, runs=runs)))
        assert decisions[0].counts["holes"] == questions * (3 * questions - 3)
        assert decisions[0].named["holes"][:2] == ["q0000#seed=10;j=none", "q0000#seed=11;j=none"]
        assert len(decisions[0].named["holes"]) == NAMED
        return work

    few, many = judged(30), judged(300)
    assert many < 14 * few


def plain_overlap(sets: list[frozenset[str]]) -> Fraction | None:
    pairs = [(one, other) for one, other in combinations(sets, 2) if one | other]
    return sum((Fraction(len(a & b), len(a | b)) for a, b in pairs), Fraction(0)) / len(pairs) if pairs else None


@given(st.lists(st.frozensets(st.sampled_from("abcd")), max_size=8))
def test_the_overlap_of_pairs_is_the_mean_of_their_fractions(sets: list[frozenset[str]]) -> None:
    assert citation_overlap(sets).pairwise == plain_overlap(sets)


def test_pairs_of_citations_are_counted_and_not_added_as_fractions() -> None:
    sets = [frozenset((f"d{number}", f"d{number + 1}", "all")) for number in range(60)]
    assert calls(citation_overlap, sets) < 12 * len(sets) ** 2 / 2


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=9))
def test_clusters_of_yes_and_no_by_their_counts(pairs: list[tuple[int, int]]) -> None:
    groups = [(min(pair), max(pair)) for pair in pairs]
    counted = {group: groups.count(group) for group in groups}
    rows = [[1] * yes + [0] * (size - yes) for yes, size in groups if size]
    found, n = stats.cluster_se_of_counts(counted), sum(map(len, rows))
    if not n:
        assert found is None
        return
    mean = Fraction(sum(map(sum, rows)), n)
    squares = sum((value - mean) ** 2 for row in rows for value in row)
    between = sum(sum(value - mean for value in row) ** 2 for row in rows)
    assert found is not None and found.mean == mean
    assert found.naive_se == (math.sqrt(squares / ((n - 1) * n)) if n > 1 else None)
    assert found.cluster_se == (math.sqrt(between / n**2) if len(rows) > 1 else None)
    if found.deff is not None:
        assert found.deff == float(between / n**2 / (squares / ((n - 1) * n)))
        assert found.n_eff == (pytest.approx(n / found.deff) if found.deff else None)


@given(st.dictionaries(st.fractions(max_denominator=99), st.integers(1, 9)))
def test_sums_by_denominator_are_exact(counts: dict[Fraction, int]) -> None:
    assert stats.exact_sum(counts) == sum((value * count for value, count in counts.items()), Fraction(0))


@given(st.dictionaries(st.integers(0, 50), st.integers(1, 4), min_size=1), st.integers(0, 100))
def test_values_in_order_give_every_rank_and_percentile(counts: dict[int, int], p: int) -> None:
    ordered, listed = stats.Ordered(counts), sorted(value for value, often in counts.items() for _ in range(often))
    assert [ordered.at(rank) for rank in range(1, len(ordered) + 1)] == listed
    assert ordered.percentile(p) == stats.percentile(listed, p)


class Compared(int):
    """A number that counts how often it is compared."""

    times = 0

    def __lt__(self, other: int) -> bool:
        Compared.times += 1
        return int(self) < int(other)


def test_values_are_sorted_once_for_all_percentiles_until_more_are_counted() -> None:
    tally = Tally()
    for number in range(400):
        tally.count((("e2e", Compared(number * 7 % 400)),))
    tally.ordered("e2e")
    once, Compared.times = Compared.times, 0
    assert [int(tally.ordered("e2e").at(rank)) for rank in (1, 400)] == [0, 399]
    assert once > 0 and Compared.times == 0
    tally.count((("e2e", Compared(1_000)),))
    assert int(tally.ordered("e2e").at(401)) == 1_000


def test_percentiles_of_many_arms_and_loads_take_work_in_proportion() -> None:
    def judged(loads: int) -> int:
        rows = [row | {"load_rps": load} for load in range(1, loads + 1) for row in served(lambda at: 100 + at)]
        return calls(lambda: evaluate("latency", gold=GOLD, trace=rows))

    assert judged(20) < 11 * judged(2)


def test_a_million_unknown_questions_are_a_count_and_a_few_names() -> None:
    unknown = Unknown()
    for place in range(5_000):
        unknown.meet(place, f"x{place * 7 % 5_000:04}")
    assert unknown.lines == 5_000 and unknown.first == (0, "x0000")
    assert unknown.names == [f"x{number:04}" for number in range(NAMED)]


def test_confidences_are_put_together_to_four_places() -> None:
    golds = [gold(f"q{number:03}") for number in range(400)]
    rows = [trace(item["qid"]) | {"confidence": 0.5 + number / 1e7} for number, item in enumerate(golds)]
    assert len(evaluate(golds, rows).sections["risk_coverage"]) == 1
    assert (
        evaluate(golds[:1], [trace("q000") | {"confidence": 0.95}]).sections["risk_coverage"][0]["confidence"] == 0.95
    )


def test_nights_are_looked_at_one_after_the_other() -> None:
    """However many there are, no more than the first five, the last three and the one in hand are held."""

    class Night(dict[str, bool]):
        alive = 0

        def __init__(self, *items: Any) -> None:
            super().__init__(*items)
            Night.alive += 1

        def __del__(self) -> None:
            Night.alive -= 1

    most = 0

    def nights() -> Any:
        nonlocal most
        for number in range(200):
            yield f"n{number}", Night({f"Q{item}": True for item in range(5)})
            most = max(most, Night.alive)

    assert len(nightly(nights()).nights) == 200
    assert most <= 10
