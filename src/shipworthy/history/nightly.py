"""Nightly: evidence that gathers run after run against a baseline of five, valid at every look.

Plain tests repeated every night raise false alarms. Here the first runs show which items are stable; a stable item
that turns counts once, when two further runs confirm it; the e-value of what was lost and gained alarms at 20.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from .. import stats
from ..reading.reports import passing
from ..text import plural, visible
from . import SHORT, History

BASELINE = 5  # runs that show which items are stable
CONFIRMED = 3  # runs in a row that differ: the flip, and two that confirm it


class Night(msgspec.Struct, frozen=True):
    """The evidence after one run."""

    name: str
    lost: int
    gained: int
    evidence: Fraction
    alarm: bool


class Nightly(msgspec.Struct, frozen=True):
    """What the runs after the baseline add up to."""

    nights: list[Night]
    stable: int
    flaky: list[str]
    lost: list[str] = []
    gained: list[str] = []
    waiting: list[str] = []  # turned, and not yet confirmed
    new: list[str] = []  # not in the baseline: they can't have changed
    missing_runs: int = 0  # how many the baseline still lacks

    @property
    def alarm(self) -> bool:
        return any(night.alarm for night in self.nights)

    def lines(self, left_out: int = 0) -> list[str]:
        """The evidence in words."""
        if self.missing_runs:
            return [f"{plural(self.missing_runs, 'more run')} until the baseline of {BASELINE} is complete"]
        says = [
            f"{'ALARM' if self.alarm else 'no alarm'}  {self.stable} stable items, {len(self.flaky)} flaky and left out"
        ]
        says += [
            f"  {night.name}  {night.lost} lost, {night.gained} gained, E = {float(night.evidence):.2f}"
            f"{'  ALARM' if night.alarm else ''}"
            for night in self.nights
        ]
        lists = (
            ("lost", self.lost),
            ("gained", self.gained),
            ("turned, not yet confirmed", self.waiting),
            ("flaky", self.flaky),
            ("not in the baseline", self.new),
        )
        says += [f"{title}: {', '.join(visible(name, 60) for name in names)}" for title, names in lists if names]
        if left_out:
            says.append(
                f"{plural(left_out, 'run')} left out: other gold set, definitions or profile than the newest run"
            )
        return says


def nightly(runs: Sequence[tuple[str, Mapping[str, bool]]]) -> Nightly:
    """The evidence over (name, passing items) in the order of the runs; the first five are the baseline."""
    baseline = [items for _, items in runs[:BASELINE]]
    if len(baseline) < BASELINE:
        return Nightly([], 0, [], missing_runs=BASELINE - len(baseline))
    names = sorted(set().union(*baseline))
    verdicts = {name: {items.get(name, False) for items in baseline} for name in names}
    stable = {name: next(iter(seen)) for name, seen in verdicts.items() if len(seen) == 1}
    streaks = dict.fromkeys(stable, 0)
    lost: list[str] = []
    gained: list[str] = []
    nights = []
    for night, items in runs[BASELINE:]:
        for name, passed in stable.items():
            streaks[name] = streaks[name] + 1 if items.get(name, False) != passed else 0
            if streaks[name] >= CONFIRMED and name not in lost and name not in gained:
                (lost if passed else gained).append(name)
        evidence = stats.e_value(len(lost), len(gained))
        nights.append(Night(night, len(lost), len(gained), evidence, stats.alarm(evidence)))
    waiting = [
        name for name, streak in streaks.items() if 0 < streak < CONFIRMED and name not in lost and name not in gained
    ]
    seen = set().union(*(items for _, items in runs[BASELINE:])) if len(runs) > BASELINE else set()
    return Nightly(
        nights,
        len(stable),
        [name for name in names if name not in stable],
        sorted(lost),
        sorted(gained),
        waiting,
        sorted(seen - set(names)),
    )


def nightly_of(history: History, *, suite: str, branch: str = "", since: str = "") -> tuple[Nightly, int]:
    """The evidence over the recorded runs of a suite, and how many of them could not be compared with the newest."""
    runs = history.runs(suite=suite, branch=branch)
    if since:
        first = history.find(since).seq
        runs = [run for run in runs if run.seq >= first]
    if not runs:
        return nightly([]), 0
    newest = runs[-1]
    alike = [
        run
        for run in runs
        if (run.gold, run.definitions, run.profile) == (newest.gold, newest.definitions, newest.profile)
    ]
    reports = history.reports(alike)
    named = [
        (f"{run.recorded_at[:16]} {run.id[:SHORT]}", passing(report))
        for run, report in zip(alike, reports, strict=True)
    ]
    return nightly(named), len(runs) - len(alike)
