"""Control runs of the latency suite: those that are bad are stopped, the good one ships."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from latency_runs import GOLD

from shipworthy.core.contracts import Gold
from shipworthy.core.control import Control, Setup
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.latency.suite import SUITE


def made(**setup: Any) -> list[Control]:
    assert SUITE.controls is not None
    return list(SUITE.controls(Setup(gold=[msgspec.convert(item, Gold) for item in GOLD], **setup)))


def test_the_good_run_ships_and_the_bad_ones_are_stopped() -> None:
    verdicts = {control.name: evaluate("latency", **control.data).verdict for control in made()}
    assert verdicts == {
        "fast and right": "SHIP",
        "slow p95": "NO-SHIP",
        "fast but wrong": "NO-SHIP",
        "runs without times": "NO VERDICT",
    }


@pytest.mark.parametrize(
    ("setup", "budget"),
    [
        ({}, 2000),
        ({"options": {"budget_ms": "500"}}, 500),
        ({"gates": ["p95 <= 800"]}, 800),
        ({"gates": ["p50=10", "p95=900"], "options": {"min_substr": 4}}, 900),
        ({"options": {"budget_ms": 4}}, 4),
    ],
)
def test_what_is_fast_and_slow_follows_the_budget(setup: dict[str, Any], budget: float) -> None:
    good, slow = made(**setup)[:2]
    assert {row["e2e_ms"] for row in good.data["trace"]} == {min(10.0, budget / 4)}
    assert max(row["e2e_ms"] for row in slow.data["trace"]) == 3 * budget
