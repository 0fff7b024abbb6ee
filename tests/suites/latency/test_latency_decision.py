"""One arm: time and accuracy held against the gates, and what leaves no verdict."""

from __future__ import annotations

import random
from typing import Any

import pytest
from latency_runs import GOLD, score, served, value

from conftest import gold, trace
from shipworthy.core.decision import report
from shipworthy.errors import DataError, UsageError
from shipworthy.reading.jsonl import BadLines


def test_fast_and_right_ships() -> None:
    decision = score(GOLD, served(ms=lambda number: 100 + number))
    assert decision.verdict == "SHIP" and report(decision)["arm"] == "default"
    assert report(decision)["choice"] == {"interactive": "default", "batch": "default", "knee": "default"}
    assert [outcome.state for outcome in decision.outcomes if outcome.gate.metric == "p95"] == ["PASS"]


def test_a_slow_tail_fails_p95_and_not_p50() -> None:
    decision = score(GOLD, served(ms=lambda number: 5000 if number % 10 == 0 else 100), gates="p50=200")
    assert decision.verdict == "NO-SHIP"
    assert [outcome.gate.metric for outcome in decision.outcomes if not outcome.holds] == ["p95"]
    assert value(decision, "tail_amplification") == 50
    assert decision.offenders[0]["reason"] == "slow" and "5000.0 ms" in decision.offenders[0]["says"]
    assert any("50.0 times p50" in hint for hint in decision.diagnosis)


def test_the_budget_is_inclusive_and_can_be_set() -> None:
    assert score(GOLD, served(2000)).verdict == "SHIP"
    assert score(GOLD, served(2000.001)).verdict == "NO-SHIP"
    assert score(GOLD, served(2400), budget_ms=2500).verdict == "SHIP"
    assert report(score(GOLD, served(), gates="p95=1500"))["curve"]["budget_ms"] == 1500
    for bad in ("0", "-5", "soon", "nan", "1/3", "1e3", ""):
        with pytest.raises(UsageError, match="budget"):
            score(GOLD, served(), budget_ms=bad)


def test_few_runs_prove_little_and_that_is_said() -> None:
    decision = score(GOLD[:10], served()[:10])
    assert [outcome.state for outcome in decision.outcomes if outcome.gate.metric == "p95"] == ["PASS-BUT-UNPROVEN"]
    assert "p95 has no upper confidence bound: 10 questions, at least 59 needed" in decision.diagnosis
    assert (
        "p99 has no upper confidence bound: 10 questions, at least 299 needed" in report(decision)["arms"][0]["notes"]
    )


def test_accuracy_has_the_answers_suites_own_gates() -> None:
    decision = score(GOLD, served(wrong=20))
    assert decision.verdict == "NO-SHIP" and any(
        why.startswith("40 of 60 answers were correct") for why in decision.reasons
    )
    assert decision.offenders[0]["reason"] == "containment"


def test_missing_failed_and_untimed_runs_leave_no_verdict() -> None:
    assert score(GOLD, served()[1:]).exit_code == 3
    failed = served()
    failed[3] = {"qid": failed[3]["qid"], "e2e_ms": 9.0, "error": "timeout: no answer"}
    decision = score(GOLD, failed)
    assert (
        decision.exit_code == 3 and decision.counts["runs_failed"] == 1 and decision.measures["p95"].n == len(GOLD) - 1
    )
    untimed = served()
    del untimed[0]["e2e_ms"]
    assert score(GOLD, untimed).exit_code == 3


def test_a_failure_among_several_runs_of_a_question_is_not_hidden() -> None:
    decision = score(GOLD, [*served(), {"qid": "a01", "error": "reset", "e2e_ms": 3.0}])
    assert decision.exit_code == 3 and decision.named["missing"] == ["a01"]


def test_warm_up_is_left_out() -> None:
    decision = score(GOLD, [*served(), *({**row, "warmup": True} for row in served(60_000))])
    assert decision.verdict == "SHIP" and decision.counts["warm_up"] == len(GOLD)


def test_no_trace_is_an_error() -> None:
    with pytest.raises(DataError, match="trace-none"):
        score(GOLD, [])
    with pytest.raises(DataError, match="trace-none"):
        score(GOLD, [trace("zz", e2e_ms=1)])


@pytest.mark.parametrize(
    "field",
    [
        {"e2e_ms": -1},
        {"e2e_ms": 1e13},
        {"e2e_ms": float("inf")},
        {"e2e_ms": float("nan")},
        {"latency_ms": -0.5},
        {"cost_usd": -1},
        {"stage_ms": {"llm": -3}},
        {"latency_ms": {"llm": float("inf")}},
        {"load_rps": -1},
    ],
)
def test_numbers_that_can_not_be_are_bad_lines(field: dict[str, Any]) -> None:
    rows = served()
    rows[4] |= field
    with pytest.raises(BadLines, match=r":5: .*latency-number"):
        score(GOLD, rows)
    lenient = score(GOLD, rows, lenient=True)
    assert lenient.partial and lenient.exit_code == 3  # the question has lost its only run


def test_loads_and_lengths_are_reported_apart_and_can_be_gated() -> None:
    items = [gold("s"), gold("m", question="word " * 50), gold("x", question="word " * 201)]
    rows = [
        {**trace(item["qid"]), "q": "", "e2e_ms": ms * (1 + number), "load_rps": load}
        for load, ms in ((1, 100), (20, 900))
        for number, item in enumerate(items)
    ]
    decision = score(items, rows, gates="p95[load=20]=2000", budget_ms=5000)
    body = report(decision)
    assert [(row["load"], row["p50"]) for row in body["loads"]] == [("1", 200), ("20", 1800)]
    assert [(row["length"], row["n"], row["precision"]) for row in body["lengths"]] == [
        ("short", 2, 1.0),
        ("medium", 2, 1.0),
        ("long", 2, 1.0),
    ]
    assert decision.verdict == "NO-SHIP" and "p95[load=20] 2610.000 > 2000" in decision.reasons[0]


def test_cost_per_correct_answer() -> None:
    assert value(score(GOLD, served(wrong=10, cost_usd=0.5)), "cost_per_correct") == 0.7  # 35 USD / 50
    nothing = score(GOLD, served(wrong=60, cost_usd=0.5)).measures["cost_per_correct"]
    assert nothing.value is None and nothing.missing == "no answer is correct"
    half = [row | ({"cost_usd": 1.0} if number % 2 else {}) for number, row in enumerate(served())]
    assert score(GOLD, half).measures["cost_per_correct"].value is None
    assert score(GOLD, served()).measures["cost_per_correct"].missing == "no run has cost_usd"
    failed = trace("a00") | {"answer_json": None, "error": "timeout", "e2e_ms": 1, "cost_usd": 6.0}
    paid = score(GOLD, [*served(cost_usd=0.0), failed])
    assert value(paid, "cost_per_correct") == 0.1  # the failed run's 6 USD / 60
    unknown = [*served(cost_usd=0.6), failed | {"cost_usd": None}]
    assert value(score(GOLD, unknown), "cost_per_correct") == 0.7


def test_a_sum_of_stages_is_marked_as_a_lower_bound() -> None:
    rows = [
        {key: item for key, item in row.items() if key != "e2e_ms"} | {"stage_ms": {"retrieval": 5, "llm": 45}}
        for row in served()
    ]
    decision = score(GOLD, rows)
    assert value(decision, "p95") == 50 and value(decision, "llm_p95") == 45
    assert report(decision)["arms"][0]["lower_bound"] is True
    assert any("The sum of the stages was used" in hint for hint in decision.diagnosis)


@pytest.mark.parametrize("k", [0, (5, -1), ()])
def test_a_depth_below_one_is_refused(k: Any) -> None:
    with pytest.raises(UsageError, match="k-range"):
        score(GOLD, served(), k=k)


def test_recall_at_the_first_depth_has_a_short_name() -> None:
    assert str(score(GOLD, served(), k=3, gates="recall=0.5").outcomes[-1].gate) == "recall@3 >= 0.5"


def test_the_order_of_lines_changes_nothing() -> None:
    rows = served(lambda number: 100 + 7 * number, 3, "x", load_rps=5) + served(300, 1, "y", cost_usd=0.01)
    rows += [{**trace("a50", found=[*"vwxyz", "d1"]), "e2e_ms": 7, "arm": "x"}]  # as right, and retrieved later
    first = report(score(GOLD, rows))["digest"]
    for number in range(4):
        random.Random(number).shuffle(rows)
        assert report(score(GOLD, rows))["digest"] == first


def test_times_that_a_late_generator_made_too_long_can_hold_but_not_fail() -> None:
    doubts = ["20 rps: the schedule was not kept"]
    held = score(GOLD, served(), doubts=doubts)
    assert held.verdict == "SHIP" and doubts[0] in held.warnings
    missed = score(GOLD, served(9000), doubts=doubts)
    assert missed.exit_code == 3 and missed.reasons[0] == doubts[0] and "p95 9000.000 > 2000" in missed.reasons[1]
    assert score(GOLD, served(9000, wrong=50), doubts=doubts).verdict == "NO-SHIP"


def test_sweeps_are_not_mixed() -> None:
    rows = served(9000, sweep_id="old") + served(100, sweep_id="new")
    assert score(GOLD, rows).verdict == "SHIP"
    assert score(GOLD, rows, sweep="old").verdict == "NO-SHIP"


def test_unknown_questions_are_counted_in_the_sweep_that_is_judged() -> None:
    strange = [trace("zz", e2e_ms=1), trace("yy", e2e_ms=1, warmup=True), trace("xx", e2e_ms=1, sweep_id="old")]
    decision = score(GOLD, [*strange, *served()])
    assert decision.counts["unknown_qid"] == 1 and decision.counts["warm_up"] == 1
    assert decision.warnings == [
        "1 line from other sweeps left out. Choose a sweep with --sweep ID. [sweep-mixed]",
        "1 trace for questions that are not in the gold set. [trace-unknown]",
    ]
    with pytest.raises(DataError, match=r"line 1 has qid 'zz'.*trace-unknown"):
        score(GOLD, [*strange, *served()], closed=True)
    assert score(GOLD, [*strange[1:], *served()], closed=True).verdict == "SHIP"


def test_a_p95_gate_that_was_given_by_hand_is_the_budget() -> None:
    decision = score(GOLD, served(1200), gates="p95=1000", budget_ms=5000)
    assert decision.options["budget_ms"] == "1000" and decision.options["relaxed_budget_ms"] == "6250"
    assert {row["reason"] for row in decision.items} == {"slow"}
    with pytest.raises(UsageError, match="gate-repeated"):
        score(GOLD, served(1200), gates=["p95=1000", "p95=1500"])


def test_what_was_called_with_is_recorded() -> None:
    decision = score(GOLD, served(), doubts=["late"], budget_ms=2500.0, arm="default")
    assert decision.run["call"]["options"] == {"doubts": ["late"], "budget_ms": "2500", "arm": "default"}
    assert decision.options["budget_ms"] == "2500" and not {"doubts", "arm", "sweep"} & decision.options.keys()


def test_ties_among_slow_runs_keep_the_order_of_their_lines() -> None:
    twice = [trace("a00", e2e_ms=9000, stage_ms={"llm": 7}), trace("a00", e2e_ms=9000, stage_ms={"guard": 8})]
    slow = score(GOLD, [*served()[1:], *twice]).offenders
    assert [card["says"] for card in slow] == [
        "9000.0 ms, of which llm 7.0 ms",
        "9000.0 ms, of which guard 8.0 ms",
    ]


@pytest.mark.parametrize("most", [0, 1, 3])
def test_wrong_answers_come_before_slow_runs(most: int) -> None:
    shown = score(GOLD, served(9000, wrong=2), gates="precision=0.99", offenders=most).offenders
    assert [card["reason"] for card in shown] == ["containment", "containment", "slow"][:most]


def test_an_unknown_question_in_warm_up_alone_is_not_counted() -> None:
    decision = score(GOLD, [trace("yy", e2e_ms=1, warmup=True), *served()], gates=["unknown_qids <= 0"])
    assert decision.counts["unknown_qid"] == 0 and decision.counts["warm_up"] == 1
    assert decision.measures["unknown_qids"].value == 0
    assert decision.verdict == "SHIP" and decision.warnings == []
