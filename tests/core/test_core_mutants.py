"""Small changes to the core that no other test noticed, each of which would change a verdict, a count or a digest."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from conftest import gold, trace
from shipworthy import Board, DataError, Gate, Tally, evaluate
from shipworthy.core.evidence import Rows
from shipworthy.core.gates import compare, parse_gates
from shipworthy.core.metrics import Better, Percentile, Rate, Words

PRECISION = {"gates": ["precision >= 0.5"], "only_gates": True}


def test_a_gold_item_that_has_no_name_is_an_error_and_not_left_out() -> None:
    nameless = {key: value for key, value in gold("A1").items() if key != "qid"}
    with pytest.raises(DataError, match="<gold>:2"):
        evaluate([gold("A2"), nameless], [trace("A2")], **PRECISION)


def test_a_gold_item_may_be_named_by_its_id_and_counts() -> None:
    named = {("id" if key == "qid" else key): value for key, value in gold("A1").items()}
    found = evaluate([gold("A2"), named], [trace("A1"), trace("A2")], **PRECISION)
    assert (found.measures["precision"].k, found.measures["precision"].n) == (2, 2)


def test_the_reference_counts_a_trace_by_either_spelling_of_its_name_and_drops_one_without() -> None:
    other = {("q_id" if key == "qid" else key): value for key, value in trace("A1").items()}
    nameless = {key: value for key, value in trace("A2").items() if key != "qid"}
    found = evaluate([gold("A1"), gold("A2")], [other, nameless], profile="reference", **PRECISION)
    assert found.measures["precision"].value == Fraction(1, 2)  # to the reference, what has no trace is a wrong answer


def test_records_that_are_no_file_are_counted_from_one() -> None:
    numbers = [{**trace("7"), "qid": 7}, {**trace("8"), "qid": 8}]
    warnings = evaluate([gold("7"), gold("8")], numbers, **PRECISION).warnings
    assert [text.split(": ")[0] for text in warnings if "is a number" in text] == ["trace:1", "trace:2"]


@pytest.mark.parametrize(("better", "p"), [("lower", 95), ("higher", 5)])
def test_a_bound_that_lies_on_the_bar_proves_it(better: Better, p: int) -> None:
    metric = Percentile("p", Words(), better, high=None, of="us", p=Fraction(p), scale=Fraction(1, 1000))
    measure = metric.measure(Tally({("us", 2000): 59}))
    assert 2.0 in measure.bounds
    assert compare(Gate.parse(f"p {metric.op} 2"), metric, measure, True).state == "PASS"


@pytest.mark.parametrize(("better", "p", "many"), [("lower", 95, 2000), ("higher", 5, 2000)])
def test_a_bound_that_lies_on_the_bar_does_not_refute_it(better: Better, p: int, many: int) -> None:
    metric = Percentile("p", Words(), better, high=None, of="us", p=Fraction(p), scale=Fraction(1, 1000))
    measure = metric.measure(Tally({("us", many): 93, ("us", 3000 if better == "lower" else 1000): 7}))
    assert 2.0 in measure.bounds and measure.value != 2
    assert compare(Gate.parse(f"p {metric.op} 2"), metric, measure, True).state == "FAIL-BUT-CLOSE"
    beyond = "1.999" if better == "lower" else "2.001"
    assert compare(Gate.parse(f"p {metric.op} {beyond}"), metric, measure, True).state == "FAIL"


def test_a_factor_of_the_baseline_may_be_more_than_the_metric_itself_can_be() -> None:
    metric = Rate("precision", Words("right"), of="correct", among="answered")
    (gate,) = parse_gates(["precision >= baseline * 1.05"], {"precision": metric}, {})
    measure = metric.measure(Tally({"correct": 9, "answered": 10}))
    outcomes = [compare(gate, metric, measure, True, Fraction(base, 100)) for base in (80, 90)]
    assert [(outcome.bound, outcome.met) for outcome in outcomes] == [
        (Fraction(84, 100), True),
        (Fraction(945, 1000), False),
    ]


def test_a_board_of_nothing_is_no_verdict_and_says_so_by_its_exit_code() -> None:
    board = Board([])
    assert (board.verdict, board.exit_code, board.report()["pass"]) == ("NO VERDICT", 3, False)


def test_rows_that_were_sent_before_anybody_looked_at_them_come_in_their_order() -> None:
    rows = Rows(((name,), {"qid": name}) for name in ("c", "a", "b"))
    assert [row["qid"] for row in pickle.loads(pickle.dumps(rows))] == ["a", "b", "c"]
