"""What the tests of stability share: all runs of a question in a few words, and the suite as a function."""

from __future__ import annotations

from typing import Any

from conftest import trace
from shipworthy.core.decision import Decision, report
from shipworthy.jobs.evaluate import evaluate

SEEDS, JITTERS = (0, 1, 2), ("none", "ws", "punct")


def score(gold: Any, runs: Any, **options: Any) -> Decision:
    return evaluate("stability", gold=gold, runs=runs, **options)


def grid(
    qid: str, claim: str = "The right answer.", cite: tuple[str, ...] = ("d1",), **changed: Any
) -> list[dict[str, Any]]:
    """All runs of a question; `changed` maps "seed/jitter" to another claim, or to a whole trace."""
    rows = []
    for seed in SEEDS:
        for jitter in JITTERS:
            other = changed.get(f"{seed}/{jitter}", claim)
            row = other if isinstance(other, dict) else trace(qid, other, () if other == "not in context" else cite)
            rows.append({**row, "qid": qid, "seed": seed, "jitter": jitter, "q": f"{jitter} {qid}"})
    return rows


def only(decision: Decision, qid: str) -> dict[str, Any]:
    return report(decision)["details"][qid]
