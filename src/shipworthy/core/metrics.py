"""Metrics: counts in, one exact number out; what is undefined says so."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Literal, cast

import msgspec

from .. import stats
from .tally import Tally

Better = Literal["higher", "lower"]
_LEVELS = (stats.ALPHA / 2, stats.ALPHA)  # of an interval, on either side, and of a bound
EVERY = ("*",)  # every item that fails counts against the metric


class Words(msgspec.Struct, frozen=True):
    """What people are told of a metric, or of a reason why an item fails; the glossary is made of these."""

    plain: str = ""  # what people call it; nothing where its own name says it
    definition: str = ""  # one sentence
    formula: str = ""
    cases: str = ""  # what a rate is a share of: "unanswerable questions"
    did: str = ""  # what the counted ones did: "were answered"
    gate: str = ""  # the default gate
    family: str = ""  # the name that several metrics share, such as `recall@{k}`; the words have the same braces
    general: Words | None = None  # the words of its family, of which these are filled in

    def fill(self, **parts: object) -> Words:
        """The words of one metric of a family: `fill(k=5)` writes `the first 5`."""
        texts = {name: getattr(self, name) for name in ("plain", "definition", "formula", "cases", "did")}
        filled = {name: text.format_map(parts).replace(" 1 runs", " 1 run") for name, text in texts.items()}
        return msgspec.structs.replace(self, **filled, general=self)

    def title(self, name: str) -> str:
        """The plain name with the short one in brackets: `cited right (chr)`, `convergence (λ, lambda_convergent)`."""
        if not self.plain or self.plain == name:
            return name
        return f"{self.plain[:-1]}, {name})" if self.plain.endswith(")") else f"{self.plain} ({name})"


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
    words: Words = Words()  # the metric's

    def __str__(self) -> str:
        if self.value is None:
            return "n/a"
        if self.kind == "rate":
            return f"{self.k}/{self.n} ({decimal(self.value)})"
        return f"{decimal(self.value)}{self.unit}" if self.kind != "count" else str(self.value)


class Metric(msgspec.Struct, frozen=True):
    """What every metric has: a name, its words, a better direction, and a range."""

    name: str
    words: Words = Words()
    better: Better = "higher"
    low: Fraction | None = Fraction(0)
    high: Fraction | None = Fraction(1)
    completes: bool = False  # a gate on it asks whether the data is complete, not whether it is good
    unit: str = ""
    against: tuple[str, ...] = ()  # reasons of the items that count against it; EVERY failing one, or not known
    could: str = ""  # the fact of the cases that the metric could be about; where there is none, it does not apply
    needs: tuple[str, ...] = ()  # values that each question it is about must have, or data is missing
    optional: bool = False  # where no question has them, a gate that nobody named does not apply

    @property
    def op(self) -> str:
        return ">=" if self.better == "higher" else "<="

    def measure(self, tally: Tally) -> Measure:
        raise NotImplementedError

    def applies(self, tally: Tally) -> bool:
        """False when the gold set has no item that this metric could be about."""
        return not self.could or tally[self.could] > 0


class Rate(Metric, frozen=True, kw_only=True):
    """Cases with one fact among cases with another.

    Where a question can have several cases (runs, rows), `groups` is the fact whose values are (of, among) of each
    question with more than one: cases of one question are not independent, so that proof goes by questions.
    """

    of: str
    among: str
    could: str = "items"
    groups: str = ""

    def measure(self, tally: Tally) -> Measure:
        k, n = tally[self.of], tally[self.among]
        value = Fraction(k, n) if n else None
        cases = self.words.cases or f"cases that are {self.among.replace('_', ' ')}"
        missing = "" if n else f"there are no {cases}"
        groups = tally.groups(self.groups) if self.groups else {}
        by_question = _by_question(groups, k, n) if groups else None
        interval, bounds = by_question or (stats.wilson(k, n), (None, None))
        return Measure(self.name, "rate", value, n, k, interval, bounds, missing=missing)


def _by_question(groups: Mapping[tuple[int | Fraction, ...], int], k: int, n: int) -> stats.Spread | None:
    single = n - sum(group[1] * count for group, count in groups.items())
    having = k - sum(group[0] * count for group, count in groups.items())
    counted: Counter[tuple[int | Fraction, int | Fraction]] = Counter(
        {(1, 1): int(having), (0, 1): int(single - having)}
    )
    for (part, whole), count in groups.items():
        counted[part, whole] += count
    return stats.pooled_spread(counted)


class Count(Metric, frozen=True, kw_only=True):
    """How many cases have one of these facts."""

    of: tuple[str, ...]
    high: Fraction | None = None

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
    """A percentile by linear interpolation, with the order statistic that bounds it.

    Where a question can have several values, `groups` is the fact whose values are those of each question with more
    than one. Each question then weighs the same, in equal parts among its values: see `stats.shortfall`.
    """

    of: str
    p: Fraction
    scale: Fraction = Fraction(1)  # values are counted as integers: microseconds for milliseconds
    groups: str = ""

    def measure(self, tally: Tally) -> Measure:
        values = tally.ordered(self.of)
        n = len(values)
        if not n:
            return Measure(self.name, "percentile", None, 0, unit=self.unit, missing=f"no value of {self.of}")
        groups, q = tally.groups(self.groups) if self.groups else {}, self.p / 100
        if groups:
            weighed, ranks = _weighed(tally.values(self.of), groups, q)
        else:
            weighed, ranks = values, (*stats.quantile_ranks(n, q), _lower_rank(n, q), stats.upper_rank(n, q))
        low, high, lower, upper = (self._at(weighed, rank) for rank in ranks)
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


UNITS = 720_720  # that a question weighs: it can be divided by 1 to 16; where it can't, runs weigh a little less


def _weighed(
    values: Mapping[int | Fraction, int], groups: Mapping[tuple[int | Fraction, ...], int], q: Fraction
) -> tuple[stats.Ordered[int | Fraction], tuple[int | None, ...]]:
    """The values by the weight of their question, and the places of the interval's and the bounds' edges among them."""
    weights = {value: count * UNITS for value, count in values.items()}
    for group, count in groups.items():
        for value in group:
            weights[value] -= count * (UNITS - UNITS // len(group))
    ordered = stats.Ordered(weights)
    questions = sum(values.values()) - sum((len(group) - 1) * count for group, count in groups.items())
    ranks: list[int | None] = []
    for level in _LEVELS:
        below, above = stats.shortfall(questions, 1 - q, level), stats.shortfall(questions, q, level)
        ranks.append(None if below is None else len(ordered) + 1 - math.ceil(below * UNITS))
        ranks.append(None if above is None else math.ceil(above * UNITS))
    return ordered, tuple(rank if rank and 1 <= rank <= len(ordered) else None for rank in ranks)


class Computed(Metric, frozen=True, kw_only=True):
    """A metric with a formula of its own, still from nothing but the tally."""

    formula: Callable[[Tally], Measure]

    def measure(self, tally: Tally) -> Measure:
        return self.formula(tally)


class Inapplicable(Metric, frozen=True, kw_only=True):
    """A metric of something that the pipeline is declared not to give: it has no value, and its gates don't apply."""

    why: str

    def measure(self, tally: Tally) -> Measure:
        return Measure(self.name, "rate", None, 0, 0, missing=self.why)

    def applies(self, tally: Tally) -> bool:
        return False


def without(listed: Iterable[Metric], names: Mapping[str, str]) -> list[Metric]:
    """The metrics, with those that can't be had (name → why) as ones that do not apply."""
    return [
        Inapplicable(one.name, one.words, one.better, one.low, one.high, why=names[one.name])
        if one.name in names
        else one
        for one in listed
    ]


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
