"""Flaky: questions whose result goes back and forth over the recorded runs of one gold set, project and branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from statistics import median

import msgspec

from . import History, RecordedRun

FAILURES = 3  # separate ones: two may be a break and its repair
# A run is an outage where it has this many more failures than usual: questions, share of them, and times the spread.
_MORE, _SHARE, _SPREAD = 3, 0.1, 4
_MAD = 1.4826  # makes the median distance from the median comparable with a standard deviation


class FlakyItem(msgspec.Struct, frozen=True):
    """A question, how often it passed, and how often it failed anew after it had passed, outages aside."""

    qid: str
    runs: int
    passed: int
    failures: int
    strip: str  # a character for each run, oldest first: ✓ passed, ✗ failed, · left out, blank not there


class FlakyItems(msgspec.Struct, frozen=True):
    """The questions that keep changing, the most restless first; over which runs, and those left out as outages."""

    items: list[FlakyItem]
    runs: list[RecordedRun]
    outages: list[RecordedRun]


def flaky(
    history: History,
    *,
    suite: str = "answers",
    branch: str = "",
    project: str = "",
    last: int = 20,
    failures: int = FAILURES,
) -> FlakyItems:
    """The questions that failed at least so many separate times in the last runs.

    Runs count that are of the newest run's project, branch, gold set, definitions and profile, on all its questions.
    Those in which an unusual share failed are left out: an outage says nothing of a question.
    """
    runs = comparable(history, suite=suite, branch=branch, project=project)[-last:]
    results = list(history.results(runs))
    out = outages([(len(found) - sum(found.values()), len(found)) for found in results])
    names = sorted({name for found in results for name in found})
    items = [_item(name, results, out) for name in names]
    listed = sorted((one for one in items if one.failures >= failures), key=lambda one: (-one.failures, one.qid))
    return FlakyItems(listed, runs, [run for place, run in enumerate(runs) if place in out])


def comparable(history: History, *, suite: str, branch: str = "", project: str = "") -> list[RecordedRun]:
    """The runs that can be compared with the newest one on all its questions."""
    runs = [run for run in history.runs(suite=suite, branch=branch, project=project) if not run.subset]
    return [run for run in runs if run.beside(runs[-1]) and _terms(run) == _terms(runs[-1])]


def _terms(run: RecordedRun) -> tuple[str, ...]:
    return (run.gold, run.definitions, run.profile)


def outages(runs: Sequence[tuple[int, int]]) -> set[int]:
    """The places of the runs in which an unusual share failed; of each run it is told how many of how many did."""
    if not runs:
        return set()
    usual = median(count for count, _ in runs)
    spread = _MAD * median(abs(count - usual) for count, _ in runs)
    return {
        place
        for place, (count, total) in enumerate(runs)
        if count - usual >= max(_MORE, _SHARE * total, _SPREAD * spread)
    }


def failures(passed: Iterable[bool]) -> int:
    """How many separate times a question failed."""
    return sum(not one for one, _ in groupby(passed))


def _item(name: str, results: Sequence[Mapping[str, bool]], out: set[int]) -> FlakyItem:
    seen = [found[name] for place, found in enumerate(results) if name in found and place not in out]
    strip = "".join(
        " " if name not in found else "·" if place in out else "✓" if found[name] else "✗"
        for place, found in enumerate(results)
    )
    return FlakyItem(name, len(seen), sum(seen), failures(seen), strip)
