"""Latency against accuracy: exact percentiles, arms on the same questions, baselines, and what may not ship."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import gold, refusal, trace, unanswerable, write_lines
from shipworthy.contracts import Trace
from shipworthy.decision import report
from shipworthy.errors import DataError, UsageError
from shipworthy.jsonl import BadLines
from shipworthy.metrics import Percentile
from shipworthy.scoring.latency import evaluate_latency
from shipworthy.suites import latency
from shipworthy.suites.latency import Point
from shipworthy.tally import Tally

GOLD = [gold(f"a{number:02}") for number in range(60)] + [unanswerable(f"u{number:02}") for number in range(10)]


def served(ms: Any = 100, wrong: int = 0, arm: str | None = None, **more: Any) -> list[dict[str, Any]]:
    """A trace for every question; the first `wrong` answerable ones are wrong. `ms` may be a function of the position."""
    rows = []
    for number, item in enumerate(GOLD):
        row = (
            trace(item["qid"], "wrong" if number < wrong else "The right answer.")
            if item["answerable"]
            else refusal(item["qid"])
        )
        took = ms(number) if callable(ms) else ms
        rows.append(row | {"e2e_ms": took} | ({"arm": arm} if arm else {}) | more)
    return rows


def value(decision: Any, name: str) -> float:
    return float(decision.measures[name].value)


# --- percentiles ---


def test_percentiles_are_interpolated_on_unrounded_milliseconds() -> None:
    tally = Tally()
    tally.count([("e2e", latency.times_of(Trace(qid="a", e2e_ms=ms)).total or 0) for ms in (1, 2, 3, 4)])
    known = latency.metrics(latency.Options(answers=_answers()))
    shown = {name: known[name].measure(tally).value for name in ("p50", "p90", "p95")}
    assert shown == {"p50": Fraction(5, 2), "p90": Fraction(37, 10), "p95": Fraction(385, 100)}


def _answers() -> Any:
    from shipworthy.refusal import load_rule
    from shipworthy.suites import answers

    return answers.Options(rule=load_rule("natural"))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=80), st.sampled_from([50, 90, 95, 99]))
def test_a_percentile_lies_between_its_neighbours_and_below_its_bound(values: list[int], p: int) -> None:
    tally = Tally()
    tally.count([("e2e", number) for number in values])
    found = Percentile("p", "", of="e2e", p=Fraction(p)).measure(tally)
    ordered, rank = sorted(values), Fraction(p, 100) * (len(values) - 1)
    assert ordered[int(rank)] <= (found.value or 0) <= ordered[min(int(rank) + 1, len(values) - 1)]
    if found.bounds[1] is not None:
        assert found.value <= found.bounds[1]  # type: ignore[operator]


def took(**fields: Any) -> Fraction | None:
    total = latency.times_of(Trace(qid="a", **fields)).total
    return None if total is None else latency.in_ms(total)


@pytest.mark.parametrize("written", ["81.234", "0.1", "2000.0000000000002", "1e-300", "1.7976931348623157e308", "0.0"])
def test_a_time_is_what_was_written_and_not_its_binary_neighbour(written: str) -> None:
    assert took(e2e_ms=float(written)) == Fraction(written)


def test_other_names_of_latency_and_sums_of_stages() -> None:
    assert took(latency_ms=7.0) == 7
    assert took(latency_total_ms=8.0) == 8
    assert took(latency_ms={"retrieval": 1.5, "llm": 2.0}) == Fraction(7, 2)
    assert latency.times_of(Trace(qid="a", stage_ms={"llm": 2.0})).summed
    assert took() is None


def test_a_sum_of_stages_is_marked_as_a_lower_bound() -> None:
    rows = [
        {key: item for key, item in row.items() if key != "e2e_ms"} | {"stage_ms": {"retrieval": 5, "llm": 45}}
        for row in served()
    ]
    decision = evaluate_latency(GOLD, rows)
    assert value(decision, "p95") == 50 and value(decision, "llm_p95") == 45
    assert report(decision)["arms"][0]["lower_bound"] is True
    assert any("lower bound" in hint for hint in decision.diagnosis)


# --- one arm ---


def test_fast_and_right_ships() -> None:
    decision = evaluate_latency(GOLD, served(ms=lambda number: 100 + number))
    assert decision.verdict == "SHIP" and report(decision)["arm"] == "default"
    assert report(decision)["choice"] == {"interactive": "default", "batch": "default", "knee": "default"}
    assert [outcome.state for outcome in decision.outcomes if outcome.gate.metric == "p95"] == ["PASS"]


def test_a_slow_tail_fails_p95_and_not_p50() -> None:
    decision = evaluate_latency(GOLD, served(ms=lambda number: 5000 if number % 10 == 0 else 100), gates="p50=200")
    assert decision.verdict == "NO-SHIP"
    assert [outcome.gate.metric for outcome in decision.outcomes if not outcome.holds] == ["p95"]
    assert value(decision, "tail_amplification") == 50
    assert decision.offenders[0]["reason"] == "slow" and "5000.0 ms" in decision.offenders[0]["says"]
    assert any("50.0 times p50" in hint for hint in decision.diagnosis)


def test_the_budget_is_inclusive_and_can_be_set() -> None:
    assert evaluate_latency(GOLD, served(2000)).verdict == "SHIP"
    assert evaluate_latency(GOLD, served(2000.001)).verdict == "NO-SHIP"
    assert evaluate_latency(GOLD, served(2400), budget_ms=2500).verdict == "SHIP"
    assert report(evaluate_latency(GOLD, served(), gates="p95=1500"))["curve"]["budget_ms"] == 1500
    for bad in ("0", "-5", "soon", "nan", "1/2"):
        with pytest.raises(UsageError, match="budget"):
            evaluate_latency(GOLD, served(), budget_ms=bad)


def test_few_runs_prove_little_and_that_is_said() -> None:
    decision = evaluate_latency(GOLD[:10], served()[:10])
    assert [outcome.state for outcome in decision.outcomes if outcome.gate.metric == "p95"] == ["PASS-BUT-UNPROVEN"]
    assert "p95 has no upper bound: 10 runs, 59 are needed" in decision.diagnosis
    assert "p99 has no upper bound: 10 runs, 299 are needed" in report(decision)["arms"][0]["notes"]


def test_accuracy_has_the_answers_suites_own_gates() -> None:
    decision = evaluate_latency(GOLD, served(wrong=20))
    assert decision.verdict == "NO-SHIP" and any(why.startswith("precision 40/60") for why in decision.reasons)
    assert decision.offenders[0]["reason"] == "containment"


def test_missing_failed_and_untimed_runs_leave_no_verdict() -> None:
    assert evaluate_latency(GOLD, served()[1:]).exit_code == 3
    failed = served()
    failed[3] = {"qid": failed[3]["qid"], "e2e_ms": 9.0, "error": "timeout: no answer"}
    decision = evaluate_latency(GOLD, failed)
    assert (
        decision.exit_code == 3 and decision.counts["runs_failed"] == 1 and decision.measures["p95"].n == len(GOLD) - 1
    )
    untimed = served()
    del untimed[0]["e2e_ms"]
    assert evaluate_latency(GOLD, untimed).exit_code == 3


def test_a_failure_among_several_runs_of_a_question_is_not_hidden() -> None:
    decision = evaluate_latency(GOLD, [*served(), {"qid": "a01", "error": "reset", "e2e_ms": 3.0}])
    assert decision.exit_code == 3 and decision.named["missing"] == ["a01"]


def test_warm_up_is_left_out() -> None:
    decision = evaluate_latency(GOLD, [*served(), *({**row, "warmup": True} for row in served(60_000))])
    assert decision.verdict == "SHIP" and decision.counts["warm_up"] == len(GOLD)


def test_no_trace_is_an_error() -> None:
    with pytest.raises(DataError, match="trace-none"):
        evaluate_latency(GOLD, [])
    with pytest.raises(DataError, match="trace-none"):
        evaluate_latency(GOLD, [trace("zz", e2e_ms=1)])


@pytest.mark.parametrize(
    "field", [{"e2e_ms": -1}, {"e2e_ms": 1e13}, {"e2e_ms": float("inf")}, {"e2e_ms": float("nan")}, {"latency_ms": -0.5}, {"cost_usd": -1},
              {"stage_ms": {"llm": -3}}, {"latency_ms": {"llm": float("inf")}}, {"load_rps": -1}]
)  # fmt: skip
def test_numbers_that_can_not_be_are_bad_lines(field: dict[str, Any]) -> None:
    rows = served()
    rows[4] |= field
    with pytest.raises(BadLines, match=r":5: .*latency-number"):
        evaluate_latency(GOLD, rows)
    lenient = evaluate_latency(GOLD, rows, lenient=True)
    assert lenient.partial and lenient.exit_code == 3  # the question has lost its only run


def test_loads_and_lengths_are_reported_apart_and_can_be_gated() -> None:
    items = [gold("s"), gold("m", question="word " * 50), gold("x", question="word " * 201)]
    rows = [{**trace(item["qid"]), "q": "", "e2e_ms": ms * (1 + number), "load_rps": load}
            for load, ms in ((1, 100), (20, 900)) for number, item in enumerate(items)]  # fmt: skip
    decision = evaluate_latency(items, rows, gates="p95[load=20]=2000", budget_ms=5000)
    body = report(decision)
    assert [(row["load"], row["p50"]) for row in body["loads"]] == [("1", 200), ("20", 1800)]
    assert [(row["length"], row["n"], row["precision"]) for row in body["lengths"]] == [("short", 2, 1.0), ("medium", 2, 1.0), ("long", 2, 1.0)]  # fmt: skip
    assert decision.verdict == "NO-SHIP" and decision.reasons[0].startswith("p95[load=20] 2610.000 ms is above 2000 ms")


@pytest.mark.parametrize(
    ("words", "length"), [(0, "short"), (49, "short"), (50, "medium"), (200, "medium"), (201, "long")]
)
def test_buckets_of_question_length(words: int, length: str) -> None:
    assert latency.length_of("word " * words) == length


def test_cost_per_correct_answer() -> None:
    assert value(evaluate_latency(GOLD, served(wrong=10, cost_usd=0.5)), "cost_per_correct") == 0.7  # 35 USD / 50
    nothing = evaluate_latency(GOLD, served(wrong=60, cost_usd=0.5)).measures["cost_per_correct"]
    assert nothing.value is None and nothing.missing == "no answer is correct"
    half = [row | ({"cost_usd": 1.0} if number % 2 else {}) for number, row in enumerate(served())]
    assert evaluate_latency(GOLD, half).measures["cost_per_correct"].value is None
    assert evaluate_latency(GOLD, served()).measures["cost_per_correct"].missing == "no run says what it cost"
    failed = trace("a00") | {"answer_json": None, "error": "timeout", "e2e_ms": 1, "cost_usd": 6.0}
    paid = evaluate_latency(GOLD, [*served(cost_usd=0.0), failed])
    assert value(paid, "cost_per_correct") == 0.1  # the failed run's 6 USD / 60
    unknown = [*served(cost_usd=0.6), failed | {"cost_usd": None}]
    assert value(evaluate_latency(GOLD, unknown), "cost_per_correct") == 0.7


# --- arms ---


def test_arms_are_compared_on_the_same_questions_and_the_interactive_one_decides() -> None:
    rows = served(100, 20, "hasty") + served(400, 3, "good") + served(3000, 0, "thorough") + served(900, 9, "worse")
    decision = evaluate_latency(GOLD, rows)
    body = report(decision)
    assert decision.verdict == "SHIP" and body["arm"] == "good"
    assert body["choice"] == {"interactive": "good", "batch": "good", "knee": "good"}
    assert {point["arm"]: point["frontier"] for point in body["curve"]["points"]} == {
        "hasty": True, "good": True, "thorough": True, "worse": False,
    }  # fmt: skip
    assert evaluate_latency(GOLD, rows, relaxed_budget_ms=4000).sections["choice"]["batch"] == "thorough"
    assert evaluate_latency(GOLD, rows, arm="thorough").verdict == "NO-SHIP"
    with pytest.raises(DataError, match="arm-without-traces"):
        evaluate_latency(GOLD, rows, arm="none")


def test_where_no_arm_is_right_the_most_precise_one_is_shown_and_nothing_ships() -> None:
    decision = evaluate_latency(GOLD, served(100, 40, "x") + served(200, 30, "y"))
    body = report(decision)
    assert decision.verdict == "NO-SHIP" and body["arm"] == "y" and body["choice"]["interactive"] is None
    assert any("no arm on the frontier passes" in why for why in decision.reasons)


def test_an_arm_that_was_announced_and_has_no_traces_is_named() -> None:
    decision = evaluate_latency(GOLD, served(arm="x"), arms=("x", "y"))
    assert decision.exit_code == 3 and decision.reasons == ["arm y has no trace"]


def test_an_arm_that_lacks_questions_is_named_even_if_another_decides() -> None:
    decision = evaluate_latency(GOLD, served(100, 0, "x") + served(900, 0, "y")[2:])
    assert decision.exit_code == 3 and decision.reasons[0] == "arm y has no trace for 2 questions: a00, a01"


def test_knobs_name_an_arm_where_nothing_else_does() -> None:
    rows = served(100, knobs={"k": 5, "deep": False}) + served(300, knobs={"deep": False, "k": 9})
    assert [row["arm"] for row in report(evaluate_latency(GOLD, rows))["arms"]] == [
        '{"deep":false,"k":5}', '{"deep":false,"k":9}',
    ]  # fmt: skip


POINTS = st.lists(st.builds(Point, st.uuids().map(str), st.fractions(1, 9), st.fractions(0, 1)), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(POINTS)
def test_the_frontier_is_what_no_point_dominates(points: list[Point]) -> None:
    front = latency.frontier(points)
    assert front
    for point in points:
        better = [other for other in points if other.p95 <= point.p95 and other.precision >= point.precision
                  and (other.p95, other.precision) != (point.p95, point.precision)]  # fmt: skip
        assert (point in front) == (not better)
    assert [point.p95 for point in front] == sorted(point.p95 for point in front)


def test_the_knee_is_farthest_from_the_chord() -> None:
    points = [
        Point("a", Fraction(100), Fraction(1, 2)),
        Point("b", Fraction(200), Fraction(9, 10)),
        Point("c", Fraction(1000), Fraction(1)),
    ]
    chosen = latency.choose(points, {"a": False, "b": False, "c": True}, Fraction(500))
    assert chosen == ("c", "b", "b")
    two = latency.choose(points[:2], {"a": True, "b": True}, Fraction(50))
    assert two == ("a", None, "a")


def test_the_arms_and_the_choices_are_said_in_words() -> None:
    runs = served(100, 30, "quick") + served(400, 6, "middle") + served(3000, 0, "slow") + served(3500, 30, "poor")
    first, second = evaluate_latency(GOLD, runs).diagnosis[:2]
    assert first == ("p95 and precision by arm (* on the frontier): quick 100.0 ms at 0.500 *; middle 400.0 ms at 0.900 *; "
                     "slow 3000.0 ms at 1.000 *; poor 3500.0 ms at 0.500.")  # fmt: skip
    assert second == "Choices: interactive middle, batch middle, knee middle."


def test_only_gates_leaves_the_named_ones_alone(before: tuple[str, str]) -> None:
    def gates(**given: Any) -> list[str]:
        decision = evaluate_latency(before[0], served(1000), only_gates=True, **given)
        return [str(outcome.gate) for outcome in decision.outcomes]

    assert gates(gates="p99=5000", baseline=before[1]) == ["p99 <= 5000"]
    assert gates(gates="p95<=baseline*1.1", baseline=before[1]) == ["p95 <= baseline*1.1"]
    with pytest.raises(UsageError, match="gate-none"):
        gates(baseline=before[1])


@pytest.mark.parametrize("k", [0, (5, -1), ()])
def test_a_depth_below_one_is_refused(k: Any) -> None:
    with pytest.raises(UsageError, match="k-range"):
        evaluate_latency(GOLD, served(), k=k)


def test_recall_at_the_first_depth_has_a_short_name() -> None:
    assert str(evaluate_latency(GOLD, served(), k=3, gates="recall=0.5").outcomes[-1].gate) == "recall@3 >= 0.5"


# --- baselines ---


@pytest.fixture
def before(tmp_path: Any) -> tuple[str, str]:
    """A gold file and the report of an earlier run on it."""
    items = write_lines(tmp_path / "gold.jsonl", GOLD)
    earlier = evaluate_latency(str(items), served(1000, 6, cost_usd=0.01))
    path = tmp_path / "last.json"
    path.write_text(json.dumps(report(earlier)), "utf-8")
    return str(items), str(path)


def test_the_same_numbers_hold_against_their_own_baseline(before: tuple[str, str]) -> None:
    decision = evaluate_latency(before[0], served(1000, 6, cost_usd=0.01), baseline=before[1])
    assert decision.verdict == "SHIP"
    assert [str(outcome.gate) for outcome in decision.outcomes][-5:] == [
        "p95 <= baseline * 1.15", "precision >= baseline - 0.02", "p50 <= baseline * 1.2", "p90 <= baseline * 1.5",
        "cost_per_correct <= baseline * 1.3",
    ]  # fmt: skip


def test_each_guard_against_the_baseline_is_exact(before: tuple[str, str]) -> None:
    def misses(**changed: Any) -> list[str]:
        rows = served(**{"ms": 1000, "wrong": 6, "cost_usd": 0.01} | changed)
        decision = evaluate_latency(before[0], rows, baseline=before[1])
        return [outcome.gate.metric for outcome in decision.outcomes if not outcome.holds]

    assert misses(ms=1150) == []
    assert misses(ms=1150.001) == ["p95"]
    assert misses(wrong=7, cost_usd=0.009) == []  # 53/60 is 1/60 below 54/60
    assert misses(wrong=8, cost_usd=0.009) == ["precision"]
    assert misses(cost_usd=0.01301) == ["cost_per_correct"]
    assert misses(ms=lambda number: 1201 if number < 40 else 1000, wrong=6) == ["p95", "p50"]


def test_accuracy_up_but_latency_over_is_said_in_those_words(before: tuple[str, str]) -> None:
    decision = evaluate_latency(before[0], served(1500, 0), baseline=before[1], gates="p95=1200")
    assert decision.verdict == "NO-SHIP"
    assert decision.reasons[0].startswith("accuracy up but latency over → NO-SHIP: precision 0.900 → 1.000")


def test_proof_is_asked_of_the_guards_too(before: tuple[str, str]) -> None:
    decision = evaluate_latency(before[0], served(1000, 6, cost_usd=0.01), baseline=before[1], require_proof=True)
    missed = {str(outcome.gate) for outcome in decision.outcomes if not outcome.holds}
    assert decision.verdict == "NO-SHIP" and "precision >= baseline - 0.02" in missed


def test_a_part_is_held_against_the_same_part_of_the_baseline(tmp_path: Any) -> None:
    earlier = report(evaluate_latency(GOLD, served(100, load_rps=1) + served(1000, load_rps=5)))
    runs = served(100, load_rps=1) + served(1101, load_rps=5)
    decision = evaluate_latency(GOLD, runs, baseline=earlier, gates="p95[load=5]<=baseline*1.1")
    assert [outcome.gate.key for outcome in decision.outcomes if not outcome.holds] == ["p95[load=5]"]


def test_a_baseline_keeps_numbers_that_have_no_end() -> None:
    rows = served(lambda number: number / 7)
    earlier = report(evaluate_latency(GOLD, rows))
    decision = evaluate_latency(
        GOLD, rows, baseline=json.loads(json.dumps(earlier)), gates="tail_amplification<=baseline"
    )
    outcome = next(one for one in decision.outcomes if str(one.gate) == "tail_amplification <= baseline")
    assert outcome.bound == outcome.measure.value and outcome.met


def test_a_baseline_is_known_by_the_content_of_its_gold_set() -> None:
    earlier = report(evaluate_latency(GOLD, served()))
    assert evaluate_latency(GOLD[::-1], served(), baseline=earlier).verdict == "SHIP"
    with pytest.raises(DataError, match="baseline-gold"):
        evaluate_latency([*GOLD, gold("new")], [*served(), trace("new") | {"e2e_ms": 1}], baseline=earlier)


@pytest.mark.parametrize("inputs", [None, {"gold": None}, {"gold": {"sha256": None}}])
def test_a_baseline_that_does_not_tell_its_gold_set_is_refused(inputs: Any) -> None:
    earlier = report(evaluate_latency(GOLD, served())) | {"inputs": inputs}
    with pytest.raises(DataError, match="baseline-gold"):
        evaluate_latency(GOLD, served(), baseline=earlier)


def test_a_baseline_of_another_gold_set_is_refused(before: tuple[str, str], tmp_path: Any) -> None:
    other = write_lines(tmp_path / "other.jsonl", [*GOLD, gold("new")])
    with pytest.raises(DataError, match="baseline-gold"):
        evaluate_latency(str(other), served(), baseline=before[1])


@pytest.mark.parametrize("text", ["", "[]", "{}", "not json", '{"shipworthy": {"suite": "answers"}, "metrics": {}}'])
def test_a_baseline_must_be_a_latency_report(text: str, tmp_path: Any) -> None:
    path = tmp_path / "base.json"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match="baseline-report"):
        evaluate_latency(GOLD, served(), baseline=str(path))
    with pytest.raises(DataError, match="baseline-report"):
        evaluate_latency(GOLD, served(), baseline=str(tmp_path / "absent.json"))


def test_a_gate_of_ones_own_against_the_baseline_stands_beside_the_budget(before: tuple[str, str]) -> None:
    decision = evaluate_latency(
        before[0], served(1100, 6, cost_usd=0.01), baseline=before[1], gates="p95<=baseline*1.05"
    )
    gates = [str(outcome.gate) for outcome in decision.outcomes if outcome.gate.metric == "p95"]
    assert gates == ["p95 <= 2000", "p95 <= baseline*1.05"] and decision.verdict == "NO-SHIP"
    assert evaluate_latency(before[0], served(), gates="p95<=baseline*1.05").exit_code == 3  # nothing to compare with


# --- order, doubts, command line ---


def test_the_order_of_lines_changes_nothing() -> None:
    rows = served(lambda number: 100 + 7 * number, 3, "x", load_rps=5) + served(300, 1, "y", cost_usd=0.01)
    rows += [{**trace("a50", found=[*"vwxyz", "d1"]), "e2e_ms": 7, "arm": "x"}]  # as right, and retrieved later
    first = report(evaluate_latency(GOLD, rows))["digest"]
    for number in range(4):
        random.Random(number).shuffle(rows)
        assert report(evaluate_latency(GOLD, rows))["digest"] == first


def test_times_that_a_late_generator_made_too_long_can_hold_but_not_fail() -> None:
    doubts = ["20 rps: the schedule was not kept"]
    held = evaluate_latency(GOLD, served(), doubts=doubts)
    assert held.verdict == "SHIP" and doubts[0] in held.warnings
    missed = evaluate_latency(GOLD, served(9000), doubts=doubts)
    assert missed.exit_code == 3 and missed.reasons[0] == doubts[0] and "p95 9000.000 ms" in missed.reasons[1]
    assert evaluate_latency(GOLD, served(9000, wrong=50), doubts=doubts).verdict == "NO-SHIP"


def test_sweeps_are_not_mixed() -> None:
    rows = served(9000, sweep_id="old") + served(100, sweep_id="new")
    assert evaluate_latency(GOLD, rows).verdict == "SHIP"
    assert evaluate_latency(GOLD, rows, sweep="old").verdict == "NO-SHIP"


def test_the_command_scores_writes_and_compares(cli: Any, tmp_path: Any) -> None:
    items = write_lines(tmp_path / "gold.jsonl", GOLD)
    traces = write_lines(tmp_path / "t.jsonl", served(1000, cost_usd=0.01))
    last, rows = tmp_path / "last.json", tmp_path / "rows.tsv"
    ran = cli("latency", "score", "--gold", items, "--trace", traces, "--budget-ms", 2000, "-o", last, "-o", rows)
    assert ran.code == 0 and ran.out.startswith("SHIP  latency")
    assert rows.read_text("utf-8").startswith("arm\tqid\tstatus")
    slower = write_lines(tmp_path / "u.jsonl", served(1200, cost_usd=0.01))
    again = cli("latency", "score", "--gold", items, "--trace", slower, "--baseline", last, "--json")
    assert again.code == 1 and again.json["arm"] == "default" and {"arms", "choice", "curve"} <= again.json.keys()
    assert cli("latency", "score", "--gold", items, "--trace", traces, "--arms", "x,y").code == 3
    assert cli("latency", "score", "--gold", items, "--trace", traces, "--budget-ms", "soon").code == 2


def test_run_generates_load_and_scores_it(cli: Any, tmp_path: Any) -> None:
    items = write_lines(tmp_path / "gold.jsonl", GOLD[:8])
    replay = write_lines(tmp_path / "replay.jsonl", served()[:8])
    arms = tmp_path / "arms.toml"
    arms.write_text("[arms.small]\nk = 5\n[arms.large]\nk = 20\n", "utf-8")
    out = tmp_path / "runs" / "latency.jsonl"
    ran = cli("latency", "run", "--gold", items, "--target", f"replay:{replay}", "--rps", "100", "--duration", 60, "--arms", arms,
              "--out", out, "--warmup", 1, "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert {row["arm"] for row in ran.json["arms"]} == {"small", "large"}
    assert all(row["n"] == 8 for row in ran.json["arms"])
    assert (tmp_path / "runs" / "latency.csv").read_text("utf-8").count("\n") == 17
    assert cli("latency", "run", "--gold", items, "--target", "demo", "--rps", "0", "--out", out).code == 2


def test_where_every_request_fails_there_is_nothing_to_judge(cli: Any, tmp_path: Any) -> None:
    items = write_lines(tmp_path / "gold.jsonl", GOLD[:2])
    failed = cli("latency", "run", "--gold", items, "--target", "py:json:loads", "--rps", "200", "--warmup", "0",
                 "--trace", tmp_path / "latency.jsonl")  # fmt: skip
    assert failed.code == 4 and "run-all-failed" in failed.err
