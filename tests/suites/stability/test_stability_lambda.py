"""Stability: which way each run points, read from the log or derived."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from stability_helpers import grid, score

from conftest import gold, trace, unanswerable
from shipworthy.core.decision import report


def states(items: list[dict[str, Any]], runs: list[dict[str, Any]]) -> dict[str, Any]:
    return report(score(items, runs))["lambda"]


def test_lambda_is_derived_where_the_log_does_not_carry_it() -> None:
    mixed = grid("a", **{"0/none": trace("a", cite=("d2",)), "0/ws": "not in context"})
    assert states([gold("a")], mixed) == {
        "distribution": {"convergent": 7, "backward": 1, "split": 1, "collapse": 0},
        "read": 0,
        "derived": 9,
    }
    assert states([gold("a")], grid("a", cite=("d2",)))["distribution"]["collapse"] == 9
    leaks = grid("u", "not in context", **{"0/ws": "blue"})
    assert states([unanswerable("u")], leaks)["distribution"] == {
        "convergent": 8,
        "backward": 0,
        "split": 1,
        "collapse": 0,
    }
    assert states([unanswerable("u")], grid("u", "blue"))["distribution"]["collapse"] == 9


def test_lambda_is_read_under_its_other_names() -> None:
    runs = [{**row, "λ_observe": "collapse"} for row in grid("a")]
    decision = score([gold("a", paraphrases=["Other?"])], runs)
    assert report(decision)["lambda"]["read"] == 9
    assert decision.verdict == "NO-SHIP" and any("lambda_collapse 9 > 0" in why for why in decision.reasons)


def test_an_anchor_section_named_by_the_citation_converges() -> None:
    cited = {"answer_json": {"claim": "The right answer.", "citations": [{"id": "d2", "section_id": "4.2"}]}}
    item = gold("a", anchor_section="4.2")
    assert states([item], [{**row, **cited} for row in grid("a")])["distribution"]["convergent"] == 9


@pytest.mark.parametrize(
    ("cited", "arrives"), [("S.4.2.p.Bk011", True), ("S.4.2.1.p.Bk011", True), ("S.4.20.p.Bk011", False), ("d2", False)]
)
def test_an_id_that_tells_its_section_converges_on_the_anchor(cited: str, arrives: bool) -> None:
    found = states([gold("a", anchor_section="S.4.2")], grid("a", cite=(cited,)))["distribution"]
    assert found == {"convergent": 9 * arrives, "backward": 0, "split": 0, "collapse": 9 * (not arrives)}


def test_a_failed_run_points_backwards_on_any_question() -> None:
    failed = {**trace("u"), "answer_json": None, "error": "timeout"}
    found = states([unanswerable("u")], grid("u", "not in context", **{"0/ws": failed}))["distribution"]
    assert found == {"convergent": 8, "backward": 1, "split": 0, "collapse": 0}


def test_states_of_the_log_stand_beside_derived_ones() -> None:
    first, *rest = grid("a")
    found = states([gold("a")], [{**first, "lambda_state": "×"}, *rest])
    assert found == {
        "distribution": {"convergent": 8, "backward": 0, "split": 0, "collapse": 1},
        "read": 1,
        "derived": 8,
    }


def test_the_certainty_of_a_lambda_share_comes_from_questions_and_not_from_runs() -> None:
    items = [gold(name, paraphrases=["Other?"]) for name in "abcdef"]
    decision = score(items, [row for name in "abcde" for row in grid(name)] + grid("f", cite=("d2",)))
    share = decision.measures["lambda_convergent"]
    assert share.value == Fraction(5, 6) and share.n == 6 and share.interval is not None
    state = next(outcome.state for outcome in decision.outcomes if outcome.gate.metric == "lambda_convergent")
    assert state == "PASS-BUT-UNPROVEN"  # 45 of 54 runs, but 5 of 6 questions
