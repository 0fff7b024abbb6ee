"""Policy: waivers, severities and baselines laid on a decision."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from conftest import gold, refusal, trace, unanswerable
from shipworthy import Gate, evaluate
from shipworthy.core.decision import Decision, digest_of, encode
from shipworthy.core.policy import (
    Waiver,
    apply_policy,
    check_waivers,
    waiver_notes,
    with_incomplete,
    with_regressions,
)
from shipworthy.errors import UsageError
from shipworthy.suites.reasoning.contracts import read_fixture
from shipworthy.suites.reasoning.controls import control_answers

TODAY = datetime.date(2026, 11, 15)


def decision(wrong: int = 3, of: int = 10, **options: Any) -> Decision:
    """`wrong` of the answers cite something else, so that precision and chr miss their bars."""
    items = [gold(f"Q{index:02}") for index in range(of)] + [unanswerable("U1")]
    traces = [trace(f"Q{index:02}", cite=("d2",) if index < wrong else ("d1",)) for index in range(of)] + [
        refusal("U1")
    ]
    return evaluate(items, traces, **options)


def waiver(gate: str = "precision", expires: str = "2026-11-15", **more: str) -> Waiver:
    return Waiver(gate, more.get("owner", "Ada"), more.get("reason", "ticket 7"), datetime.date.fromisoformat(expires))


def test_a_waiver_lets_a_gate_be_missed_and_is_shown() -> None:
    found = apply_policy(decision(), waivers=[waiver(), waiver("chr")], today=TODAY)
    assert found.verdict == "SHIP"
    assert [outcome.waived for outcome in found.outcomes if outcome.gate.key == "chr"] == [
        "waived by Ada until 2026-11-15: ticket 7"
    ]
    assert any("chr fails, but is waived by Ada" in reason for reason in found.reasons)


def test_a_waiver_holds_through_its_last_day_and_blocks_after_it() -> None:
    waivers = [waiver(), waiver("chr")]
    assert apply_policy(decision(), waivers=waivers, today=TODAY).ships
    late = apply_policy(decision(), waivers=waivers, today=TODAY + datetime.timedelta(days=1))
    assert late.verdict == "NO-SHIP"
    notes = waiver_notes(waivers, [late], TODAY + datetime.timedelta(days=1))
    assert "expired on 2026-11-15 and blocks" in notes[0]


def test_an_expired_waiver_is_among_the_reasons() -> None:
    late = apply_policy(decision(), waivers=[waiver(expires="2026-01-01"), waiver("chr")], today=TODAY)
    assert late.verdict == "NO-SHIP"
    assert any("expired on 2026-01-01" in reason for reason in late.reasons)


def test_one_waiver_does_not_cover_another_gate() -> None:
    assert apply_policy(decision(), waivers=[waiver()], today=TODAY).verdict == "NO-SHIP"


def test_a_waiver_for_one_suite_alone() -> None:
    both = [waiver("answers:precision"), waiver("answers:chr")]
    assert apply_policy(decision(), waivers=both, today=TODAY).ships
    assert not apply_policy(decision(), waivers=[waiver("retrieval:precision"), waiver("chr")], today=TODAY).ships


def test_a_waiver_that_is_not_needed_changes_nothing_and_is_still_shown() -> None:
    fine = decision(wrong=0)
    judged = apply_policy(fine, waivers=[waiver()], today=TODAY)
    assert judged is fine
    assert waiver_notes([waiver()], [judged], TODAY) == [
        "waiver of precision was not needed; it expires on 2026-11-15 (Ada: ticket 7)"
    ]


def test_a_waiver_for_no_gate_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="Did you mean precision"):
        check_waivers([waiver("precison")], [decision()])
    check_waivers([waiver("precision"), waiver("answers:chr")], [decision()])


def test_holes_in_the_data_outlast_a_waiver() -> None:
    found = decision()
    found.incomplete = ["the grid has holes"]
    judged = apply_policy(found, waivers=[waiver(), waiver("chr")], today=TODAY)
    assert judged.verdict == "NO VERDICT"
    assert judged.reasons[0] == "the grid has holes"


def test_severities_are_laid_on_by_the_gate_s_name() -> None:
    policies = [Gate.parse("precision >= 0.8", severity="warn"), Gate.parse("chr >= 0.75", severity="info")]
    found = apply_policy(decision(), policies=policies, today=TODAY)
    assert found.ships
    assert {outcome.gate.key: outcome.gate.severity for outcome in found.outcomes}["chr"] == "info"
    with pytest.raises(UsageError, match="gate-policy"):
        apply_policy(decision(), policies=[Gate.parse("accuracy >= 0.8", severity="warn")], today=TODAY)


def test_proof_can_be_asked_for_one_gate() -> None:
    policies = [Gate.parse("precision >= 0.8", on_unproven="fail")]
    assert decision(wrong=0).ships
    assert apply_policy(decision(wrong=0), policies=policies, today=TODAY).verdict == "NO-SHIP"


def test_gates_relative_to_a_baseline() -> None:
    found = decision(wrong=1, gates=["precision >= baseline - 0.05"])
    assert found.verdict == "NO VERDICT"  # nothing to compare with yet
    good = apply_policy(found, baseline={"precision": Fraction(19, 20)}, today=TODAY)
    assert good.ships and good.outcomes[0].bound == Fraction(9, 10)
    bad = apply_policy(found, baseline={"precision": Fraction(96, 100)}, today=TODAY)
    assert bad.verdict == "NO-SHIP" and "0.900 < baseline - 0.05 = 0.91" in bad.reasons[0]


ELSEWHERE = "Something else."
PRECISION = {"gates": ["precision >= 0.75"], "only_gates": True}


def nearest(traces: list[dict[str, Any]], **options: Any) -> list[str]:
    """The items that the report names as nearest to turning its only gate."""
    decision = evaluate([gold(row["qid"]) for row in traces], traces, **(PRECISION | options))
    (turn,) = decision.report()["turns"]
    return turn["nearest"]


def test_what_would_turn_it_and_the_items_nearest_to_it() -> None:
    items = [gold("A1"), gold("A2"), gold("A3"), gold("A4")]
    traces = [
        trace("A1", ELSEWHERE, cite=("d9",)),  # lacks both
        trace("A2", ELSEWHERE),  # lacks the substring
        trace("A3", cite=("d2",), found=("d2", "d3", "d1")),  # lacks the citation, evidence at rank 3
        trace("A4"),
    ]
    found = evaluate(items, traces, **PRECISION)
    assert found.sections["turns"] == [{"gate": "precision >= 0.75", "turn": 2, "nearest": ["A2", "A3", "A1"]}]
    assert "turns" not in evaluate(items, [trace(item["qid"]) for item in items], **PRECISION).report()


def test_an_item_that_lacks_one_check_is_nearer_than_one_that_lacks_two_wherever_its_evidence_is() -> None:
    far = ("d7", "d8", "d9", "d1")
    rows = [
        trace("A", ELSEWHERE, cite=("d2",), found=("d1", "d2")),  # lacks both, evidence first
        trace("B", ELSEWHERE, found=far),  # lacks the substring alone, evidence last
        trace("C", cite=("d7",), found=far),  # lacks the citation alone, evidence last
    ]
    assert nearest(rows) == ["B", "C", "A"]


def test_among_items_that_lack_as_much_the_one_with_its_evidence_ranked_higher_is_nearer() -> None:
    rows = [
        trace("A", ELSEWHERE, cite=("d9",), found=("d9", "d8")),  # evidence not retrieved at all
        trace("B", ELSEWHERE, cite=("d9",), found=("d9", "d8", "d1")),
        trace("C", ELSEWHERE, cite=("d9",), found=("d9", "d1")),
    ]
    assert nearest(rows) == ["C", "B", "A"]


def test_among_items_that_are_as_near_the_name_decides_whatever_the_order_of_the_traces() -> None:
    rows = [trace(qid, ELSEWHERE) for qid in ("B", "C", "A")]
    assert nearest(rows) == nearest(rows[::-1]) == ["A", "B", "C"]


def test_no_more_than_five_are_named() -> None:
    assert nearest([trace(f"Q{index}", ELSEWHERE) for index in range(7)]) == ["Q0", "Q1", "Q2", "Q3", "Q4"]


def test_only_items_that_count_against_the_gate_s_metric_are_named() -> None:
    """An over-refusal lowers no precision, and a wrong claim no citation hit rate."""
    items = [gold("A1"), gold("A2"), gold("A3"), unanswerable("U1")]
    traces = [refusal("A1"), trace("A2", ELSEWHERE), trace("A3", cite=("d2",)), trace("U1", cite=())]
    gates = ["precision >= 0.9", "chr >= 0.9", "over <= 0.1", "under <= 0.1"]
    turns = evaluate(items, traces, gates=gates, only_gates=True).report()["turns"]
    assert {turn["gate"].split()[0]: turn["nearest"] for turn in turns} == {
        "precision": ["A2", "A3", "U1"],
        "chr": ["A3", "U1"],
        "over_refusal": ["A1"],
        "under_refusal": ["U1"],
    }


def test_an_answer_that_counts_as_correct_is_not_named_whatever_else_is_wrong_with_it() -> None:
    """A broken constraint takes nothing from precision where constraints are not enforced."""
    items = [gold("A1", constraints=["Never on Sunday."]), gold("A2")]
    traces = [trace("A1"), trace("A2", ELSEWHERE)]
    turns = evaluate(items, traces, gates=["precision >= 0.9"], only_gates=True).report()["turns"]
    assert [turn["nearest"] for turn in turns] == [["A2"]]
    enforced = evaluate(items, traces, gates=["precision >= 0.9"], only_gates=True, scu_enforced=True).report()["turns"]
    assert enforced[0]["nearest"] == ["A1", "A2"]


def test_a_gate_on_a_slice_names_nobody_because_a_row_does_not_say_its_slice() -> None:
    items = [gold("A1", type="table"), gold("A2")]
    traces = [trace("A1", ELSEWHERE), trace("A2", ELSEWHERE)]
    turns = evaluate(items, traces, gates=["precision[type=table] >= 0.9"], only_gates=True).report()["turns"]
    assert turns == [{"gate": "precision[type=table] >= 0.9", "turn": 1, "nearest": []}]


def test_a_gate_that_is_waived_or_only_warns_needs_no_turning() -> None:
    found = decision()
    both = found.sections["turns"]
    assert [turn["gate"] for turn in both] == ["precision >= 0.80", "chr >= 0.75"]
    waived = apply_policy(found, waivers=[waiver("chr")], today=TODAY)
    assert waived.sections["turns"] == both[:1]
    warned = [Gate.parse("precision >= 0.8", severity="warn"), Gate.parse("chr >= 0.75", severity="info")]
    assert "turns" not in apply_policy(found, policies=warned, today=TODAY).sections


@pytest.mark.parametrize("severity", ["info", "warn"])
def test_gates_none_of_which_blocks_decide_nothing(severity: Any) -> None:
    found = decision(wrong=0)
    assert found.verdict == "SHIP"
    softened = apply_policy(
        found, policies=[msgspec.structs.replace(one.gate, severity=severity) for one in found.outcomes], today=TODAY
    )
    assert (softened.verdict, softened.exit_code) == ("NO VERDICT", 3)
    kept = apply_policy(  # one that blocks is enough
        found,
        policies=[msgspec.structs.replace(one.gate, severity=severity) for one in found.outcomes[1:]],
        today=TODAY,
    )
    assert (kept.verdict, kept.reasons[0].startswith("the gate passes")) == ("SHIP", True)


def test_the_digest_is_that_of_the_report_before_and_after_a_policy() -> None:
    before = decision()
    digests = [digest_of(before)]
    after = apply_policy(before, waivers=[waiver(), waiver("chr")], today=TODAY)
    digests += [digest_of(after), digest_of(before)]
    assert digests == [before.report()["digest"], after.report()["digest"], digests[0]]
    assert digests[0] != digests[1] and after.items is before.items


def reasoned(right: bool) -> Decision:
    found = control_answers(read_fixture(), "terse right answers")
    wrong = [] if right else sorted(found)[:6]
    answers = {name: "no" if name in wrong else one.content for name, one in found.items()}
    return evaluate("reasoning", answers=answers)


def guarded(right: bool) -> Decision:
    return evaluate("guard", report=json.loads(encode(reasoned(True).report())), min_cases=30 if right else 31)


def accepted(right: bool) -> Decision:
    rows = [{"prompt_id": f"p{n}", "accepted_without_edits": right, "action_taken": right} for n in range(30)]
    return evaluate("outcomes", outcomes=rows)


@pytest.mark.parametrize("made", [reasoned, guarded, accepted])
def test_pass_and_passed_are_the_same_whatever_changed_the_verdict(made: Callable[[bool], Decision]) -> None:
    """Headlines kept what was so before waivers and baselines."""
    bad, good = made(False), made(True)
    failing = [outcome.gate.key for outcome in bad.outcomes if not outcome.holds]
    waived = apply_policy(bad, waivers=[waiver(key) for key in failing], today=TODAY)
    found = {
        "NO-SHIP": [bad, with_regressions(good, ["it got worse"]), with_regressions(waived, ["it got worse"])],
        "SHIP": [good, waived],
        "NO VERDICT": [with_incomplete(good, ["not compared"])],
    }
    for verdict, decisions in found.items():
        for one in decisions:
            body = one.report()
            told = body.get("summary", body)
            assert (body["decision"], body["pass"], told["passed"]) == (verdict, verdict == "SHIP", verdict == "SHIP")
            if "summary" in body:
                assert told["reasons"] == ([] if body["pass"] else body["reasons"])
