"""λ: did the runs of a question arrive at the same place? Read from the log, or derived from what they cite.

→ convergent    ← failed, cited nothing, or refused what is answerable    <> split    × collapse
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .sections import Section

STATES = ("→", "←", "<>", "×")
WORDINGS = 3  # paraphrases that a group needs, unless the gold lists fewer


class StatedRun(NamedTuple):
    """What a state depends on."""

    seed: str
    paraphrase: str
    logged: str | None
    failed: bool
    refused: bool  # refused, or cited nothing
    arrived: bool  # cites something relevant or the anchor section
    section: Section | str | None  # of the first citation; the block itself where its section is unknown


def derive(runs: Sequence[StatedRun], answerable: bool) -> list[str]:
    """The state of every run, given all the runs of its question."""
    if not answerable:
        every_run_answers = all(not run.refused for run in runs if not run.failed)
        return ["←" if run.failed else "→" if run.refused else "×" if every_run_answers else "<>" for run in runs]
    some_arrived = any(run.arrived and not run.failed and not run.refused for run in runs)
    return [_state(run, some_arrived) for run in runs]


def _state(run: StatedRun, some_arrived: bool) -> str:
    if run.failed or run.refused:
        return "←"
    if run.arrived:
        return "→"
    return "<>" if some_arrived else "×"


def states(runs: Sequence[StatedRun], answerable: bool) -> list[tuple[str, bool]]:
    """Each run's state, and whether it was derived."""
    derived = derive(runs, answerable)
    return [(run.logged or state, run.logged is None) for run, state in zip(runs, derived, strict=True)]


def wordings_needed(paraphrases: int) -> int:
    return max(1, min(WORDINGS, paraphrases))


def converged(runs: Sequence[StatedRun], stated: Sequence[tuple[str, bool]], needed: int) -> dict[str, bool | None]:
    """Per seed, whether its runs converge; None where too few paraphrases were run to say."""
    groups: dict[str, list[tuple[StatedRun, str]]] = {}
    for run, (state, _) in zip(runs, stated, strict=True):
        groups.setdefault(run.seed, []).append((run, state))
    return {seed: _group(members, needed) for seed, members in groups.items()}


def _group(members: Sequence[tuple[StatedRun, str]], needed: int) -> bool | None:
    """A group that has split already can't converge; one that has not, but lacks paraphrases, is undecided."""
    if any(state != "→" for _, state in members) or len({run.section for run, _ in members}) > 1:
        return False
    return True if len({run.paraphrase for run, _ in members}) >= needed else None
