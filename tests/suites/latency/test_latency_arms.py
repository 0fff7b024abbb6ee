"""Arms on the same questions: the frontier, the choices, and which one decides."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latency_runs import GOLD, score, served
from scattered import scattered

from conftest import EFFORT, trace
from shipworthy.core.decision import report
from shipworthy.core.evaluate import evaluate
from shipworthy.core.metrics import Percentile
from shipworthy.core.options import make_options
from shipworthy.engines.memory import run
from shipworthy.errors import DataError
from shipworthy.suites.latency.arms import ArmPoint, choose, frontier
from shipworthy.suites.latency.suite import SUITE


def test_arms_are_compared_on_the_same_questions_and_the_interactive_one_decides() -> None:
    rows = served(100, 20, "hasty") + served(400, 3, "good") + served(3000, 0, "thorough") + served(900, 9, "worse")
    decision = score(GOLD, rows)
    body = report(decision)
    assert decision.verdict == "SHIP" and body["arm"] == "good"
    assert body["choice"] == {"interactive": "good", "batch": "good", "knee": "good"}
    assert {point["arm"]: point["frontier"] for point in body["curve"]["points"]} == {
        "hasty": True,
        "good": True,
        "thorough": True,
        "worse": False,
    }
    for point, row in ((point, row) for point in body["curve"]["points"] for row in body["arms"]):
        if row["arm"] == point["arm"]:
            assert (point["p95_ms"], point["p99_ms"]) == (row["p95"]["value"], row["p99"]["value"])
            assert (point["precision"], point["chr"]) == (row["precision"]["value"], row["chr"]["value"])
    assert score(GOLD, rows, relaxed_budget_ms=4000).sections["choice"]["batch"] == "thorough"
    assert score(GOLD, rows, arm="thorough").verdict == "NO-SHIP"
    with pytest.raises(DataError, match="arm-without-traces"):
        score(GOLD, rows, arm="none")


def test_where_no_arm_is_right_the_most_precise_one_is_shown_and_nothing_ships() -> None:
    decision = score(GOLD, served(100, 40, "x") + served(200, 30, "y"))
    body = report(decision)
    assert decision.verdict == "NO-SHIP" and body["arm"] == "y" and body["choice"]["interactive"] is None
    assert any("no arm passes every accuracy gate" in why for why in decision.reasons)


def test_an_arm_that_was_announced_and_has_no_traces_is_named() -> None:
    decision = score(GOLD, served(arm="x"), arms=("x", "y"))
    assert decision.exit_code == 3 and decision.reasons == ["arm y has no traces"]


def test_an_arm_that_lacks_questions_is_named_even_if_another_decides() -> None:
    decision = score(GOLD, served(100, 0, "x") + served(900, 0, "y")[2:])
    assert decision.exit_code == 3 and decision.reasons[0] == "arm y has no trace for 2 questions: a00, a01"


def test_knobs_name_an_arm_where_nothing_else_does() -> None:
    rows = served(100, knobs={"k": 5, "deep": False}) + served(300, knobs={"deep": False, "k": 9})
    assert [row["arm"] for row in report(score(GOLD, rows))["arms"]] == [
        '{"deep":false,"k":5}',
        '{"deep":false,"k":9}',
    ]


POINTS = st.lists(
    st.builds(ArmPoint, st.uuids().map(str), st.fractions(1, 9), st.fractions(0, 1)), min_size=1, max_size=8
)


@settings(max_examples=20 * EFFORT, deadline=None)
@given(POINTS)
def test_the_frontier_is_what_no_point_dominates(points: list[ArmPoint]) -> None:
    front = frontier(points)
    assert front
    for point in points:
        better = [
            other
            for other in points
            if other.p95 <= point.p95
            and other.precision >= point.precision
            and (other.p95, other.precision) != (point.p95, point.precision)
        ]
        assert (point in front) == (not better)
    assert [point.p95 for point in front] == sorted(point.p95 for point in front)


def test_the_knee_is_farthest_from_the_chord() -> None:
    points = [
        ArmPoint("a", Fraction(100), Fraction(1, 2)),
        ArmPoint("b", Fraction(200), Fraction(9, 10)),
        ArmPoint("c", Fraction(1000), Fraction(1)),
    ]
    chosen = choose(points, {"a": False, "b": False, "c": True}, Fraction(500))
    assert chosen == ("c", "b", "b")
    two = choose(points[:2], {"a": True, "b": True}, Fraction(50))
    assert two == ("a", None, "a")


def test_an_arm_exactly_on_the_relaxed_budget_is_within_it() -> None:
    points = [ArmPoint("a", Fraction(100), Fraction(1, 2)), ArmPoint("b", Fraction(500), Fraction(1))]
    accurate = {"a": True, "b": True}
    assert choose(points, accurate, Fraction(500)).batch == "b"
    assert choose(points, accurate, Fraction(500) - Fraction(1, 10**18)).batch == "a"
    rows = served(100, 6, "quick") + served(2500, 0, "slow")
    assert report(score(GOLD, rows))["choice"]["batch"] == "slow"
    assert report(score(GOLD, served(100, 6, "quick") + served(2500.001, 0, "slow")))["choice"]["batch"] == "quick"


def test_of_two_points_equally_far_from_the_chord_the_faster_is_the_knee() -> None:
    points = [
        ArmPoint("a", Fraction(0), Fraction(0)),
        ArmPoint("m", Fraction(1, 4), Fraction(1, 2)),
        ArmPoint("l", Fraction(1, 2), Fraction(3, 4)),
        ArmPoint("z", Fraction(1), Fraction(1)),
    ]
    accurate = dict.fromkeys("amlz", True)
    for order in (points, points[::-1]):
        assert choose(order, accurate, Fraction(1)).knee == "m"


def test_allowed_failures_of_the_arm_that_is_judged_leave_its_verdict() -> None:
    quick = served(100, 0, "quick")
    for failed, allowed, verdict in ((1, 0, "NO VERDICT"), (1, 1, "SHIP"), (2, 1, "NO VERDICT"), (2, 2, "SHIP")):
        broken = [{**row, "error": "timed out"} for row in quick[:failed]]
        decision = score(GOLD, [*broken, *quick[failed:], *served(900, 0, "slow")], arm="quick", allow_missing=allowed)
        assert (decision.verdict, report(decision)["arm"]) == (verdict, "quick"), (failed, allowed)


def test_the_arms_and_the_choices_are_said_in_words() -> None:
    runs = served(100, 30, "quick") + served(400, 6, "middle") + served(3000, 0, "slow") + served(3500, 30, "poor")
    first, second = score(GOLD, runs).diagnosis[:2]
    assert first == (
        "p95 and precision of each arm: quick 100.0 ms at 0.500 *; middle 400.0 ms at 0.900 *; "
        "slow 3000.0 ms at 1.000 *; poor 3500.0 ms at 0.500. No arm is both faster and more precise than one with *."
    )
    assert second == (
        "Best arm: middle for interactive use, middle for batch work, middle as the best trade-off (knee)."
    )


def test_offenders_and_hints_are_those_of_the_arm_that_decides() -> None:
    other_ids = [
        {**row, "retrieved_ids": ["x/d1.md"], "answer_json": {**row["answer_json"], "citations": ["x/d1.md"]}}
        for row in served(100, 0, "quick")
    ]
    rows = other_ids + served(9000, 1, "slow")
    shown = {arm: score(GOLD, rows, arm=arm, gates="precision=0.99") for arm in ("quick", "slow")}
    assert {card["reason"] for card in shown["quick"].offenders} == {"wrong-citation"}
    assert [card["reason"] for card in shown["slow"].offenders][:2] == ["containment", "slow"]
    assert {arm: any("--id-map" in hint for hint in shown[arm].diagnosis) for arm in shown} == {
        "quick": True,
        "slow": False,
    }


def test_many_questions_that_an_arm_lacks_are_not_all_named() -> None:
    decision = score(GOLD, served(100, 0, "x") + served(900, 0, "y")[:40])
    assert decision.incomplete == [
        "arm y has no trace for 30 questions: a40, a41, a42, a43, a44, a45, a46, a47 and 22 more"
    ]


def test_doubts_about_any_arm_leave_no_verdict() -> None:
    rows = served(100, 0, "fast") + served(9000, 0, "slow")
    decision = score(GOLD, rows, doubts=["20 rps: late"])
    assert decision.exit_code == 3 and decision.incomplete == ["20 rps: late"]
    assert [outcome.state for outcome in decision.outcomes if outcome.gate.metric == "p95"] == ["PASS"]


def test_an_arm_with_several_sets_of_knobs_is_named() -> None:
    rows = served(arm="x", knobs={"k": 5})
    rows[0]["knobs"] = {"k": 9}
    assert score(GOLD, rows).warnings == [
        "arm x was run with 2 different settings (knobs); its times mix them. [arm-knobs]"
    ]


def test_one_arm_is_not_measured_to_find_out_that_it_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []
    original = Percentile.measure

    def counting(self: Percentile, tally: Any) -> Any:
        measured.append(self.name)
        return original(self, tally)

    monkeypatch.setattr(Percentile, "measure", counting)
    score(GOLD, served())
    # Once over everything, once for the only length, and once more for the table of lengths.
    assert measured.count("p95") == 3 and measured.count("llm_p95") == 2


@pytest.mark.parametrize("seed", range(5))
def test_any_split_of_arms_sweeps_and_strangers_gives_the_same_report(seed: int) -> None:
    rows = [*served(lambda n: 100 + n, 3, "x", load_rps=5), *served(300, 1, "y", cost_usd=0.01)[2:]]
    rows += [*served(50, 9, "x", sweep_id="old"), trace("zz", e2e_ms=5), trace("yy", e2e_ms=5, warmup=True)]
    rows += [trace("a50", found=["v", "d1"], e2e_ms=2500, arm="y"), served(arm="x", knobs={"k": 1})[0]]
    options = make_options(SUITE.options, {"gates": "p95[load=5]=90", "doubts": ["late"], "arms": ["x", "z"]})
    whole, split = (
        report(evaluate(SUITE, {"gold": GOLD, "trace": rows}, options, engine)) for engine in (run, scattered(seed))
    )
    assert whole == split


def test_an_arm_whose_runs_failed_leaves_no_verdict_unless_another_one_is_chosen() -> None:
    failed = [{"qid": row["qid"], "arm": "fast", "error": "unknown knob"} for row in served()]
    rows = [*served(arm="slow"), *failed]
    decision = score(GOLD, rows)
    assert decision.exit_code == 3 and any("70 questions failed on arm fast" in reason for reason in decision.reasons)
    assert "--arm" in decision.reasons[0]
    assert score(GOLD, rows, arm="slow").verdict == "SHIP"
    assert score(GOLD, rows, arm="fast").exit_code == 3
    assert score(GOLD, rows, allow_missing=69).exit_code == 3
    assert score(GOLD, rows, allow_missing=70).verdict == "SHIP"


def test_an_arm_of_which_one_run_failed_leaves_no_verdict() -> None:
    rows = [*served(arm="slow"), *served(arm="fast")]
    assert score(GOLD, rows).verdict == "SHIP"
    for place, arm in ((3, "slow"), (73, "fast")):
        broken = [*rows]
        broken[place] = {"qid": rows[place]["qid"], "arm": arm, "error": "timeout"}
        decision = score(GOLD, broken)
        assert decision.exit_code == 3 and any(f"1 question failed on arm {arm}" in one for one in decision.reasons)
        assert score(GOLD, broken, allow_missing=1).verdict == "SHIP"
