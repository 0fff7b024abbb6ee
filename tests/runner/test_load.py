"""Load: scheduled starts, latency from the schedule, honest about lateness, arms spread over questions."""

from __future__ import annotations

import asyncio
import csv
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from faultserver import GOOD, FaultServer
from shipworthy.core.sources import Input, stream_traces
from shipworthy.errors import UsageError
from shipworthy.runner import make_plan, run_load
from shipworthy.runner.load import CSV_FIELDS, LoadStep, schedule, write_csv
from virtualtime import block, virtual_time

ARMS = {"fast": {"k": 3}, "deep": {"k": 9}, "wide": {"k": 27}}


def gold(count: int) -> list[Any]:
    return [SimpleNamespace(qid=f"q{number}", question=f"What is {number}?", paraphrases=()) for number in range(count)]


class Stalling:
    """Answers at once, but for one request, during which all others have to wait."""

    name, replays = "stalling", False

    def __init__(self, at: int = -1, stall: float = 0.0, blocking: float = 0.0) -> None:
        self.at, self.stall, self.blocking = at, stall, blocking
        self.count = 0
        self._free: asyncio.Lock | None = None

    async def ask(self, ask: Any) -> dict[str, Any]:
        self._free = self._free or asyncio.Lock()
        self.count += 1
        mine = self.count
        if self.blocking:
            block(self.blocking)
        async with self._free:
            if mine == self.at:
                await asyncio.sleep(self.stall)
        return dict(GOOD)

    async def close(self) -> None:
        pass


def test_the_schedule_is_the_full_product_and_the_same_each_time() -> None:
    plan = make_plan(gold(20), arms=ARMS)
    asks = schedule(plan, 5)
    assert Counter((ask.qid, ask.arm) for ask in asks) == Counter((f"q{n}", arm) for n in range(20) for arm in ARMS)
    assert [ask.run_id for ask in asks] == [ask.run_id for ask in schedule(plan, 5)]
    assert [ask.qid for ask in asks] != [ask.qid for ask in schedule(plan, 20)]
    assert len({ask.run_id for load in (1, 5, 20) for ask in schedule(plan, load)}) == 180
    assert asks[0].knobs == ARMS[asks[0].arm]


def test_a_schedule_that_is_cut_is_balanced() -> None:
    asks = schedule(make_plan(gold(21), arms=ARMS), 5, 21)
    assert set(Counter(ask.qid for ask in asks).values()) == {1}
    assert set(Counter(ask.arm for ask in asks).values()) == {7}
    runs = [ask.arm for ask in asks]
    assert runs != sorted(runs, key=runs.index), "arms come mixed, not in blocks"


def test_latency_counts_from_the_scheduled_time(tmp_path: Path) -> None:
    """A stall of 0.4 s at 50/s is felt by 20 requests; a closed loop would show it once."""
    with virtual_time():
        run_load(gold(40), Stalling(at=5, stall=0.4), tmp_path / "t.jsonl", loads=(50,), warmup=0)
    latencies = [trace.e2e_ms or 0 for _, trace in stream_traces(tmp_path / "t.jsonl", Input())]
    felt = [400 - 20 * number for number in range(20)]
    assert latencies == [pytest.approx(ms, abs=0.01) for ms in [0] * 4 + felt + [0] * 16]


def test_traces_carry_arm_knobs_load_and_times(tmp_path: Path) -> None:
    with FaultServer() as server:
        summary = run_load(gold(4), server.url("/qa"), tmp_path / "t.jsonl", arms=ARMS, loads=(40, 80), warmup=2)
        assert server.hits["/qa"] == 2 + 24
    assert summary.complete and [step.sent for step in summary.steps] == [12, 12]
    records = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text("utf-8").splitlines()]
    assert Counter(record["load_rps"] for record in records) == {40: 12, 80: 12}
    for record in records:
        assert record["knobs"] == ARMS[record["arm"]]
        assert record["started_ms"] >= record["scheduled_ms"]
        assert record["e2e_ms"] == pytest.approx(record["late_ms"] + record["service_ms"], abs=0.01)
    starts = sorted(record["scheduled_ms"] for record in records if record["load_rps"] == 40)
    assert starts == [pytest.approx(25.0 * number) for number in range(12)]


def test_a_generator_that_can_not_keep_up_says_so(tmp_path: Path) -> None:
    with virtual_time():
        summary = run_load(gold(30), Stalling(blocking=0.02), tmp_path / "t.jsonl", loads=(200,), warmup=0)
    (step,) = summary.steps
    assert not step.kept_schedule and step.late == 29
    assert step.late_max_ms == pytest.approx(29 * (20 - 5)), "each takes 20 ms of the 5 ms that it has"
    assert "the schedule was not kept" in str(step)
    calm = LoadStep(load_rps=5, planned=9, sent=9, failed=0, late=0, late_p99_ms=1.0, late_max_ms=2.0)
    assert str(calm) == "5 rps: 9 of 9 sent, 0 failed"


def test_bounds(tmp_path: Path) -> None:
    target = Stalling()
    with virtual_time():
        summary = run_load(gold(50), target, tmp_path / "a.jsonl", loads=(100, 50), duration=0.2, warmup=0)
        assert [step.sent for step in summary.steps] == [20, 10] and not summary.complete
        summary = run_load(gold(50), target, tmp_path / "b.jsonl", loads=(500,), max_requests=7, warmup=0)
    assert summary.steps[0].sent == 7
    for loads in ((), (0,), (-1,)):
        with pytest.raises(UsageError):
            run_load(gold(1), target, tmp_path / "c.jsonl", loads=loads)


def test_failures_are_recorded_with_their_latency(tmp_path: Path) -> None:
    with FaultServer() as server:
        summary = run_load(gold(3), server.url("/500"), tmp_path / "t.jsonl", loads=(50,), warmup=0)
        assert server.hits["/500"] == 3, "no retries under load"
    assert summary.steps[0].failed == 3
    assert all(trace.error and trace.e2e_ms is not None for _, trace in stream_traces(tmp_path / "t.jsonl", Input()))


def test_the_table_has_a_row_for_each_request_and_no_formula(tmp_path: Path) -> None:
    run_load(gold(5), Stalling(), tmp_path / "t.jsonl", loads=(200,), warmup=0)
    with (tmp_path / "latency.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == CSV_FIELDS and len(rows) == 5
    assert float(rows[0]["e2e_ms"]) >= 0 and rows[0]["load_rps"] == "200"
    write_csv(tmp_path / "x.csv", [{"qid": "=1+1", "run_id": "@a\nb", "error": "\ud800", "late_ms": -0.5}])
    text = (tmp_path / "x.csv").read_text("utf-8")
    assert "'=1+1" in text and "'@a b" in text and ",-0.5," in text
