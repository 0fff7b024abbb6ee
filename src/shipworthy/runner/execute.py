"""Execution: ask everything of a plan, so many at a time, and keep each finished run in the journal."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from ..core.run_options import RunOptions
from ..errors import EnvironmentFailure, ShipworthyError
from ..reading.jsonl import MAX_LINE
from ..reading.plans import HEADER_KEY
from ..text import visible
from .failures import AskFailed
from .journal import Header, Journal, encoded
from .plan import Ask, Plan, digest_of, gold_digest
from .progress import Progress
from .redact import Secrets, without_passwords
from .targets.base import Target, TargetOptions, Timed
from .targets.worker import text_of

_UNANSWERED = ("unreachable", "reset")  # kinds of failure in which no answer came at all
# What the runner knows better than any answer. An answer that says otherwise is not believed: one could mark its slow
# runs as warm-up, pass as another question's, or be taken for the head of a journal.
_OURS = (
    "qid",
    "run_id",
    "sweep_id",
    "planned_runs",
    "seed",
    "jitter",
    "paraphrase",
    "temperature",
    "arm",
    "knobs",
    "q",
    "ts",
    "attempts",
    "total_ms",
    "load_rps",
    "scheduled_ms",
    "started_ms",
    "late_ms",
    "service_ms",
    "reused_from",
)
# `score_sources`: what a target says of itself, no person and no script of ours said.
_NOT_TAKEN = frozenset(
    (*_OURS, "q_id", "query", "question", "warmup", "e2e_ms", "reported_e2e_ms", "ttft_ms", "score_sources", HEADER_KEY)
)


class BudgetSpent(Exception):
    """No further request may start; says which budget ended."""


class Budget:
    """Counts requests, seconds and dollars against the limits."""

    def __init__(self, limits: RunOptions) -> None:
        self.limits, self.requests, self.cost = limits, 0, Decimal(0)
        self._clock = asyncio.get_running_loop().time
        self._started = self._clock()

    def take(self) -> None:
        """One more request, or BudgetSpent."""
        limits = self.limits
        if limits.max_requests is not None and self.requests >= limits.max_requests:
            raise BudgetSpent(f"max-requests {limits.max_requests} reached")
        if limits.max_seconds is not None and self._clock() - self._started >= limits.max_seconds:
            raise BudgetSpent(f"max-seconds {limits.max_seconds:g} reached")
        if limits.max_cost_usd is not None and self.cost >= Decimal(str(limits.max_cost_usd)):
            raise BudgetSpent(f"max-cost-usd {limits.max_cost_usd} reached")
        self.requests += 1

    def spend(self, cost: object) -> None:
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and cost > 0:
            self.cost += Decimal(str(cost))


class Pacer:
    """Spaces requests evenly, and holds all of them back when the target asks for a pause."""

    def __init__(self, rate: float | None) -> None:
        self._gap = 1 / rate if rate else 0.0
        self._clock = asyncio.get_running_loop().time
        self._next = 0.0

    def hold(self, seconds: float) -> None:
        self._next = max(self._next, self._clock() + seconds)

    async def turn(self) -> None:
        now = self._clock()
        mine = max(now, self._next)
        self._next = mine + self._gap if self._gap else self._next
        if mine > now:
            await asyncio.sleep(mine - now)


def wait_before(attempt: int, run_id: str, limits: RunOptions, retry_after: float | None) -> float:
    """Seconds before attempt number `attempt` (2, 3, …): what the target asked for, else a doubling backoff.

    The scatter comes from the run_id, so that the same run waits the same time.
    """
    if retry_after is not None:
        return min(retry_after, limits.longest_wait)
    scatter = int.from_bytes(hashlib.sha256(f"{run_id}/{attempt}".encode("utf-8", "replace")).digest()[:4], "big")
    share = 0.5 + scatter / 2**33
    return float(min(limits.backoff * 2 ** (attempt - 2), limits.longest_wait) * share)


class Execution:
    """One run of a plan against a target: the workers share its budget, its pace and its view of the target."""

    def __init__(self, target: Target, journal: Journal, options: TargetOptions, progress: Progress) -> None:
        self.target, self.journal, self.limits = target, journal, options
        self.secrets, self.progress = options.secrets, progress
        self.budget, self.pacer = Budget(options), Pacer(options.rate)
        self.finished = self.failed = self.reused = 0
        self.errors: Counter[str] = Counter()  # failures by kind
        self.first_error = ""
        self.stopped = ""  # why not everything was asked
        self._answers = 0
        self._held: list[dict[str, object]] = []  # unanswered runs in a row, written once the target is heard again

    async def run(self, requests: Iterable[list[Ask]], warmup: Iterable[Ask] = ()) -> None:
        """Ask everything; whatever ends it, what is finished is in the journal and on disk.

        Each request is a list of the runs that its response is for.
        """
        try:
            for ask in warmup:
                await self._attempts(ask)
            await self._all(iter(requests))
            self._release_held()
        except BudgetSpent as spent:
            self.stopped = str(spent)
            self._release_held()
        finally:
            try:
                await self.target.close()
            finally:
                self.journal.close()

    async def _all(self, requests: Iterator[list[Ask]]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, self.limits.concurrency)):
                    group.create_task(self._work(requests))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _work(self, requests: Iterator[list[Ask]]) -> None:
        """One worker: take the next request until there is none, or no budget."""
        for asks in requests:
            try:
                await self._answered(asks)
            except BudgetSpent as spent:
                self.stopped = self.stopped or str(spent)  # the others finish what they have begun
            if self.stopped:
                return
            if self.journal.due:
                await asyncio.to_thread(self.journal.sync)

    async def _answered(self, asks: Sequence[Ask]) -> None:
        """Runs that ask the same thing: the first response does for all. A failure is none, so the next run is sent."""
        for place, ask in enumerate(asks, 1):
            if self.stopped:
                return
            record, kind = await self._attempts(ask)
            self._keep(record, kind)
            if "error" not in record:
                for other in asks[place:]:
                    self._write(reused(record, other))
                    self.reused += 1
                return

    async def _attempts(self, ask: Ask) -> tuple[dict[str, object], str]:
        """The record of one run, and the kind of its failure ("" for none)."""
        clock = asyncio.get_running_loop().time
        began, attempt = clock(), 0
        while True:
            attempt += 1
            await self.pacer.turn()
            self.budget.take()
            trace, elapsed, failure = await ask_once(self.target, ask, self.limits.timeout)
            if failure is None or not failure.retry or attempt > self.limits.retries:
                break
            wait = wait_before(attempt + 1, ask.run_id, self.limits, failure.retry_after)
            if failure.retry_after is not None:
                self.pacer.hold(wait)
            await asyncio.sleep(wait)
        self.budget.spend(trace.get("cost_usd"))
        record = record_of(ask, trace, elapsed, failure, replays=self.target.replays)
        record |= self.journal.header.marks
        record["attempts"] = attempt
        record["total_ms"] = round((clock() - began) * 1000, 3)
        return record, failure.kind if failure else ""

    def _keep(self, record: dict[str, object], kind: str) -> None:
        """Write a finished run. Unanswered ones wait: if the target is gone, a resume shall ask them again."""
        if kind in _UNANSWERED or (kind == "timeout" and not self._answers):
            self._held.append(record)
            if len(self._held) >= self.limits.breaker:
                raise self._gone()
            return
        self._answers += 1
        self._flush()
        self._write(record)

    def _release_held(self) -> None:
        """At the end: write what is held back, unless the target was never heard at all."""
        if self._held and not self._answers:
            raise self._gone()
        self._flush()

    def _flush(self) -> None:
        while self._held:
            self._write(self._held.pop(0))

    def _write(self, record: dict[str, object]) -> None:
        record, line = written(record, self.secrets)
        self.journal.append_line(line)
        self.finished += 1
        if "error" in record:
            self.failed += 1
            self.errors[str(record["error"]).partition(":")[0]] += 1
            self.first_error = self.first_error or self.secrets.hide(f"{record['qid']}: {record['error']}")
        self.progress.update(failed="error" in record)

    def _gone(self) -> EnvironmentFailure:
        since = f"stopped answering after {self._answers} runs" if self._answers else "did not answer once"
        return EnvironmentFailure(
            f"the target {since}: {self._held[-1]['error']}",
            where=self.secrets.hide(self.target.name),
            hint="Start it or check the address, then go on with --resume.",
            code="target-unreachable",
        )


async def ask_once(target: Target, ask: Ask, timeout: float) -> tuple[dict[str, object], float, AskFailed | None]:
    """One attempt within its deadline: the trace's fields, milliseconds to the last byte, and what went wrong.

    Whatever a target raises is a failed run, SystemExit and KeyboardInterrupt too; only what the user has to put right
    before anything can be asked, a ShipworthyError, ends the run.
    """
    clock = asyncio.get_running_loop().time
    began, trace, failure = clock(), {}, None
    deadline = asyncio.timeout(timeout)
    try:
        await make_ready(target)
        began = clock()  # starting a process is our doing
        async with deadline:
            trace = await target.ask(ask)
    except ShipworthyError:
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            raise
        failure = error if isinstance(error, AskFailed) else _raised(error)
    if deadline.expired():  # also where a target kept the news to itself
        trace, failure = {}, _late(timeout, failure)
    elif failure is None and not isinstance(trace, dict):
        trace, failure = {}, AskFailed("wrong-shape", f"the target gave {type(trace).__name__}, expected a dict")
    elapsed = trace.elapsed_ms if isinstance(trace, Timed) and failure is None else None
    return trace, (clock() - began) * 1000 if elapsed is None else elapsed, failure


async def make_ready(target: Target) -> None:
    if ready := getattr(target, "ready", None):
        await ready()


def _is_cancelled() -> bool:
    """Whether it is us who are asked to stop; a target may raise a CancelledError of its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _raised(error: BaseException) -> AskFailed:
    failure = AskFailed("python", visible(text_of(error), 200))
    failure.__cause__ = error
    return failure


def _late(timeout: float, failure: AskFailed | None) -> AskFailed:
    """The deadline passed. What had come before it is noted on what cancelled the target."""
    late = failure.__cause__.__cause__ if failure is not None and failure.__cause__ is not None else None
    seen = "\n".join(getattr(late, "__notes__", ()))
    return AskFailed("timeout", f"no whole answer within {timeout:g} s", seen=seen)


def record_of(
    ask: Ask, trace: dict[str, object], elapsed: float, failure: AskFailed | None, *, replays: bool = False
) -> dict[str, object]:
    """A trace as it is written: what was asked, what came back, how long it took."""
    record = _asked(ask)
    record |= {name: value for name, value in trace.items() if name not in _NOT_TAKEN}
    record |= _times(trace, elapsed, replays and failure is None)
    if failure is not None:
        record["error"] = str(failure)
    elif not record.get("error", True):
        del record["error"]  # "error": null or "" says that there was none
    if "error" in record:
        record["error"] = without_passwords(str(record["error"]))
    return record


def reused(record: dict[str, object], ask: Ask) -> dict[str, object]:
    """The record of a run whose request was sent for another run: the same response, which cost nothing again."""
    ours = {name: record[name] for name in ("sweep_id", "planned_runs")}
    ours |= {"reused_from": record["run_id"], "attempts": 0}
    return _asked(ask) | {name: value for name, value in record.items() if name not in (*_OURS, "cost_usd")} | ours


def _asked(ask: Ask) -> dict[str, object]:
    """What a record says of the run itself."""
    asked: dict[str, object] = {
        "qid": ask.qid,
        "run_id": ask.run_id,
        "seed": ask.seed,
        "jitter": ask.jitter,
        "q": ask.question,
        "ts": round(time.time(), 3),
    }
    if ask.paraphrase:
        asked["paraphrase"] = ask.paraphrase
    if ask.temperature is not None:
        asked["temperature"] = ask.temperature
    return asked | ({"arm": ask.arm, "knobs": ask.knobs} if ask.arm else {})


def _times(trace: dict[str, object], elapsed: float, replays: bool) -> dict[str, object]:
    """How long it took by our clock; a replayed run took as long as its file says, or the file does not say."""
    if replays:
        return {name: trace[name] for name in ("e2e_ms", "reused_from") if name in trace}
    told = {name: trace["e2e_ms"] for name in ("e2e_ms",) if name in trace}
    first = trace.ttft_ms if isinstance(trace, Timed) else None
    return (
        {"e2e_ms": round(elapsed, 3)}
        | ({"reported_e2e_ms": told["e2e_ms"]} if told else {})
        | ({"ttft_ms": round(first, 3)} if first is not None else {})
    )


def written(record: dict[str, object], secrets: Secrets) -> tuple[dict[str, object], bytes]:
    """A record and its line, which holds no secret and which the reader accepts; else those of a failed run."""
    try:
        line = encoded(record)
        if secrets.within(line):
            line = encoded(secrets.hide_all(record))
    except RecursionError:
        return _unwritten(record, secrets, "too-deep: the trace is nested too deeply to be written")
    except (TypeError, ValueError, OverflowError) as error:
        return _unwritten(record, secrets, f"wrong-shape: the trace has no JSON form: {visible(text_of(error), 200)}")
    if len(line) >= MAX_LINE:
        return _unwritten(record, secrets, f"too-large: the trace is a line of {len(line):,} bytes")
    return record, line


def _unwritten(record: dict[str, object], secrets: Secrets, error: str) -> tuple[dict[str, object], bytes]:
    """What was asked, without the answer that can't be written: a failed run, and counted as one."""
    failed = {name: record[name] for name in (*_OURS, "e2e_ms") if name in record} | {"error": error}
    return failed, encoded(secrets.hide_all(failed))


def header_of(plan: Plan, target: Target, options: TargetOptions, planned: int | None = None) -> Header:
    """What a resume must have in common with the first run: who is asked what, not how fast."""
    name = options.secrets.hide(target.name)
    config: dict[str, object] = {
        "target": name,
        "mapping": dict(options.mapping) if isinstance(options.mapping, Mapping) else list(options.mapping),
        "seeds": plan.seeds,
        "jitters": plan.jitters,
        "paraphrases": plan.paraphrases,
        "arms": plan.arms,
        "profile": plan.profile,
    }
    further: dict[str, object] = {"temperatures": [heat for heat in plan.temperatures if heat is not None]}
    further |= {"method": options.method, "query": dict(options.query), "body": options.body}
    config |= {name: value for name, value in further.items() if value}
    asked, configured, created = gold_digest(plan.questions), digest_of(config), datetime.now(UTC)
    sweep = digest_of([asked, configured, created.isoformat(), os.getpid()])[:12]
    return Header(
        config_digest=configured,
        gold_digest=asked,
        sweep_id=sweep,
        created=created.isoformat("T", "seconds"),
        planned=len(plan) if planned is None else planned,
        target=name,
    )
