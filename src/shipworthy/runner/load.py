"""Load: an open-loop generator. Requests start at their scheduled times whatever the earlier ones do.

Latency counts from the scheduled time, so that a target that stalls is charged for the questions that had to wait
(no coordinated omission). When the generator itself starts late, the summary says how late.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..errors import UsageError
from ..reading.files import write_whole
from ..text import FORMULA
from ..web.blocking import run_blocking
from .execute import ask_once, header_of, make_ready, record_of, written
from .journal import Journal
from .plan import Ask, Plan, Question, make_plan, run_id_of
from .targets import Target, TargetOptions, parse_target
from .targets.base import chosen

MOST_PROCESSES = 64  # of a Python function: an open loop has no other bound
LATE_MS = 10.0  # a start later than this is counted
CSV_FIELDS = (
    "run_id",
    "qid",
    "arm",
    "load_rps",
    "scheduled_ms",
    "started_ms",
    "late_ms",
    "e2e_ms",
    "service_ms",
    "error",
)


class LoadStep(msgspec.Struct, frozen=True, kw_only=True):
    """What one load did, and whether the generator kept its own schedule."""

    load_rps: float
    planned: int  # questions × arms
    sent: int
    failed: int
    late: int
    late_p99_ms: float
    late_max_ms: float

    @property
    def kept_schedule(self) -> bool:
        return self.late_p99_ms <= LATE_MS

    def __str__(self) -> str:
        text = f"{self.load_rps:g} rps: {self.sent} of {self.planned} sent, {self.failed} failed"
        if self.kept_schedule:
            return text
        return (
            f"{text}; the schedule was not kept: {self.late} started late, p99 {self.late_p99_ms:.1f} ms, "
            f"max {self.late_max_ms:.1f} ms, so latencies at this load are partly our own"
        )


class LoadSummary(msgspec.Struct, frozen=True):
    """All loads of a run."""

    out: str
    csv: str
    steps: list[LoadStep]

    @property
    def complete(self) -> bool:
        return all(step.sent == step.planned for step in self.steps)


def run_load(
    gold: Iterable[Question],
    target: str | Target,
    out: str | os.PathLike[str],
    *,
    loads: Sequence[float] = (1, 5, 20),
    duration: float | None = None,
    csv_path: str | os.PathLike[str] | None = None,
    options: TargetOptions | None = None,
    **given: Any,
) -> LoadSummary:
    """Ask every question on every arm at each load; `duration` (seconds) and `max_requests` bound each load.

    What is given by name besides are run options: arms, warmup (5 unless said), timeout and so on. Traces go to `out`,
    one row per request to `csv_path` (`latency.csv` beside `out` by default).
    """
    if not loads or min(loads) <= 0:
        raise UsageError("loads are requests per second, more than 0", where="--loads", code="load")
    options = chosen(options, {"warmup": 5, "connections": MOST_PROCESSES} | given)
    asked = parse_target(target, options) if isinstance(target, str) else target
    table = Path(csv_path) if csv_path is not None else Path(out).with_name("latency.csv")
    plan = make_plan(gold, arms=options.arms)
    bounds = {load: _limit(len(plan), load, duration, options.max_requests) for load in loads}
    steps = run_blocking(_run_load(Generator(plan, asked, options), bounds, out, table))
    return LoadSummary(os.fspath(out), str(table), steps)


async def _run_load(
    generator: Generator, bounds: Mapping[float, int], out: str | os.PathLike[str], table: Path
) -> list[LoadStep]:
    options, target = generator.options, generator.target
    try:
        await make_ready(target)
        header = header_of(generator.plan, target, options, planned=sum(bounds.values()))
        with Journal(out, header, resume=None, overwrite=options.overwrite) as journal:
            return await generator.run(bounds, journal, table)
    finally:
        await target.close()


def schedule(plan: Plan, load: float, number: int | None = None) -> list[Ask]:
    """Questions × arms in blocks: each block asks every question once, and the arms take turns between blocks.

    The order within a block is shuffled by a digest, so that it is the same everywhere and cut off fairly.
    """
    asks: list[Ask] = []
    for block in range(len(plan.arms)):
        order = sorted(enumerate(plan.questions), key=lambda pair: _shuffled(block, load, str(pair[1].qid)))
        for position, item in order:
            arm = plan.arms[(position + block) % len(plan.arms)]
            base = next(ask for ask in plan.asks_of(item) if ask.arm == arm.name)
            shown = arm.name if len(plan.arms) > 1 else ""
            run_id = run_id_of(base.qid, base.seed, base.jitter, base.paraphrase, shown, load=f"{load:g}")
            asks.append(msgspec.structs.replace(base, run_id=run_id))
    return asks[:number]


class Generator:
    """Asks a plan at several loads; records are written when their load is done, so that writing disturbs no timing."""

    def __init__(self, plan: Plan, target: Target, options: TargetOptions) -> None:
        self.plan, self.target, self.options = plan, target, options
        self.secrets, self.timeout = options.secrets, options.timeout

    async def run(self, bounds: Mapping[float, int], journal: Journal, table: Path) -> list[LoadStep]:
        rows: list[dict[str, object]] = []
        steps: list[LoadStep] = []
        try:
            for ask in schedule(self.plan, 0, self.options.warmup):
                await ask_once(self.target, ask, self.timeout)
            for load, limit in bounds.items():
                measured = await self._step(schedule(self.plan, load, limit), load)
                records = [self._kept(record, journal) for record in measured]
                rows += [self._row(record) for record in records]
                journal.sync()
                steps.append(_summed(load, len(self.plan), records))
        finally:
            write_csv(table, rows)
        return steps

    async def _step(self, asks: Sequence[Ask], load: float) -> list[dict[str, object]]:
        """Start each request at its time; none waits for another."""
        clock = asyncio.get_running_loop().time
        began = clock()
        tasks = []
        for number, ask in enumerate(asks):
            due = number / load
            await asyncio.sleep(max(0.0, began + due - clock()))
            tasks.append(asyncio.create_task(self._timed(ask, load, began, due)))
        return list(await asyncio.gather(*tasks))

    async def _timed(self, ask: Ask, load: float, began: float, due: float) -> dict[str, object]:
        started = asyncio.get_running_loop().time() - began
        trace, service, failure = await ask_once(self.target, ask, self.timeout)
        late = (started - due) * 1000
        times = {"scheduled_ms": due * 1000, "started_ms": started * 1000, "late_ms": late, "service_ms": service}
        record = record_of(ask, trace, late + service, failure, replays=self.target.replays) | {"load_rps": load}
        return record | {name: round(value, 3) for name, value in times.items()}

    def _kept(self, record: dict[str, object], journal: Journal) -> dict[str, object]:
        """What was written of a record: the same, or a failed run if it could not be."""
        record |= journal.header.marks
        record, line = written(record, self.secrets)
        journal.append_line(line)
        return record

    def _row(self, record: dict[str, object]) -> dict[str, object]:
        shown: dict[str, object] = self.secrets.hide_all({name: record[name] for name in CSV_FIELDS if name in record})
        return shown


def _summed(load: float, planned: int, records: Sequence[dict[str, Any]]) -> LoadStep:
    late = sorted(record["late_ms"] for record in records)
    return LoadStep(
        load_rps=load,
        planned=planned,
        sent=len(records),
        failed=sum("error" in record for record in records),
        late=sum(value > LATE_MS for value in late),
        late_p99_ms=late[-(-len(late) * 99 // 100) - 1] if late else 0.0,
        late_max_ms=late[-1] if late else 0.0,
    )


def write_csv(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write the table whole or not at all; no cell can be taken for a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_FIELDS)
    writer.writerows([_cell(row.get(field, "")) for field in CSV_FIELDS] for row in rows)
    write_whole(path, buffer.getvalue().encode("utf-8", "backslashreplace"))


def _cell(value: object) -> object:
    if isinstance(value, str):
        value = " ".join(value.split())
        return "'" + value if value.startswith(FORMULA) else value
    return value


def _limit(planned: int, load: float, duration: float | None, max_requests: int | None) -> int:
    bounds = [planned]
    bounds += [int(duration * load)] if duration is not None else []
    bounds += [max_requests] if max_requests is not None else []
    return min(bounds)


def _shuffled(block: int, load: float, qid: str) -> bytes:
    return hashlib.sha256(f"{block}/{load:g}/{qid}".encode("utf-8", "replace")).digest()
