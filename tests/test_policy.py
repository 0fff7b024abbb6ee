"""Policy: waivers, severities and baselines laid on a decision."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import pytest

from conftest import gold, refusal, trace, unanswerable
from shipworthy import Gate, evaluate
from shipworthy.decision import Decision
from shipworthy.errors import UsageError
from shipworthy.policy import Waiver, check_waivers, nearest, settle, turns, waiver_notes

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
    found = settle(decision(), waivers=[waiver(), waiver("chr")], today=TODAY)
    assert found.verdict == "SHIP"
    assert [outcome.waived for outcome in found.outcomes if outcome.gate.key == "chr"] == [
        "waived by Ada until 2026-11-15: ticket 7"
    ]
    assert any("chr does not hold and is waived by Ada" in reason for reason in found.reasons)


def test_a_waiver_holds_through_its_last_day_and_blocks_after_it() -> None:
    waivers = [waiver(), waiver("chr")]
    assert settle(decision(), waivers=waivers, today=TODAY).ships
    late = settle(decision(), waivers=waivers, today=TODAY + datetime.timedelta(days=1))
    assert late.verdict == "NO-SHIP"
    notes = waiver_notes(waivers, [late], TODAY + datetime.timedelta(days=1))
    assert "expired on 2026-11-15 and blocks" in notes[0]


def test_an_expired_waiver_is_among_the_reasons() -> None:
    late = settle(decision(), waivers=[waiver(expires="2026-01-01"), waiver("chr")], today=TODAY)
    assert late.verdict == "NO-SHIP"
    assert any("expired on 2026-01-01" in reason for reason in late.reasons)


def test_one_waiver_does_not_cover_another_gate() -> None:
    assert settle(decision(), waivers=[waiver()], today=TODAY).verdict == "NO-SHIP"


def test_a_waiver_for_one_suite_alone() -> None:
    here = [waiver("answers:precision"), waiver("answers:chr")]
    assert settle(decision(), waivers=here, today=TODAY).ships
    assert not settle(decision(), waivers=[waiver("retrieval:precision"), waiver("chr")], today=TODAY).ships


def test_a_waiver_that_is_not_needed_changes_nothing_and_is_still_shown() -> None:
    fine = decision(wrong=0)
    settled = settle(fine, waivers=[waiver()], today=TODAY)
    assert settled is fine
    assert waiver_notes([waiver()], [settled], TODAY) == [
        "waiver of precision not needed by this run, until 2026-11-15 (Ada: ticket 7)"
    ]


def test_a_waiver_for_no_gate_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="Did you mean precision"):
        check_waivers([waiver("precison")], [decision()])
    check_waivers([waiver("precision"), waiver("answers:chr")], [decision()])


def test_holes_in_the_data_outlast_a_waiver() -> None:
    found = decision()
    found.incomplete = ["the grid has holes"]
    settled = settle(found, waivers=[waiver(), waiver("chr")], today=TODAY)
    assert settled.verdict == "NO VERDICT"
    assert settled.reasons[0] == "the grid has holes"


def test_severities_are_laid_on_by_the_gate_s_name() -> None:
    policies = [Gate.parse("precision >= 0.8", severity="warn"), Gate.parse("chr >= 0.75", severity="info")]
    found = settle(decision(), policies=policies, today=TODAY)
    assert found.ships
    assert {outcome.gate.key: outcome.gate.severity for outcome in found.outcomes}["chr"] == "info"
    with pytest.raises(UsageError, match="gate-policy"):
        settle(decision(), policies=[Gate.parse("accuracy >= 0.8", severity="warn")], today=TODAY)


def test_proof_can_be_asked_for_one_gate() -> None:
    policies = [Gate.parse("precision >= 0.8", on_unproven="fail")]
    assert decision(wrong=0).ships
    assert settle(decision(wrong=0), policies=policies, today=TODAY).verdict == "NO-SHIP"


def test_gates_relative_to_a_baseline() -> None:
    found = decision(wrong=1, gates=["precision >= baseline - 0.05"])
    assert found.verdict == "NO VERDICT"  # nothing to compare with yet
    good = settle(found, baseline={"precision": Fraction(19, 20)}, today=TODAY)
    assert good.ships and good.outcomes[0].bound == Fraction(9, 10)
    bad = settle(found, baseline={"precision": Fraction(96, 100)}, today=TODAY)
    assert bad.verdict == "NO-SHIP" and "0.910 (baseline - 0.05)" in bad.reasons[0]


def test_what_would_turn_it_and_the_items_nearest_to_it() -> None:
    items = [gold("A1"), gold("A2"), gold("A3"), gold("A4")]
    traces = [
        trace("A1", "Something else.", cite=("d9",)),  # lacks both
        trace("A2", "Something else."),  # lacks the substring
        trace("A3", cite=("d2",), found=("d2", "d3", "d1")),  # lacks the citation, evidence at rank 3
        trace("A4"),
    ]
    found = evaluate(items, traces, gates=["precision >= 0.75"], only_gates=True)
    assert turns(found) == [{"gate": "precision >= 0.75", "turn": 2, "nearest": ["A2", "A3", "A1"]}]
    assert nearest([], found.outcomes[0]) == []
