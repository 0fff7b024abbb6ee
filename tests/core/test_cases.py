"""Cases: records joined with what they are judged by, whatever the order and the split that they come in."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy import DataError
from shipworthy.core.cases import Gathered, Keep

EXPECTED = {"A": "gold A", "B": "gold B", "C": "gold C"}
KEEPS: list[Keep] = ["last", "first", "worst", "error", "all"]


class Record(NamedTuple):
    qid: str
    text: str


class Seen:
    """A survey that counts: what it saw adds up."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, bool]] = Counter()

    def add(self, source: str, place: int, record: Any, known: bool) -> None:
        self.counts[source, record.qid, known] += 1

    def __iadd__(self, other: Seen) -> Seen:
        self.counts += other.counts
        return self


Numbered = list[tuple[int, Record]]


def gathered(records: Numbered, keep: Keep, expected: dict[str, str] | None = EXPECTED) -> Gathered:
    joined = Gathered(expected, Seen())
    joined.take("trace", records, keep, attrgetter("qid"))
    return joined


def numbered(names: str) -> Numbered:
    return [(place, Record(name, f"{name}{place}")) for place, name in enumerate(names, 1)]


def texts(joined: Gathered, expected: dict[str, str] | None = EXPECTED) -> dict[str, list[str]]:
    return {case.key: [record.text for record in case.records["trace"]] for case in joined.cases(expected)}


@pytest.mark.parametrize(
    ("keep", "kept", "superseded"),
    [
        ("last", ["A3"], 1),
        ("first", ["A1"], 1),
        ("worst", ["A1", "A3"], 1),
        ("error", ["A1", "A3"], 0),
        ("all", ["A1", "A3"], 0),
    ],
)
def test_which_of_several_records_count(keep: Keep, kept: list[str], superseded: int) -> None:
    joined = gathered(numbered("ABA"), keep)
    assert texts(joined) == {"A": kept, "B": ["B2"], "C": []}
    assert joined.superseded == superseded


def test_every_expected_question_is_a_case_in_the_order_of_the_gold_and_unknown_ones_are_counted() -> None:
    joined = gathered(numbered("XBXY"), "all")
    assert list(texts(joined)) == ["A", "B", "C"]
    unknown = joined.unknown_of("trace")
    assert (unknown.names, unknown.lines, joined.unknown_total) == (["X", "Y"], 3, 3)
    assert joined.unknown_of("runs").names == []
    assert joined.survey.counts == {("trace", "X", False): 2, ("trace", "B", True): 1, ("trace", "Y", False): 1}


def test_without_a_gold_set_the_records_make_the_cases() -> None:
    joined = gathered(numbered("BAB"), "all", None)
    assert texts(joined, None) == {"B": ["B1", "B3"], "A": ["A2"]}
    assert joined.unknown_total == 0


def test_several_sources_meet_in_one_case() -> None:
    joined = Gathered(EXPECTED)
    joined.take("live", numbered("A"), "all", attrgetter("qid"))
    joined.take("shadow", numbered("BB"), "last", attrgetter("qid"))
    counts = {
        case.key: {name: len(records) for name, records in case.records.items()} for case in joined.cases(EXPECTED)
    }
    assert counts == {"A": {"live": 1, "shadow": 0}, "B": {"live": 0, "shadow": 1}, "C": {"live": 0, "shadow": 0}}


@given(st.text("ABCXY", max_size=12), st.sampled_from(KEEPS), st.integers(1, 4), st.randoms(use_true_random=False))
def test_any_split_in_any_order_joins_to_the_same(names: str, keep: Keep, parts: int, random: Any) -> None:
    records = numbered(names)
    whole = gathered(records, keep)
    dealt: list[Numbered] = [[] for _ in range(parts)]
    for pair in random.sample(records, len(records)):
        random.choice(dealt).append(pair)
    joined = gathered([], keep)
    for part in dealt:
        joined.merge(gathered(part, keep), {"trace": keep})
    assert texts(joined) == texts(whole)
    assert (joined.superseded, joined.unknown) == (whole.superseded, whole.unknown)
    assert joined.survey.counts == whole.survey.counts


def test_a_second_record_is_an_error_where_that_was_asked_for_and_the_first_such_line_is_named() -> None:
    joined = gathered([*numbered("ABCB"), (9, Record("A", "late")), (5, Record("A", "soon"))], "error")
    with pytest.raises(DataError, match=r"line 4 is another trace for qid 'B'") as caught:
        joined.refuse({"trace": "error"}, closed=False)
    assert caught.value.code == "trace-repeated"
    joined.refuse({"trace": "last"}, closed=False)


def test_an_unknown_question_is_an_error_where_the_set_is_closed() -> None:
    joined = gathered(numbered("AYXY"), "last")
    joined.refuse({}, closed=False)
    with pytest.raises(DataError, match=r"line 2 has qid 'Y', which the gold set does not have") as caught:
        joined.refuse({}, closed=True)
    assert caught.value.code == "trace-unknown"
