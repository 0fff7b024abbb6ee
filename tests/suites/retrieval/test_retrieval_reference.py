"""Retrieval: the reference profile computes what the original pseudocode describes."""

from __future__ import annotations

import pytest
from retrieval_helpers import RANGED, line, question, score

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


def test_the_reference_profile_holds_recall_beside_live_and_refuses_gates_that_it_can_not_judge() -> None:
    gold, good, poor = question(), [line(delta_s=[0.1] * 3)], [line(found=["x"], cites=["a"], delta_s=[0.1])]
    states = {outcome.gate.metric: outcome.state for outcome in score(gold, poor, good, profile="reference").outcomes}
    assert states["recall@5"].startswith("FAIL") and states["coverage"] == "PASS-BUT-UNPROVEN"
    with pytest.raises(UsageError, match=r"no mrr.*\[gate-unknown\]"):
        score(gold, good, profile="reference", gates="mrr>=0.5")
