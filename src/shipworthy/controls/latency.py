"""Controls of the latency suite: slow, untimed, fast but wrong; and fast and right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..contracts import Gold
from .material import Material, Row, least_length
from .results import Control

FAST_MS = 10.0  # within any budget of a pipeline that has something to do
SLOW = 3.0  # times the budget
STAGES = {"retrieval": 0.2, "rerank": 0.1, "llm": 0.6, "guard": 0.1}  # shares of the whole
COST = 0.001


def build(items: Iterable[Gold], options: Mapping[str, Any]) -> Iterator[Control]:
    """`budget_ms` is what the user calls fast enough; the runs are well within it, or well beyond."""
    made, budget = Material(items, least_length(options)), float(options["budget_ms"])
    fast = min(FAST_MS, budget / 4)
    right = [made.right(item) for item in made.items]
    yield Control(name="fast and right", good=True, data=_timed(right, [fast] * len(right)))
    # Every fifth run is slow: the median looks well, the 95th percentile does not.
    times = [SLOW * budget if number % 5 == 0 else fast for number in range(len(right))]
    yield Control(name="slow p95", data=_timed(right, times))
    rows, skip = made.claims_wrong()
    yield Control(name="fast but wrong", data=_timed(rows, [fast] * len(rows)), skip=skip)
    yield Control(name="runs without times", data={"traces": right})


def _timed(rows: Iterable[Row], times: Iterable[float]) -> dict[str, Any]:
    return {"traces": [_with_time(row, ms) for row, ms in zip(rows, times, strict=True)]}


def _with_time(row: Row, ms: float) -> Row:
    stages = {name: ms * share for name, share in STAGES.items()}
    return row | {"e2e_ms": ms, "stage_ms": stages, "cost_usd": COST}
