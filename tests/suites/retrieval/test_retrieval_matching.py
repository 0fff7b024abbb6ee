"""Retrieval: a block is relevant by its id, its bytes or its text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieval_helpers import HALF, RANGED, line, question, score, value

from conftest import EFFORT
from shipworthy.errors import DataError
from shipworthy.suites.retrieval.places import shares_text


@pytest.mark.parametrize(
    ("block", "relevant"),
    [
        ([100, 200], True),
        ([0, 150], True),
        ([0, 149], False),
        ([150, 400], True),
        ([151, 400], False),
        ([120, 130], True),
        ([195, 205], True),
        ([194, 199], True),
        ([196, 216], False),
        ([200, 300], False),
        ([150, 150], False),
    ],
)
def test_a_block_is_relevant_by_its_bytes(block: list[int], relevant: bool) -> None:
    found = score(question(relevant=[RANGED]), line(found=[{"id": "new", "offsets": block}]), match="offsets")
    assert value(found, "recall@1") == relevant


def test_offsets_of_another_document_do_not_match_and_the_overlap_can_be_set() -> None:
    gold, elsewhere = question(relevant=[{**RANGED, "doc": "one"}]), {**RANGED, "id": "new", "doc": "other"}
    assert value(score(gold, line(found=[elsewhere]), match="offsets"), "recall@1") == 0
    part = line(found=[{"id": "new", "offsets": [100, 175]}, {"id": "y", "offsets": [170, 900]}])
    all_of_itself = score(question(relevant=[RANGED]), part, match="offsets", min_overlap=0.9, k=1)
    assert value(all_of_itself, "recall@1") == 1
    assert value(score(question(relevant=[RANGED]), part, match="offsets", min_overlap=0.3), "precision@3") == 1


def test_several_blocks_on_one_gold_range_count_once_for_recall() -> None:
    gold = question(relevant=[RANGED, {"id": "h", "offsets": [300, 400]}])
    halves = [{"id": "n1", "offsets": [100, 150]}, {"id": "n2", "offsets": [150, 200]}]
    found = score(gold, line(found=halves), match="offsets")
    assert (value(found, "recall@3"), value(found, "precision@3")) == (HALF, 1)
    merged = score(gold, line(found=[{"id": "n", "offsets": [90, 410]}]), match="offsets")
    assert value(merged, "recall@1") == value(merged, "map") == value(merged, "ndcg@1") == 1


def test_gold_without_places_is_named() -> None:
    with pytest.raises(DataError, match=r"no relevant block has offsets.*\[retrieval-no-offsets\]"):
        score(question(), line(), match="offsets")
    with pytest.raises(DataError, match=r"no retrieved block has offsets.*\[retrieval-no-offsets\]"):
        score(question(relevant=[RANGED]), line(), match="offsets")
    found = score(question(relevant=[RANGED, "b"]), line(found=[RANGED]), match="offsets")
    assert value(found, "recall@1") == 1
    assert any("[gold-placeless]" in warning for warning in found.warnings)


def test_text_matches_across_a_new_cut() -> None:
    gold = question(relevant=[{"id": "a", "text": "The  limit is TWELVE kilos."}])
    texts = {
        "n1": "Before. the limit is twelve kilos. After.",
        "n2": "the limit is",
        "n3": "kilos. Something else entirely here.",
    }
    found = score(gold, line(found=("n3", "n1", "n2")), match="text", texts=texts, k=(1, 3))
    assert (value(found, "recall@1"), value(found, "recall@3"), value(found, "precision@3")) == (0, 1, Fraction(2, 3))


@settings(max_examples=20 * EFFORT)
@given(
    st.text("ab", min_size=1, max_size=30),
    st.integers(0, 29),
    st.integers(1, 30),
    st.integers(0, 29),
    st.integers(1, 30),
)
def test_two_cuts_of_one_text_share_what_their_ranges_share(text: str, a: int, b: int, c: int, d: int) -> None:
    one, other = range(a % len(text), min(a + b, len(text))), range(c % len(text), min(c + d, len(text)))
    shared = min(one.stop, other.stop) - max(one.start, other.start)
    if not one or not other or 2 * shared < min(len(one), len(other)):
        return
    assert shares_text(text[one.start : one.stop], text[other.start : other.stop], HALF)


@pytest.mark.parametrize("match", ["offsets", "text"])
def test_one_id_may_have_several_places(match: str) -> None:
    """Gold that names a document and several passages of it."""
    gold = question(
        relevant=[
            {"id": "doc", "offsets": [0, 9], "text": "the first passage"},
            {"id": "doc", "offsets": [50, 59], "text": "another one of them"},
        ]
    )
    found = score(
        gold, line(found=[{"id": "c7", "offsets": [48, 62], "text": "so, another one of them, and on"}]), match=match
    )
    assert value(found, "recall@5") == Fraction(1, 2)


class Watched(str):
    """A text that counts how often somebody looks at one of its characters or slices."""

    looks = 0

    def __getitem__(self, place: Any) -> str:
        Watched.looks += 1
        return str.__getitem__(self, place)


@pytest.mark.parametrize(
    ("gold", "block", "shares"),
    [
        ("a" * 40_000 + "b", "c" + "a" * 30_000 + "d", False),  # long, and without anything to match
        ("a" * 40_000 + "b", "a" * 20_000 + "c" + "a" * 20_000, False),  # half of it matches, all the time
        ("x" * 10 + "ab" * 9_000, "ab" * 9_000 + "y" * 10, True),
    ],
)
def test_the_work_of_comparing_texts_grows_with_their_length_and_no_faster(
    gold: str, block: str, shares: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watched, "looks", 0)
    assert shares_text(Watched(gold), Watched(block), HALF) is shares
    assert Watched.looks <= 10 * (len(gold) + len(block))
