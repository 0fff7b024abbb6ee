"""Stability: distances and overlaps of the answers to one question, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stability_helpers import grid, only, score

from conftest import EFFORT, gold, trace
from shipworthy.core.decision import report
from shipworthy.suites.stability.spread import citation_overlap, distance_and_agreement
from shipworthy.text import canon


def edits(one: str, other: str) -> int:
    """The textbook table, one row at a time."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


@settings(max_examples=20 * EFFORT, deadline=None)
@given(st.lists(st.text(alphabet="aé東😀 b", max_size=8), min_size=2, max_size=7))
def test_ned50_is_the_exact_median_of_all_pairs_in_code_points(claims: list[str]) -> None:
    ned50, iaa = distance_and_agreement(claims)
    pairs = list(combinations(claims, 2))
    assert ned50 == median(Fraction(edits(a, b), max(len(a), len(b), 1)) for a, b in pairs)
    assert iaa == Fraction(sum(a == b for a, b in pairs), len(pairs))


def test_ned50_needs_two_answers() -> None:
    assert distance_and_agreement([]) == (None, None)
    assert distance_and_agreement(["one"]) == (None, None)
    assert distance_and_agreement(["", ""]) == (Fraction(0), Fraction(1))


@settings(max_examples=20 * EFFORT, deadline=None)
@given(st.lists(st.frozensets(st.sampled_from("abcd")), min_size=1, max_size=6))
def test_citation_overlap_is_intersection_over_union(sets: list[frozenset[str]]) -> None:
    whole, pairwise = citation_overlap(sets)
    union = frozenset().union(*sets)
    assert whole == (Fraction(len(frozenset.intersection(*sets)), len(union)) if union else None)
    each = [Fraction(len(a & b), len(a | b)) for a, b in combinations(sets, 2) if a | b]
    assert pairwise == (sum(each, Fraction(0)) / len(each) if each else None)


def test_css_leaves_refusals_out_and_css_all_does_not() -> None:
    shown = only(score([gold("a")], grid("a", **{"0/ws": "not in context"})), "a")
    assert (shown["css"], shown["css_all"]) == (1, 0)


@pytest.mark.parametrize(("passed", "runs"), [(0, 3), (2, 5), (4, 5), (5, 5), (3, 3)])
def test_pass_k_is_the_share_of_k_subsets_that_all_pass(passed: int, runs: int) -> None:
    rows = [
        {**trace("a", "The right answer." if number < passed else "wrong"), "seed": number} for number in range(runs)
    ]
    shown = only(score([gold("a")], rows), "a")
    for k in (1, 2, 3, 5):
        subsets = list(combinations(range(runs), k))
        expected = sum(all(n < passed for n in chosen) for chosen in subsets) / len(subsets) if subsets else None
        assert shown[f"pass^{k}"] == (expected if expected is None else pytest.approx(expected))


def test_pooled_rates_know_that_runs_of_one_question_are_one_cluster() -> None:
    runs = grid("a") + grid("b", "wrong") + grid("c") + grid("d")
    pooled = report(score([gold(name) for name in "abcd"], runs))["pooled"]["acr"]
    assert pooled["rate"] == 0.75 and pooled["runs"] == 36 and pooled["questions"] == 4
    assert pooled["design_effect"] > 8 and pooled["effective_items"] < 5


def test_ugly_claims_are_compared_all_the_same() -> None:
    claims = ["", " ", "\u202e\u0000", "e\u0301" * 50, "😀" * 300, "-5 %", "İstanbul"]
    runs = [{**trace("a", claim), "seed": number} for number, claim in enumerate(claims)]
    shown = only(score([gold("a")], runs), "a")
    assert shown["answered"] == len(claims) and 0 < shown["ned50"] <= 1
    assert canon("e\u0301") == canon("é")
