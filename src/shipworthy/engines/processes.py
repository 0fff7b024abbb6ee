"""The processes engine: all cores of one machine. Workers read parts of the inputs, and judge groups of questions."""

from __future__ import annotations

from itertools import takewhile

import msgspec

from ..core.evaluate import judge, settle
from ..core.evidence import Evidence
from ..core.suite import Judged, Material, Suite
from . import cores, inline, spilled
from .inputs import needs_disk, splits
from .pool import run as in_processes
from .units import Plan, add_up, groups, judge_some, merge, part_size, read_unit

WORTH_SHARING = 4_000  # questions from which other processes judge some of them
TOGETHER = 2_000  # questions that one worker judges at a time


def run(
    suite: Suite, material: Material, *, jobs: int | None = None, part: int | None = None, start: str | None = None
) -> Judged:
    """Read and judge in so many processes; what can't be read in parts is read in one."""
    workers = jobs or cores()
    if workers < 2 or not splits(material):
        return inline.run(suite, material)
    if needs_disk(material):
        return spilled.run(suite, material, jobs=workers, part=part, start=start)
    plan = Plan(material, part or part_size(material, workers))
    failed: list[tuple[int, Exception]] = []
    units = takewhile(lambda _: not failed, plan)
    silent = msgspec.structs.replace(material, tick=None)  # workers have nobody to tell
    results = in_processes(read_unit, (suite, silent), units, workers, start)
    gathered = merge(suite, material, plan, results, failed)
    context = settle(suite, material, gathered)
    names = gathered.names(material.expected)
    if len(names) < WORTH_SHARING and part is None:
        return Judged(context, gathered, judge(suite, gathered.cases(material.expected), context))
    size = max(1, min(TOGETHER, len(names) // (4 * workers)))
    judged = in_processes(judge_some, (suite, context, gathered, silent), groups(names, size), workers, start)
    return Judged(context, gathered, add_up(Evidence(context.options.offenders), judged))
