"""The processes engine: all cores of one machine. Workers read parts of the inputs, and judge groups of questions."""

from __future__ import annotations

from itertools import takewhile

from ..core.cases import Gathered
from ..core.evaluate import judge, settle
from ..core.evidence import Evidence
from ..core.inputs import Input
from ..core.suite import Judged, Material, Suite
from . import inline
from .pool import Failed, cores
from .pool import run as in_processes
from .units import Plan, groups, judge_some, nothing_read, part_size, read_unit, splits

WORTH_SHARING = 4_000  # questions from which other processes judge some of them


def run(
    suite: Suite, material: Material, *, jobs: int | None = None, part: int | None = None, start: str | None = None
) -> Judged:
    """Read and judge in so many processes; what can't be read in parts is read in one."""
    workers = jobs or cores()
    if workers < 2 or not splits(material):
        return inline.run(suite, material)
    gathered = _gathered(suite, material, workers, part or part_size(material, workers), start)
    context = settle(suite, material, gathered)
    names = gathered.names(material.expected)
    if len(names) < WORTH_SHARING and part is None:
        return Judged(context, gathered, judge(suite, gathered.cases(material.expected), context))
    evidence = Evidence(context.options.offenders)
    few = max(1, min(2_000, len(names) // (4 * workers)))
    shared = suite, context, gathered, material
    for _, result in in_processes(judge_some, shared, groups(names, few), workers, start):
        if isinstance(result, Failed):
            raise result.error
        evidence += result
    return Judged(context, gathered, evidence)


def _gathered(suite: Suite, material: Material, workers: int, part: int, start: str | None) -> Gathered:
    """The records of all parts; what is wrong with an input is told as if it had been read in one piece."""
    plan, gathered = Plan(material, part), nothing_read(suite, material)
    reads: dict[int, Input] = {}
    failed: list[tuple[int, Exception]] = []
    tick, material.tick = material.tick, None  # workers have nobody to tell
    units = takewhile(lambda _: not failed, plan)
    records = 0
    for number, result in in_processes(read_unit, (suite, material), units, workers, start):
        if isinstance(result, Failed):
            failed.append((number, result.error))
            continue
        reads[number] = result.read
        gathered.merge(result.gathered, material.keep)
        records += result.read.records
        if tick is not None:
            tick(records)
    plan.close(reads, min(failed, key=lambda pair: pair[0], default=None))
    return gathered
