"""Reports to put into a history."""

from __future__ import annotations

from typing import Any

from conftest import gold, trace
from shipworthy import evaluate
from shipworthy.core.decision import report
from shipworthy.reading.reports import digest


def made(wrong: int = 0, of: int = 7, **options: Any) -> dict[str, Any]:
    items = [gold(f"Q{index}") for index in range(of)]
    traces = [trace(f"Q{index}", cite=("d2",) if index < wrong else ("d1",)) for index in range(of)]
    return report(evaluate(items, traces, **options))


def small(index: int) -> dict[str, Any]:
    """A report that is cheap to make, of which there can be many."""
    measure = {"kind": "rate", "value": 1 / 3, "n": 3, "numerator": 1, "denominator": 3}
    outcome = {"gate": "precision >= 0.1", "metric": "precision", "slice": "", "state": "PASS", "holds": True}
    return sealed(
        {
            "shipworthy": {"suite": "answers", "profile": "strict", "definitions": "1"},
            "decision": "SHIP",
            "inputs": {},
            "metrics": {"precision": measure},
            "outcomes": [outcome],
            "number": index,
        }
    )


def sealed(body: dict[str, Any]) -> dict[str, Any]:
    """A report that somebody made up, with the digest of what it says."""
    return {**body, "digest": digest(body)}
