"""Claims of a megabyte: compared in time that grows with their length, never to look more stable than they are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from stability_helpers import score

from conftest import EFFORT, gold, trace
from shipworthy.suites.stability import spread


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs of code points were compared, comparison by comparison."""
    counted: list[int] = []
    real = Levenshtein.distance

    def counting(one: str, other: str, **more: Any) -> int:
        counted.append(len(one) * len(other))
        return int(real(one, other, **more))

    monkeypatch.setattr(Levenshtein, "distance", counting)
    return counted


def long_claims(count: int, length: int) -> list[str]:
    import random

    return ["".join(random.Random(n).choices("abcdefgh ", k=length)) for n in range(count)]


def test_a_megabyte_is_compared_in_pieces(cells: list[int]) -> None:
    one, other = long_claims(2, 1_000_000)
    ned50, iaa = spread.distance_and_agreement([one, other])
    assert sum(cells) <= spread.COMPARED * spread.PIECE
    assert ned50 is not None and Fraction(9, 10) < ned50 <= 1 and iaa == 0


def test_long_claims_that_hardly_differ_are_still_told_exactly(cells: list[int]) -> None:
    claim = long_claims(1, 1_000_000)[0]
    changed = claim[:500_000] + "X" + claim[500_001:]
    ned50, _ = spread.distance_and_agreement([claim, changed])
    assert ned50 == Fraction(1, 1_000_000)
    assert sum(cells) <= spread.PIECE**2


def test_ordinary_claims_are_compared_in_full(cells: list[int]) -> None:
    claims = long_claims(20, 300)
    assert not spread.too_long(claims)
    ned50, _ = spread.distance_and_agreement(claims)
    assert sum(cells) == 190 * 300 * 300
    assert ned50 is not None and 0 < ned50 < 1


@settings(max_examples=100 * EFFORT, deadline=None)
@given(st.text("ab ", max_size=40), st.text("ab ", max_size=40))
def test_the_bound_is_never_below_the_distance(one: str, other: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spread, "PIECE", 5)
        patch.setattr(spread, "COMPARED", 20)
        assert Levenshtein.distance(one, other) <= spread.at_most(one, other) <= max(len(one), len(other))


@pytest.mark.one_process  # it changes this process
def test_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [trace("A", f"The right answer {n}. " + "x" * 200, seed=n) for n in range(3)]
    monkeypatch.setattr(spread, "MAX_CELLS", 1000)
    decision = score([gold("A")], runs)
    assert any("[claims-long]" in warning and "upper bound" in warning for warning in decision.warnings)
    monkeypatch.setattr(spread, "MAX_CELLS", 10**9)
    assert not any("[claims-long]" in warning for warning in score([gold("A")], runs).warnings)
