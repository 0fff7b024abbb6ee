"""Sweep: ask a target everything in a plan, and journal the traces."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from ..core.sources import read_gold
from ..errors import UsageError
from ..net.blocking import run_blocking
from ..reading.frames import library_of, rows_of
from ..text import plural
from .execute import Execution, header_of, make_ready
from .journal import Journal
from .plan import Plan, Question, make_plan
from .progress import Progress, progress_for
from .targets import Target, TargetOptions, parse_target
from .targets.base import MappedTarget, chosen


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
    gold: str | os.PathLike[str] | Iterable[Question] | Iterable[Mapping[str, Any]],
    target: str | Target,
    out: str | os.PathLike[str],
    *,
    options: TargetOptions | None = None,
    progress: bool = False,
    announce: Callable[[str], None] | None = None,
    **given: Any,
) -> RunSummary:
    """Ask the target every question of a gold set (a path, its items, or a table) and journal the traces to `out`.

    What is given by name are run options (`core/run_options.py`): seeds, jitters, concurrency, headers and so on, as
    the flags of `shipworthy run` have them. Ctrl-C raises KeyboardInterrupt after the journal is closed; what was
    finished is kept. `announce` is told what will be sent before anything is.
    """
    options = chosen(options, given)
    plan = make_plan(_questions(gold), options)
    asked = parse_target(target, options) if isinstance(target, str) else target
    return run_blocking(run_async(plan, asked, out, options=options, progress=progress, announce=announce))


def _questions(gold: Any) -> Iterable[Question]:
    """The items of a gold set, whatever holds them."""
    if isinstance(gold, (str, os.PathLike)):
        return read_gold(gold)
    items: list[Any] = rows_of(gold, "gold") if library_of(gold) else list(gold)
    return read_gold(items) if any(isinstance(item, Mapping) for item in items) else items


async def run_async(
    plan: Plan,
    asked: Target,
    out: str | os.PathLike[str],
    *,
    options: TargetOptions,
    progress: bool = False,
    announce: Callable[[str], None] | None = None,
) -> RunSummary:
    """`run` for a plan and a target, within a loop that is running already."""
    clock = asyncio.get_running_loop().time
    began = clock()
    try:
        await make_ready(asked)
        journal = Journal(out, header_of(plan, asked, options), resume=options.resume, overwrite=options.overwrite)
    except BaseException:
        await asked.close()
        raise
    resumed, failed_before = len(journal.finished), journal.failed
    alike = options.dedupe and getattr(asked, "by_wording", False)
    if announce:
        requests = sum(1 for _ in plan.requests(journal.finished, alike=alike))
        announce(_to_send(requests, len(plan) - resumed, options, asked.name))
    shown = progress_for(len(plan), resumed) if progress else Progress(len(plan), resumed)
    execution = Execution(asked, journal, options, shown)
    try:
        await execution.run(plan.requests(journal.finished, alike=alike), islice(plan, options.warmup))
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


def _to_send(requests: int, runs: int, options: TargetOptions, name: str) -> str:
    """What is about to be sent, so that its cost can be told before it is spent."""
    warmup = options.warmup
    total = requests + warmup
    most = total if options.max_requests is None else min(total, options.max_requests)
    noun = "request" if total == 1 else "requests"
    number = f"{most:,} of {total:,}" if most < total else f"{total:,}"
    details = [f"{runs:,} runs", f"{runs - requests:,} reused"] if runs > requests else []
    details += [f"{warmup:,} to warm up"] if warmup else []
    counted = f" ({', '.join(details)})" if details else ""
    return f"Sending {number} {noun}{counted} to {options.secrets.hide(name)}"
