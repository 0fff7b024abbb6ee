"""Control runs of the retrieval suite: those that are bad are stopped, the perfect ranking ships."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from retrieval_helpers import question

from shipworthy.core.contracts import Gold
from shipworthy.core.control import Control, Setup
from shipworthy.jobs.evaluate import evaluate
from shipworthy.suites.retrieval.suite import SUITE

ITEMS = [
    question(f"q{number}", relevant=[f"S.{number}.p.Bk001", f"S.{number}.p.Bk002"], anchor_section=f"{number}")
    for number in range(1, 21)
]


def made(items: list[dict[str, Any]] = ITEMS, **setup: Any) -> list[Control]:
    assert SUITE.controls is not None
    return list(SUITE.controls(Setup(gold=[msgspec.convert(item, Gold) for item in items], **setup)))


def test_the_good_run_ships_and_the_bad_ones_are_stopped() -> None:
    verdicts = {control.name: evaluate("retrieval", **control.data).verdict for control in made()}
    assert verdicts == {
        "perfect ranking": "SHIP",
        "echo of the query": "NO-SHIP",
        "reversed ranks": "NO-SHIP",
        "random ids": "NO-SHIP",
        "live better than shadow": "NO-SHIP",
    }


@pytest.mark.parametrize(
    ("setup", "compared"),
    [
        ({}, True),
        ({"inputs": {"gold": "g", "shadow": "s"}}, False),
        ({"inputs": {"gold": "g", "shadow": "s", "live": "l"}}, True),
        ({"options": {"metrics": "P@5"}}, False),
    ],
    ids=str,
)
def test_a_live_log_is_made_where_the_configuration_compares(setup: dict[str, Any], compared: bool) -> None:
    controls = made(**setup)
    assert all(("live" in control.data) is compared for control in controls)
    assert bool(controls[-1].skip) is not compared


def test_what_can_not_be_wrong_is_skipped() -> None:
    nothing = made([question("q", relevant=[], answerable=False)])
    assert [bool(control.skip) for control in nothing] == [False, True, True, True, True]
    alike = {control.name: control.skip for control in made([question(f"q{number}") for number in range(4)])}
    assert "right by chance" in alike["random ids"]
