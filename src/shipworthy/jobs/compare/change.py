"""Changes: a metric before and after, and everything that changed between two runs."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import msgspec

from ... import stats

Answer = Literal["regressed", "no regression beyond the slip", "can't tell"]


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

    @property
    def within_noise(self) -> bool | None:
        """Whether noise could explain the difference; None where nothing tests it."""
        if not self.worse or self.p is None:
            return None if self.p is None else True
        return self.p > float(stats.ALPHA)


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
        if self.regressed or self.absent:
            return "regressed"
        open_ends = [change for change in self.changes if change.answer == "can't tell"]
        return "can't tell" if open_ends else "no regression beyond the slip"
