"""Retrieval: the reference profile computes what the original pseudocode describes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from retrieval_helpers import RANGED, line, question, score, value

from shipworthy.errors import UsageError


def test_the_reference_profile() -> None:
    gold = [question("q1", relevant=[RANGED], anchor_section="1"), question("q2", relevant=[])]
    runs = [
        line("q1", found=("x",), seed=0),
        line(
            "q1",
            found=("x", "x", "S.1.p.Bk001"),
            cites=["x", {**RANGED}],
            seed=1,
            delta_s=[0.1, 0.2, 0.6],
            lambda_state="→",
        ),
        line("q2", found=("x",), cites=[]),
    ]
    found = score(gold, runs, profile="reference", k=(1, 3))
    shown = {name: float(measure.value) for name, measure in found.measures.items()}
    assert shown["precision@3"] == pytest.approx(1 / 6) and shown["recall@3"] == 0.5
    assert (shown["coverage"], shown["citation_accuracy"]) == (0, 0)
    assert (shown["delta_s_median"], shown["delta_s_p90"], shown["lambda_convergent"]) == (0.2, 0.52, 1)


def test_distances_are_those_of_the_first_five_retrieved_with_repeated_ids_in_their_slots() -> None:
    far = [0.1, 0.2, 0.3, 0.4, 0.5, 0.9, 0.9, 0.9]
    seven, repeated = ("a", "b", "c", "d", "e", "f", "g", "h"), ("a", "a", "a", "a", "a", "f", "g", "h")
    for found in (seven, repeated):
        decision = score(question(), line(found=found, delta_s=far), profile="reference")
        assert (value(decision, "delta_s_median"), value(decision, "delta_s_p90")) == (
            Fraction(3, 10),
            Fraction(46, 100),
        )
    shallow = score(question(), line(found=seven, delta_s=far), profile="reference", k=(1, 3))
    assert value(shallow, "delta_s_median") == Fraction(2, 10)
    several = [line("q1", found=seven, delta_s=far), line("q2", found=("a",), delta_s=[0.8])]
    medians = score([question("q1"), question("q2"), question("q3")], [*several, line("q3")], profile="reference")
    assert value(medians, "delta_s_median") == Fraction(55, 100)  # of q1's 0.3 and q2's 0.8; q3 has none


@pytest.mark.parametrize(("first", "last"), [(2, 10), (9, 10), (-1, 0)])
def test_the_last_run_is_that_of_the_highest_seed_as_a_number(first: int, last: int) -> None:
    lines = [line(found=("a",), seed=last), line(found=("x",), seed=first)]
    for order in (lines, lines[::-1]):
        assert value(score(question(relevant=["a"]), order, profile="reference"), "precision@1") == 1


def test_the_reference_profile_asks_for_seeds_too() -> None:
    decision = score(question(), [line(delta_s=[0.1] * 3)], profile="reference", min_seeds=2)
    assert "the log shadow has 1 seed; --min-seeds asks for 2" in decision.incomplete


def test_the_reference_profile_holds_recall_beside_live_and_refuses_gates_that_it_can_not_judge() -> None:
    gold, good, poor = question(), [line(delta_s=[0.1] * 3)], [line(found=["x"], cites=["a"], delta_s=[0.1])]
    states = {outcome.gate.metric: outcome.state for outcome in score(gold, poor, good, profile="reference").outcomes}
    assert states["recall@5"].startswith("FAIL") and states["coverage"] == "PASS-BUT-UNPROVEN"
    with pytest.raises(UsageError, match=r"no mrr.*\[gate-unknown\]"):
        score(gold, good, profile="reference", gates="mrr>=0.5")
