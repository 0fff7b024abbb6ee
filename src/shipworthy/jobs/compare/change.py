"""Changes: a metric before and after, and everything that changed between two runs."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import msgspec

from ... import stats

Answer = Literal["improved", "regressed", "no regression beyond the slip", "unchanged", "inconclusive"]


class Change(msgspec.Struct, frozen=True):
    """A metric before and after."""

    metric: str
    old: Fraction | None
    new: Fraction | None
    worse: Fraction | None  # how much worse it got, in the metric's own unit; below 0 it got better
    slip: Fraction | None  # how much worse it may get
    answer: Answer | None  # None where it can't get worse: a metric without a direction
    interval: tuple[float, float] | None = None  # of new - old
    method: str = ""
    lost: list[str] = []
    gained: list[str] = []
    pairs: int = 0
    p: float | None = None  # of a drop
    n_needed: int | None = None  # items that could show that there is none
    unit: str = ""
    kind: str = ""
    p_gain: float | None = None  # of an improvement, where the items are known one by one
    excluded: bool | None = None  # whether a drop beyond the slip is excluded; None where nothing tests it

    @property
    def within_noise(self) -> bool | None:
        """Whether noise could explain the difference; None where nothing tests it."""
        p = self.p_gain if self.answer == "improved" and self.p_gain is not None else self.p
        if not self.worse or p is None:
            return None if p is None else True
        return p > float(stats.ALPHA)


def answer_of(worse: Fraction, slip: Fraction, flips: bool, excluded: bool) -> Answer:
    """One of five answers. A metric that got better improved, however much it may have slipped elsewhere."""
    if worse > slip:
        return "regressed"
    if worse < 0:
        return "improved"
    if not worse and not flips:
        return "unchanged"
    return "no regression beyond the slip" if excluded else "inconclusive"


class Comparison(msgspec.Struct, frozen=True):
    """Everything that changed between two runs of a suite."""

    suite: str
    changes: list[Change]
    lost: list[str]  # passed before, fails now
    gained: list[str]
    absent: list[str]  # in the base and not in the head: regressions
    new: list[str]  # in the head alone
    items: int
    p: float  # exact McNemar over all items, of a drop
    notes: list[str] = []

    @property
    def regressed(self) -> list[str]:
        return [change.metric for change in self.changes if change.answer == "regressed"]

    @property
    def verdict(self) -> Answer:
        """Any regression decides; more items gained than lost are an improvement; a doubtful drop is inconclusive."""
        if self.regressed or self.absent:
            return "regressed"
        answers = {change.answer for change in self.changes}
        if "improved" in answers and ("inconclusive" not in answers or len(self.gained) > len(self.lost)):
            return "improved"
        if "inconclusive" in answers:
            return "inconclusive"
        return "no regression beyond the slip" if "no regression beyond the slip" in answers else "unchanged"

    @property
    def proven(self) -> bool:
        """Whether a drop beyond the slip is excluded for every metric that has one."""
        return all(change.excluded is not False for change in self.changes) and self.verdict != "regressed"
