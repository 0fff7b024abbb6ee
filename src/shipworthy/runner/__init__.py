"""The runner: ask a live system and write traces.

gold ─ make_plan ─▶ Ask      one question, asked once: qid, seed, jitter, paraphrase, arm
     ─ Target ────▶ fields   http, chat, command, python, replay, demo
     ─ Execution ─▶ record   retries, budget, pace, deadline
     ─ Journal ───▶ line     one write, resumable
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

import msgspec

from .execute import Execution, header_of
from .jitter import JITTERS, jitter
from .journal import Journal
from .load import LoadSummary, run_load
from .pace import Limits
from .plan import Arm, Ask, Plan, Question, make_plan, read_arms
from .progress import Progress, progress_for
from .targets import Target, TargetOptions, parse_target

__all__ = [
    "JITTERS", "Arm", "Ask", "Journal", "Limits", "LoadSummary", "Plan", "RunSummary", "Target", "TargetOptions",
    "jitter", "make_plan", "parse_target", "read_arms", "run", "run_async", "run_load",
]  # fmt: skip


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did."""

    out: str
    sweep_id: str
    planned: int
    resumed: int  # finished before this call
    finished: int  # finished by it, failures included
    failed: int  # runs in the file that carry an error
    requests: int
    cost_usd: str
    seconds: float
    distinct_prompts: int
    errors: dict[str, int] = {}  # failures of this call by kind: http-500, timeout, …
    first_error: str = ""
    stopped: str = ""  # why not everything was asked; empty if it was

    @property
    def complete(self) -> bool:
        return self.resumed + self.finished == self.planned


def run(
    gold: Iterable[Question],
    target: str | Target,
    out: str | os.PathLike[str],
    *,
    seeds: Sequence[int] = (0,),
    jitters: Sequence[str] = ("none",),
    paraphrases: bool = False,
    arms: Sequence[Arm] | Mapping[str, Mapping[str, Any]] | None = None,
    profile: str = "strict",
    concurrency: int = 8,
    rate: float | None = None,
    timeout: float = 60.0,
    retries: int = 3,
    max_requests: int | None = None,
    max_seconds: float | None = None,
    max_cost_usd: Decimal | float | str | None = None,
    warmup: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    options: TargetOptions | None = None,
    limits: Limits | None = None,
    progress: bool = False,
) -> RunSummary:
    """Ask the target everything in the plan and journal the traces to `out`.

    Ctrl-C raises KeyboardInterrupt after the journal is closed; what was finished is kept. `limits` replaces the
    single limits where more of them are needed.
    """
    limits = limits or Limits(
        concurrency=concurrency, rate=rate, timeout=timeout, retries=retries, max_requests=max_requests,
        max_seconds=max_seconds, max_cost_usd=None if max_cost_usd is None else Decimal(str(max_cost_usd)),
    )  # fmt: skip
    plan = make_plan(gold, seeds=seeds, jitters=jitters, paraphrases=paraphrases, arms=arms, profile=profile)
    running = run_async(plan, target, out, limits=limits, warmup=warmup, resume=resume, overwrite=overwrite,
                        options=options, progress=progress)  # fmt: skip
    return _from_anywhere(running)


async def run_async(
    plan: Plan,
    target: str | Target,
    out: str | os.PathLike[str],
    *,
    limits: Limits,
    warmup: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    options: TargetOptions | None = None,
    progress: bool = False,
) -> RunSummary:
    """`run` for a plan, within a loop that is running already."""
    options = options or TargetOptions()
    asked = parse_target(target, options) if isinstance(target, str) else target
    began = time.monotonic()
    journal = Journal(out, header_of(plan, asked, options), resume=resume, overwrite=overwrite)
    resumed, failed_before = len(journal.finished), journal.failed
    shown = progress_for(len(plan), resumed) if progress else Progress(len(plan), resumed)
    execution = Execution(asked, journal, limits, options.secrets, shown)
    missing = (ask for ask in plan if ask.run_id not in journal.finished)
    try:
        await execution.run(missing, islice(plan, warmup))
    finally:
        shown.close()
    return RunSummary(
        out=os.fspath(out), sweep_id=journal.header.sweep_id, planned=len(plan), resumed=resumed,
        finished=execution.finished, failed=failed_before + execution.failed, requests=execution.budget.requests,
        cost_usd=str(execution.budget.cost), seconds=round(time.monotonic() - began, 3),
        distinct_prompts=plan.distinct_prompts(), stopped=execution.stopped,
        errors=dict(sorted(execution.errors.items())), first_error=execution.first_error,
    )  # fmt: skip


def _from_anywhere(running: Coroutine[Any, Any, RunSummary]) -> RunSummary:
    """Run a coroutine to its end, also where a loop is running already, as in a notebook."""
    if not _loop_is_running():
        return asyncio.run(running)
    outcome: list[tuple[RunSummary | None, BaseException | None]] = []

    def work() -> None:
        try:
            outcome.append((asyncio.run(running), None))
        except BaseException as error:  # raised again by the caller
            outcome.append((None, error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    found, error = outcome[0]
    if found is None:
        raise error or RuntimeError
    return found


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
