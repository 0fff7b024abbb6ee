"""Metrics: counts in, one exact number out; what is undefined says so."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal, cast

import msgspec

from .. import stats
from ..glossary import find_term
from .tally import Tally

Better = Literal["higher", "lower"]
EVERY = ("*",)  # every item that fails counts against the metric


class Measure(msgspec.Struct, frozen=True):
    """A metric's value with its counts: k of n for a rate, n values behind a mean or a percentile."""

    name: str
    kind: str  # rate, count, mean, percentile, coefficient
    value: Fraction | None
    n: int
    k: int | None = None
    interval: tuple[float, float] | None = None  # two-sided 95 %, to show
    bounds: tuple[float | None, float | None] = (None, None)  # one-sided 95 %, to prove, where no exact test is used
    unit: str = ""
    missing: str = ""  # why there is no value
    better: str = ""  # higher or lower
    against: tuple[str, ...] = ()  # reasons of the items that count against it; EVERY failing one, or not known
    suite: str = ""  # whose metric it is, to find its words
    says: str = ""  # what the metric counts, in words

    def __str__(self) -> str:
        if self.value is None:
            return "n/a"
        if self.kind == "rate":
            return f"{self.k}/{self.n} ({decimal(self.value)})"
        return f"{decimal(self.value)}{self.unit}" if self.kind != "count" else str(self.value)


class Metric(msgspec.Struct, frozen=True):
    """What every metric has: a name, a better direction, a range, and a sentence."""

    name: str
    says: str
    better: Better = "higher"
    low: Fraction | None = Fraction(0)
    high: Fraction | None = Fraction(1)
    completes: bool = False  # a gate on it asks whether the data is complete, not whether it is good
    unit: str = ""
    against: tuple[str, ...] = ()  # reasons of the items that count against it; EVERY failing one, or not known
    suite: str = ""  # whose metric it is, to find its words
    could: str = ""  # the fact of the cases that the metric could be about; where there is none, it does not apply

    @property
    def op(self) -> str:
        return ">=" if self.better == "higher" else "<="

    def measure(self, tally: Tally) -> Measure:
        raise NotImplementedError

    def applies(self, tally: Tally) -> bool:
        """False when the gold set has no item that this metric could be about."""
        return not self.could or tally[self.could] > 0


class Rate(Metric, frozen=True, kw_only=True):
    """Cases with one fact among cases with another."""

    of: str
    among: str
    could: str = "items"

    def measure(self, tally: Tally) -> Measure:
        k, n = tally[self.of], tally[self.among]
        value = Fraction(k, n) if n else None
        missing = "" if n else f"there are no {self._cases}"
        return Measure(self.name, "rate", value, n, k, stats.wilson(k, n), missing=missing)

    @property
    def _cases(self) -> str:
        """What it is a share of, in words."""
        term = find_term(self.name, self.suite)
        return term.among if term and term.among else f"cases that are {self.among.replace('_', ' ')}"


class Count(Metric, frozen=True, kw_only=True):
    """How many cases have one of these facts."""

    of: tuple[str, ...]

    def measure(self, tally: Tally) -> Measure:
        k = sum(tally[fact] for fact in self.of)
        return Measure(self.name, "count", Fraction(k), tally["items"], k)


class Mean(Metric, frozen=True, kw_only=True):
    """The exact mean of the values seen under a name.

    Where its values have limits (low and high), its interval and its bounds hold whatever their distribution and
    however few they are. Where they have none, a single huge value that was not seen could move the mean anywhere:
    the interval is Student's, to show, and proves nothing.
    """

    of: str

    def measure(self, tally: Tally) -> Measure:
        values = tally.values(self.of)
        n = sum(values.values())
        if not n:
            missing = f"no value of {self.of}" if self.applies(tally) else "no case asks for it"
            return Measure(self.name, "mean", None, 0, unit=self.unit, missing=missing)
        value = stats.exact_sum(values) / n
        interval, bounds = self._spread(values)
        return Measure(self.name, "mean", value, n, interval=interval, bounds=bounds, unit=self.unit)

    def _spread(
        self, values: dict[int | Fraction, int]
    ) -> tuple[tuple[float, float] | None, tuple[float | None, float | None]]:
        if self.low is not None and self.high is not None and (found := stats.mean_spread(values, self.low, self.high)):
            return found
        shown = stats.mean_interval_of_counts(cast(dict[Fraction, int], values)) if len(values) > 1 else None
        if shown and self.low is not None:
            shown = max(shown[0], float(self.low)), shown[1]
        return shown, (None, None)


class Percentile(Metric, frozen=True, kw_only=True):
    """A percentile by linear interpolation, with the order statistic that bounds it."""

    of: str
    p: Fraction
    scale: Fraction = Fraction(1)  # values are counted as integers: microseconds for milliseconds

    def measure(self, tally: Tally) -> Measure:
        values = tally.ordered(self.of)
        n = len(values)
        if not n:
            return Measure(self.name, "percentile", None, 0, unit=self.unit, missing=f"no value of {self.of}")
        q = self.p / 100
        ranks = (*stats.quantile_ranks(n, q), _lower_rank(n, q), stats.upper_rank(n, q))
        low, high, lower, upper = (self._at(values, rank) for rank in ranks)
        value = values.percentile(self.p)
        assert value is not None
        return Measure(
            self.name,
            "percentile",
            value * self.scale,
            n,
            unit=self.unit,
            bounds=(lower, upper),
            interval=None if low is None or high is None else (low, high),
        )

    def _at(self, values: stats.Ordered[int | Fraction], rank: int | None) -> float | None:
        """The value of the given rank, counted from one."""
        return None if rank is None else float(values.at(rank) * self.scale)


def _lower_rank(n: int, q: Fraction) -> int | None:
    """The upper bound's rank, counted from the other end."""
    rank = stats.upper_rank(n, 1 - q)
    return None if rank is None else n + 1 - rank


class Computed(Metric, frozen=True, kw_only=True):
    """A metric with a formula of its own, still from nothing but the tally."""

    formula: Callable[[Tally], Measure]

    def measure(self, tally: Tally) -> Measure:
        return self.formula(tally)


def decimal(value: Fraction, digits: int = 3, against: Fraction | None = None) -> str:
    """The value cut to `digits` places, with more of them where it would seem to lie on its bound's other side.

    Never rounded towards the bar: 15999/20000 against 0.8 is 0.79995, not 0.800.
    """
    while True:
        text = f"{float(round(value, digits)):.{digits}f}"
        shown = Fraction(text)
        if against is None or value == against or digits >= 12:
            return text
        if (shown < against) == (value < against) and shown != against:
            return text
        digits += 1
