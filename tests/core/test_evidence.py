"""Evidence: tallies, the worst few and one row per item add up to the same from any split."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.core.evidence import Counts, Evidence, Judged, Order, Row, Rows


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


def judge(verdict: Verdict) -> Judged:
    kind = "odd" if verdict.bad % 2 else ""
    worst = [(kind, (-verdict.bad, verdict.qid))] if verdict.bad else []
    row = {"qid": verdict.qid, "bad": verdict.bad, "reason": "bad" if verdict.bad else ""}
    seen = [("names", [verdict.qid])]
    return Judged(row, (verdict.qid[:1], verdict.bad), (verdict.qid,), worst, verdict.bad > 3, seen)


def facts(outline: tuple[str, int]) -> Iterator[Counts]:
    first, bad = outline
    name = "bad" if bad else "good"
    yield Counts((name,), (f"first={first}",), named=(name,))
    if bad > 1:
        yield Counts(("very bad", ("amount", bad)), part="reference")


def card_of(kind: str, order: Order, verdict: Verdict) -> Row:
    assert (kind, order) in judge(verdict).worst
    return Cards.of(verdict)


def evidence_of(verdicts: list[Verdict], worst: int = 3, whole: bool = True) -> Evidence:
    total = Evidence(worst, whole=whole)
    for verdict in verdicts:
        total.add(judge(verdict), verdict.qid, verdict, facts)
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


def test_facts_are_asked_once_for_each_outline() -> None:
    asked: list[object] = []
    total = Evidence()
    for index in range(50):
        verdict = Verdict(f"{'ab'[index % 2]}{index:03}", index % 3)
        total.add(judge(verdict), verdict.qid, verdict, lambda outline: asked.append(outline) or facts(outline))
    assert len(asked) == len(set(asked)) == 6
    assert (total.tally["bad"], total.tally["good"]) == (33, 17)
    assert total.tally.named("good")[:3] == ["a000", "a006", "a012"]


def test_counts_may_stand_for_themselves() -> None:
    total = Evidence()
    total.add(Judged(None, (Counts(("items",)), Counts(("odd",), name="other", named=("odd",)))), "a", None)
    assert total.tally["items"] == 1 and total.tally.named("odd") == ["other"] and not len(total.rows)


def test_without_a_report_only_failing_rows_are_kept() -> None:
    total = evidence_of(VERDICTS, whole=False)
    assert [row["qid"] for row in total.rows] == ["a4", "b2", "c3", "d5"]
    assert total.tally == evidence_of(VERDICTS).tally


def test_what_nobody_could_judge_is_named() -> None:
    total = evidence_of([Verdict("b", 4), Verdict("a", 5), Verdict("c", 3)])
    assert total.unjudged["unjudged"] == 2 and total.unjudged.named("unjudged") == ["a", "b"]


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
