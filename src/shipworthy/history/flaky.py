"""Flaky: questions whose result goes back and forth over the recorded runs of one gold set."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from . import History


class FlakyItem(msgspec.Struct, frozen=True):
    """A question, how often it passed, and how often its result turned from one run to the next."""

    qid: str
    runs: int
    passed: int
    turns: int


def flaky(
    history: History, *, suite: str = "answers", branch: str = "", last: int = 20, turns: int = 2
) -> tuple[list[FlakyItem], int]:
    """The questions that turned at least so often, the most restless first, and over how many runs.

    One turn is a change that stayed, such as a repair. Runs on another gold set, by other definitions or on a subset
    are left out.
    """
    runs = [run for run in history.runs(suite=suite, branch=branch) if not run.subset]
    if not runs:
        return [], 0
    newest = (runs[-1].gold, runs[-1].definitions, runs[-1].profile)
    alike = [run for run in runs if (run.gold, run.definitions, run.profile) == newest][-last:]
    results: dict[str, list[bool]] = {}
    for run in history.results(alike):
        for name, passed in run.items():
            results.setdefault(name, []).append(passed)
    found = [
        FlakyItem(name, len(seen), sum(seen), sum(one != two for one, two in pairwise(seen)))
        for name, seen in results.items()
    ]
    listed = [one for one in found if one.turns >= turns]
    return sorted(listed, key=lambda one: (-one.turns, one.qid)), len(alike)
