"""Sweep: ask a target everything in a plan, and journal the traces."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice

import msgspec

from ..core.sources import read_gold
from ..errors import UsageError
from ..text import plural
from ..web.blocking import run_blocking
from .execute import Execution, header_of
from .journal import Journal
from .pace import Limits
from .plan import Arm, Plan, Question, make_plan
from .progress import Progress, progress_for
from .targets import Target, TargetOptions, parse_target
from .targets.base import MappedTarget


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did."""

    out: str
    sweep_id: str
    planned: int
    resumed: int  # finished before this call
    finished: int  # finished by it, failures included
    failed: int  # runs in the file that carry an error
    requests: int
    reused: int = 0  # runs of this call that took the response of another
    cost_usd: str
    seconds: float
    distinct_prompts: int
    errors: dict[str, int] = {}  # failures of this call by kind: http-500, timeout, …
    first_error: str = ""
    stopped: str = ""  # why not everything was asked; empty if it was
    unmatched: dict[str, tuple[str, str]] = {}  # mapped fields that no response had → what they have, the flag to try

    def check_mapping(self, where: str = "--map") -> None:
        """A field that was mapped and never came is an error: scores without it would mislead."""
        for field, (names, likely) in self.unmatched.items():
            have = "which has" if self.finished == 1 else "which have"
            path = f"Try {likely}" if likely else f"Correct the path of {field}"
            raise UsageError(
                f"the mapping of {field} matches nothing in {plural(self.finished, 'response')}, {have} {names}",
                where=where,
                hint=f"{path}, or leave it out. Then run again.",
                code="map-nothing",
            )

    @property
    def complete(self) -> bool:
        return self.resumed + self.finished == self.planned


def run(
    gold: str | os.PathLike[str] | Iterable[Question],
    target: str | Target,
    out: str | os.PathLike[str],
    *,
    seeds: Sequence[int] = (0,),
    jitters: Sequence[str] = ("none",),
    paraphrases: bool = False,
    arms: Sequence[Arm] | Mapping[str, Mapping[str, object]] | None = None,
    profile: str = "strict",
    temperatures: Sequence[float] = (),
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
    dedupe: bool = True,
    options: TargetOptions | None = None,
    limits: Limits | None = None,
    progress: bool = False,
    announce: Callable[[str], None] | None = None,
) -> RunSummary:
    """Ask the target every question of a gold set (a path, or its items) and journal the traces to `out`.

    Ctrl-C raises KeyboardInterrupt after the journal is closed; what was finished is kept. `limits` replaces the
    single limits where more of them are needed. A question that a jitter leaves as it is isn't sent again, unless
    `dedupe` is off. `announce` is told what will be sent before anything is.
    """
    limits = limits or Limits(
        concurrency=concurrency,
        rate=rate,
        timeout=timeout,
        retries=retries,
        max_requests=max_requests,
        max_seconds=max_seconds,
        max_cost_usd=None if max_cost_usd is None else Decimal(str(max_cost_usd)),
    )
    questions = read_gold(gold) if isinstance(gold, (str, os.PathLike)) else gold
    plan = make_plan(
        questions,
        seeds=seeds,
        jitters=jitters,
        paraphrases=paraphrases,
        arms=arms,
        profile=profile,
        temperatures=temperatures,
    )
    options = options or TargetOptions(connections=max(64, limits.concurrency))
    # Before the loop runs, so that Ctrl-C ends an import that takes long.
    asked = parse_target(target, options) if isinstance(target, str) else target
    running = run_async(
        plan,
        asked,
        out,
        limits=limits,
        warmup=warmup,
        resume=resume,
        overwrite=overwrite,
        dedupe=dedupe,
        options=options,
        progress=progress,
        announce=announce,
    )
    return run_blocking(running)


async def run_async(
    plan: Plan,
    target: str | Target,
    out: str | os.PathLike[str],
    *,
    limits: Limits,
    warmup: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    dedupe: bool = True,
    options: TargetOptions | None = None,
    progress: bool = False,
    announce: Callable[[str], None] | None = None,
) -> RunSummary:
    """`run` for a plan, within a loop that is running already."""
    options = options or TargetOptions(connections=max(64, limits.concurrency))
    asked = parse_target(target, options) if isinstance(target, str) else target
    clock = asyncio.get_running_loop().time
    began = clock()
    journal = Journal(out, header_of(plan, asked, options), resume=resume, overwrite=overwrite)
    resumed, failed_before = len(journal.finished), journal.failed
    alike = dedupe and getattr(asked, "by_wording", False)
    if announce:
        requests = sum(1 for _ in plan.requests(journal.finished, alike=alike))
        announce(_to_send(requests, len(plan) - resumed, warmup, limits, options.secrets.hide(asked.name)))
    shown = progress_for(len(plan), resumed) if progress else Progress(len(plan), resumed)
    execution = Execution(asked, journal, limits, options.secrets, shown)
    try:
        await execution.run(plan.requests(journal.finished, alike=alike), islice(plan, warmup))
    finally:
        shown.close()
    return RunSummary(
        out=os.fspath(out),
        sweep_id=journal.header.sweep_id,
        planned=len(plan),
        resumed=resumed,
        finished=execution.finished,
        failed=failed_before + execution.failed,
        requests=execution.budget.requests,
        reused=execution.reused,
        cost_usd=str(execution.budget.cost),
        seconds=round(clock() - began, 3),
        distinct_prompts=plan.distinct_prompts(),
        stopped=execution.stopped,
        errors=dict(sorted(execution.errors.items())),
        first_error=execution.first_error,
        unmatched=asked.unmatched() if isinstance(asked, MappedTarget) else {},
    )


def _to_send(requests: int, runs: int, warmup: int, limits: Limits, name: str) -> str:
    """What is about to be sent, so that its cost can be told before it is spent."""
    total = requests + warmup
    most = total if limits.max_requests is None else min(total, limits.max_requests)
    noun = "request" if total == 1 else "requests"
    number = f"{most:,} of {total:,}" if most < total else f"{total:,}"
    details = [f"{runs:,} runs", f"{runs - requests:,} reused"] if runs > requests else []
    details += [f"{warmup:,} to warm up"] if warmup else []
    counted = f" ({', '.join(details)})" if details else ""
    return f"Sending {number} {noun}{counted} to {name}"
