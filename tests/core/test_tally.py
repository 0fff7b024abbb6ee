"""Tally: any split and any order add up to the same."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.core.tally import Fact, FactNames, Tally, UndeclaredFact

FACTS = st.one_of(
    st.sampled_from(["shipped", "refused", "correct"]),
    st.tuples(st.just("ms"), st.one_of(st.integers(0, 5), st.fractions(0, 1, max_denominator=4))),
)
ROWS = st.lists(
    st.tuples(
        st.lists(FACTS, max_size=4), st.sets(st.sampled_from(["type=table", "type=code"])), st.text("abc", max_size=2)
    )
)


def tally_of(rows: list) -> Tally:
    total = Tally()
    for facts, slices, qid in rows:
        total.count(facts, sorted(slices))
        total.name("seen", qid)
    return total


@given(ROWS, st.integers(0, 20), st.randoms(use_true_random=False))
def test_any_split_in_any_order_gives_the_same_tally(rows: list, at: int, random: Random) -> None:
    whole = tally_of(rows)
    shuffled = rows[:]
    random.shuffle(shuffled)
    assert tally_of(shuffled[:at]) + tally_of(shuffled[at:]) == whole


def test_values_are_a_multiset() -> None:
    tally = Tally()
    tally.count([("ms", 3), ("ms", 3), ("ms", Fraction(1, 2)), "shipped"])
    assert tally.values("ms") == {3: 2, Fraction(1, 2): 1}
    assert tally["shipped"] == 1
    assert tally["nothing"] == 0


@pytest.mark.parametrize("fact", ["shiped", ("mss", 3), "lacks e2e_ms\x1fcost", "in_"])
def test_only_declared_facts_are_counted_and_read(fact: Fact) -> None:
    names = FactNames(["shipped", "ms", "in_llm*", "has e2e_ms"])
    counted, empty = Tally({fact: 1}), Tally({"shipped": 1, ("ms", 3): 1, "in_llm_p95": 1, "lacks e2e_ms": 1})
    with pytest.raises(UndeclaredFact, match="no fact is called"):
        counted.declare(names)
    empty.declare(names)
    with pytest.raises(UndeclaredFact, match="no fact is called"):
        empty[fact]
    with pytest.raises(UndeclaredFact, match="no fact is called"):
        empty.slice("type=table")[fact]
    with pytest.raises(UndeclaredFact, match="no fact is called"):
        empty.values(fact if isinstance(fact, str) else fact[0])


def test_a_slice_is_a_tally_of_its_own() -> None:
    tally = Tally()
    tally.count(["shipped"], ["type=table"])
    tally.count(["shipped"])
    assert tally["shipped"] == 2
    assert tally.slice("type=table")["shipped"] == 1
    assert tally.slice("type=code")["shipped"] == 0
