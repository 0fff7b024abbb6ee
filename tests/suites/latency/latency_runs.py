"""Timed runs for the tests of the latency suite."""

from __future__ import annotations

from typing import Any

from conftest import gold, refusal, trace, unanswerable
from shipworthy.core.decision import Decision
from shipworthy.jobs.evaluate import evaluate

GOLD = [gold(f"a{number:02}") for number in range(60)] + [unanswerable(f"u{number:02}") for number in range(10)]


def served(ms: Any = 100, wrong: int = 0, arm: str | None = None, **more: Any) -> list[dict[str, Any]]:
    """A trace for every question, the first `wrong` answerable ones wrong; `ms` may be a function of the position."""
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


def score(golds: Any, traces: Any, **given: Any) -> Decision:
    return evaluate("latency", gold=golds, trace=traces, **given)
