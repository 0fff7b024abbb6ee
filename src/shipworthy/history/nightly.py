"""Nightly: whether repeated runs of the same questions got worse; may be looked at after every run.

Plain tests repeated every night raise false alarms, and so does any comparison with a few runs by which items were
chosen. Here nights are compared with each other by how many items pass. If nothing changed, the nights could have come
in any order, however flaky items are; `stats.drop_evidence` says how much likelier a change makes the order that was
seen. It is asked twice: of all items in all runs, and, because flaky items can hide a loss, of the items that passed in
each of the first five runs, in the runs after these. Each may alarm in one unchanged history of forty, so that both
together do in at most one of twenty.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise

import msgspec

from .. import stats
from ..text import plural, visible
from . import SHORT, History, RecordedRun

FIRST = 5  # runs that show which items pass reliably
LAST = 3  # runs in which an item must have turned to be listed as lost or gained


class Night(msgspec.Struct, frozen=True):
    """One run, and the evidence after it."""

    name: str
    passed: int  # of all items
    held: int  # of the items that passed in each of the first five runs
    evidence: float
    alarm: bool


class Nightly(msgspec.Struct, frozen=True):
    """What the runs add up to."""

    nights: list[Night]
    items: int
    reliable: int  # items that passed in each of the first five runs
    flaky: list[str]  # items that did not agree in these five
    lost: list[str] = []  # passed in each of the first five runs, failed in each of the last three
    gained: list[str] = []  # the other way round
    waiting: list[str] = []  # turned in the last run, and not yet in three
    new: list[str] = []  # not in the first five runs: they can't have changed
    missing_runs: int = 0  # how many are needed before there can be evidence
    gold_change: str = ""  # since when the gold set is another, where runs on the one before are left out

    @property
    def alarm(self) -> bool:
        return any(night.alarm for night in self.nights)

    def lines(self, left_out: int = 0) -> list[str]:
        """The evidence in words."""
        if self.missing_runs:
            note = [f"{self.gold_change}: earlier runs are left out"] if self.gold_change else []
            return [f"{plural(self.missing_runs, 'more run')} needed before there can be evidence", *note]
        found, size = "ALARM" if self.alarm else "no alarm", plural(self.items, "item")
        lines = [
            f"{found}  {plural(len(self.nights), 'run')}, {size}: "
            f"{self.reliable} passed in each of the first {FIRST} runs, {len(self.flaky)} differed"
        ]
        lines += [
            f"  {night.name}  {night.passed} of {self.items} pass, {night.held} of {self.reliable} still, "
            f"E = {night.evidence:.2f}{'  ALARM' if night.alarm else ''}"
            for night in self.nights
        ]
        lists = (
            (f"lost (failed in the last {LAST} runs)", self.lost),
            (f"gained (passed in the last {LAST} runs)", self.gained),
            ("changed, not yet confirmed", self.waiting),
            ("flaky", self.flaky),
            ("not in the first runs", self.new),
        )
        lines += [f"{title}: {', '.join(visible(name, 60) for name in names)}" for title, names in lists if names]
        if left_out:
            change = f"; {self.gold_change}" if self.gold_change else ""
            terms = "other gold set, definitions or profile than the newest run"
            lines.append(f"{plural(left_out, 'run')} left out: {terms}{change}")
        return lines


Results = Mapping[str, bool]  # item → whether it passed


def nightly(runs: Iterable[tuple[str, Results]]) -> Nightly:
    """The evidence over (name, passing items) in the order of the runs. An item that is gone does not pass.

    Runs are looked at once, one after the other: of ten thousand only the first five and the last three are kept.
    """
    following = iter(runs)
    first = list(islice(following, FIRST))
    after = next(following, None)
    if after is None:
        return Nightly([], 0, 0, [], missing_runs=FIRST + 1 - len(first))
    names = sorted(set().union(*(items for _, items in first)))
    agreed = {name: {items.get(name, False) for _, items in first} for name in names}
    counted = _Counted(names, [name for name in names if agreed[name] == {True}])
    for night, items in chain(first, [after], following):
        counted.add(night, items)
    before = {name: met == {True} for name, met in agreed.items() if len(met) == 1}
    return Nightly(
        counted.nights(),
        len(names),
        len(counted.held),
        [name for name in names if len(agreed[name]) > 1],
        *_turned(list(counted.last)[FIRST - len(counted.passed) :], before),
        new=sorted(counted.new),
    )


class _Counted:
    """What is kept of each run: how many items pass. Of the last few runs it is the items themselves."""

    def __init__(self, names: list[str], held: list[str]) -> None:
        self.names, self.held = names, held
        self.called: list[str] = []
        self.passed: list[int] = []
        self.kept: list[int] = []
        self.last: deque[Results] = deque(maxlen=LAST)
        self.new: set[str] = set()

    def add(self, night: str, items: Results) -> None:
        self.called.append(night)
        self.passed.append(_passing(items, self.names))
        self.kept.append(_passing(items, self.held))
        self.last.append(items)
        if items.keys() - self._known:
            self.new |= items.keys() - self._known

    @cached_property
    def _known(self) -> set[str]:
        return set(self.names)

    def nights(self) -> list[Night]:
        of_all, of_held = stats.drop_evidence(self.passed), [0.0] * FIRST + stats.drop_evidence(self.kept[FIRST:])
        evidence = [max(pair) / 2 for pair in zip(of_all, of_held, strict=True)]
        return [
            Night(name, of_names, of_reliable, found, found >= stats.ALARM)
            for name, of_names, of_reliable, found in zip(self.called, self.passed, self.kept, evidence, strict=True)
        ]


def _passing(items: Results, names: list[str]) -> int:
    return sum(items.get(name, False) for name in names)


def _turned(last: Sequence[Results], before: Results) -> tuple[list[str], list[str], list[str]]:
    """Lost, gained, and turned but not yet for three runs, of the items that agreed in the first five.

    `last` are the last runs after these five, at most three.
    """
    now = {name: [items.get(name, False) for items in last] for name in before}
    turned = [name for name in before if now[name][-1] != before[name]]
    sure = {name for name in turned if len(last) == LAST and len(set(now[name])) == 1}
    lost, gained = ([name for name in turned if name in sure and before[name] is was] for was in (True, False))
    return lost, gained, [name for name in turned if name not in sure]


def nightly_of(
    history: History, *, suite: str, branch: str = "", project: str = "", since: str = ""
) -> tuple[Nightly, int]:
    """The evidence over the recorded runs of a suite, in the newest one's project and branch.

    And how many of these could not be compared with it; a change of the gold set among them is noted.
    """
    runs = history.runs(suite=suite, branch=branch, project=project)
    if since:
        first = history.find(since).seq
        runs = [run for run in runs if run.seq >= first]
    if not runs:
        return nightly([]), 0
    newest = next((run for run in reversed(runs) if not run.subset), runs[-1])
    runs = [run for run in runs if run.beside(newest)]
    alike = [
        run
        for run in runs
        if (run.gold, run.definitions, run.profile, run.subset)
        == (newest.gold, newest.definitions, newest.profile, newest.subset)
    ]
    named = (
        (f"{run.recorded_at[:16]} {run.id[:SHORT]}", results)
        for run, results in zip(alike, history.results(alike), strict=True)
    )
    found = nightly(named)
    return msgspec.structs.replace(found, gold_change=_gold_change(runs, newest)), len(runs) - len(alike)


def _gold_change(runs: Sequence[RecordedRun], newest: RecordedRun) -> str:
    """Since when the gold set is the one of the newest run, where it was another before; else blank."""
    whole = [run for run in runs if not run.subset]
    changed = next((one for before, one in reversed(list(pairwise(whole))) if before.gold != one.gold), None)
    if changed is None or changed.gold != newest.gold:
        return ""
    release = f" to release {changed.gold_release}" if changed.gold_release else ""
    return f"the gold set changed{release} before {changed.where}, {changed.recorded_at[:10]}"
