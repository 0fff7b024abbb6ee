"""What the tests of ranked lists share: the suite as a function of files and of records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shipworthy.core.decision import Decision
from shipworthy.jobs.evaluate import evaluate

METRICS = "P@1,P@3,P@5,R@1,R@3,R@10,nDCG,nDCG@3,nDCG@10,MRR,MAP,success@3"


def measure(qrels: Path, run: Path, metrics: str | None, **options: Any) -> Decision:
    return evaluate("retrieval", qrels=qrels, run=run, metrics=metrics, **options)


def measure_ids(gold: Any, log: Any, metrics: str, **options: Any) -> Decision:
    return evaluate("retrieval", gold=gold, shadow=log, metrics=metrics, **options)


def values(decision: Any) -> dict[str, float | None]:
    return {
        name: None if measure.value is None else float(measure.value) for name, measure in decision.measures.items()
    }
