"""Evidence: tallies, the worst few and one row per item add up to the same from any split."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.core.evidence import Counted, Evidence, Offence, Row, Rows


class Verdict(NamedTuple):
    qid: str
    bad: int


class Cards:
    """How many cards were made: only those that get among the worst should be."""

    made = 0

    @classmethod
    def of(cls, verdict: Verdict) -> Row:
        cls.made += 1
        return {"qid": verdict.qid, "bad": verdict.bad}


def facts(verdict: Verdict, context: object) -> Iterator[Counted]:
    name = "bad" if verdict.bad else "good"
    yield Counted((name,), (f"first={verdict.qid[:1]}",), "", verdict.qid, (name,))
    if verdict.bad > 1:
        yield Counted(("very bad", ("amount", verdict.bad)), part="reference")


def offences(verdict: Verdict, context: object) -> Iterator[Offence]:
    if verdict.bad:
        yield Offence((-verdict.bad, verdict.qid), lambda: Cards.of(verdict), "odd" if verdict.bad % 2 else "")


SUITE: Any = SimpleNamespace(
    facts=facts,
    rows=lambda verdict, context: [((verdict.qid,), {"qid": verdict.qid, "bad": verdict.bad})],
    offences=offences,
    sees=lambda verdict, context: [("names", [verdict.qid])],
)


def card_of(kind: str, order: object, verdict: Verdict) -> Row:
    """As the flow makes one: the question is judged again, and its card is taken."""
    return next(one.card() for one in offences(verdict, None) if one.kind == kind and one.order == order)


def evidence_of(verdicts: list[Verdict], worst: int = 3) -> Evidence:
    total = Evidence(worst)
    for verdict in verdicts:
        total.add(SUITE, verdict, None, question=verdict)
    total.make_card = card_of
    return total


def plain(evidence: Evidence) -> tuple[Any, ...]:
    parts = {name: evidence.part(name) for name in ("", "reference")}
    seen = {kind: set(names) for kind, names in evidence.seen.items()}
    return (
        parts,
        evidence.offenders(),
        evidence.offenders("odd"),
        list(evidence.rows),
        seen,
    )


VERDICTS = [Verdict("b2", 2), Verdict("a1", 0), Verdict("c3", 2), Verdict("a4", 3), Verdict("d5", 1)]


def test_facts_go_to_their_part_with_slices_and_names() -> None:
    total = evidence_of(VERDICTS)
    assert (total.tally["bad"], total.tally["good"]) == (4, 1)
    assert total.tally.named("bad") == ["a4", "b2", "c3", "d5"]
    assert total.tally.slice("first=a")["bad"] == 1
    assert total.part("reference").values("amount") == {2: 2, 3: 1}
    assert total.part("nothing")["bad"] == 0
    assert set(total.seen["names"]) == {"a1", "a4", "b2", "c3", "d5"}


def test_the_worst_few_of_each_kind_are_kept_in_their_order() -> None:
    total = evidence_of(VERDICTS, 1)
    assert [card["qid"] for card in total.offenders()] == ["b2"]
    assert [card["qid"] for card in total.offenders("odd")] == ["a4"]
    assert total.offenders("other") == []
    assert evidence_of(VERDICTS, 0).offenders() == []


def test_a_card_is_made_only_when_it_is_read_and_once() -> None:
    Cards.made = 0
    evidence = evidence_of([Verdict(f"q{index:03}", 2) for index in range(100)], 3)
    assert Cards.made == 0 and len(evidence.offenders()) == 3 and Cards.made == 3
    cards = evidence.cards()
    assert len(cards) == 100 and Cards.made == 3
    assert cards[-1] is cards[99] and [card["qid"] for card in cards[:2]] == ["q000", "q001"] and Cards.made == 6


def test_the_worst_of_very_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shipworthy.core.evidence.CARDS", 5)
    evidence = evidence_of([Verdict(f"q{index:03}", 2 + 2 * (index > 97)) for index in range(100)], 3)
    assert [card["qid"] for card in evidence.cards()] == ["q098", "q099", "q000", "q001", "q002"]


@given(
    st.lists(st.tuples(st.text("abc", min_size=1, max_size=3), st.integers(0, 4)), unique_by=lambda pair: pair[0]),
    st.integers(0, 4),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_any_split_in_any_order_adds_up_to_the_same(
    drawn: list[tuple[str, int]], worst: int, parts: int, random: Any
) -> None:
    verdicts = [Verdict(*pair) for pair in drawn]
    dealt: list[list[Verdict]] = [[] for _ in range(parts)]
    for verdict in random.sample(verdicts, len(verdicts)):
        random.choice(dealt).append(verdict)
    total = evidence_of([], worst)
    for part in dealt:
        total += pickle.loads(pickle.dumps(evidence_of(part, worst)))
    assert plain(total) == plain(evidence_of(verdicts, worst))


# --- rows ---

ROWS: list[Row] = [
    {"qid": "a", "value": None, "list": [1, 2.5, "ü"]},
    {"qid": "b", "text": "lone \ud800 surrogate"},
    {"qid": "c", "number": 2**80, "negative": -(2**70)},
]


def test_rows_come_back_in_their_order_as_they_were() -> None:
    rows = Rows(((row["qid"],), row) for row in reversed(ROWS))
    assert len(rows) == 3 and list(rows) == ROWS == rows[:] and rows == ROWS
    assert rows[0] == ROWS[0] and rows[-1] == ROWS[2] and rows[1:] == ROWS[1:]
    assert repr(rows) == repr(ROWS) and rows != ROWS[:2]
    assert pickle.loads(pickle.dumps(rows)) == ROWS
    with pytest.raises(IndexError):
        rows[3]


@pytest.mark.parametrize("memory", [0, 30, 1_000_000])
def test_many_rows_are_kept_in_a_file_with_the_same_content(monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
    monkeypatch.setattr("shipworthy.core.rows.MEMORY", memory)
    made = [{"qid": f"q{index:03}", "text": "x" * index} for index in range(20)]
    first, second = Rows(((row["qid"],), row) for row in made[::2]), Rows(((row["qid"],), row) for row in made[1::2])
    first += second
    assert first == made
    assert next(iter(first)) == made[0]
    first.append(("q",), {"qid": "q"})  # between two looks
    assert [row["qid"] for row in first][:2] == ["q", "q000"] and len(first) == 21
    assert pickle.loads(pickle.dumps(first)) == first


@pytest.mark.parametrize("memory", [0, 30, 2_000, 1_000_000])
def test_rows_of_one_kind_are_found_wherever_they_are(monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
    monkeypatch.setattr("shipworthy.core.rows.MEMORY", memory)
    monkeypatch.setattr("shipworthy.core.rows.TOGETHER", 4)
    sizes = {0: 30, 2: 1, 3: 9}
    made = {kind: [{"kind": kind, "place": place} for place in range(size)] for kind, size in sizes.items()}
    dealt = sorted((row for some in made.values() for row in some), key=lambda row: row["place"] * 7 % 11)
    rows = Rows(((row["kind"], row["place"]), row) for row in dealt)
    for kind in range(5):
        chosen, expected = rows.of_kind(kind), made.get(kind, [])
        assert chosen == expected and len(chosen) == len(expected)
        assert chosen[1:6:2] == expected[1:6:2] and chosen[::-1] == expected[::-1] and chosen[-3:] == expected[-3:]
        assert [chosen[place] for place in range(len(expected))] == expected
