"""Controls of the latency suite: slow, untimed, fast but wrong; and fast and right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...core.control import Control, Setup, with_gold
from ...core.evidence import Row
from ..answers.material import ControlAnswers, least_length

BUDGET_MS = 2000.0
FAST_MS = 10.0  # within any budget of a pipeline that has something to do
SLOW = 3.0  # times the budget
STAGES = {"retrieval": 0.2, "rerank": 0.1, "llm": 0.6, "guard": 0.1}  # shares of the whole
COST = 0.001


def controls(setup: Setup) -> Iterator[Control]:
    """The runs, the good one first; they are well within what the user calls fast enough, or well beyond."""
    return with_gold(setup.gold, _controls(setup))


def _controls(setup: Setup) -> Iterator[Control]:
    made, budget = ControlAnswers(setup.gold, least_length(setup.options)), _budget(setup)
    fast = min(FAST_MS, budget / 4)
    right = [made.right(item) for item in made.items]
    yield Control(name="fast and right", good=True, data=_timed(right, [fast] * len(right)))
    # Every fifth run is slow: the median looks well, the 95th percentile does not.
    times = [SLOW * budget if number % 5 == 0 else fast for number in range(len(right))]
    yield Control(name="slow p95", data=_timed(right, times))
    rows, skip = made.claims_wrong()
    yield Control(name="fast but wrong", data=_timed(rows, [fast] * len(rows)), skip=skip)
    yield Control(name="runs without times", data={"trace": right})


def _budget(setup: Setup) -> float:
    """What the user calls fast enough: the budget, else their p95 gate, else the default."""
    given = setup.options.get("budget_ms")
    if given is not None:
        return float(given)
    written = re.findall(r"(?<![\w.])p95\s*(?:<=|≤|==?)\s*([0-9.]+)", " ".join(map(str, setup.gates)))
    return float(written[-1]) if written else BUDGET_MS


def _timed(rows: Iterable[Row], times: Iterable[float]) -> dict[str, list[Row]]:
    return {"trace": [_with_time(row, ms) for row, ms in zip(rows, times, strict=True)]}


def _with_time(row: Row, ms: float) -> Row:
    stages = {name: ms * share for name, share in STAGES.items()}
    return row | {"e2e_ms": ms, "stage_ms": stages, "cost_usd": COST}
