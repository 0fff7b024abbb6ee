"""Pairing: what each item says about a metric, in both runs."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from operator import lt
from typing import Any, NamedTuple

import msgspec

from ..reading.reports import row_name
from ..suites import display_of

Value = int | Fraction  # most are yes or no
_TOLD = ("status", "state", "reason", "cited", "correct", "recall_rank")  # what the rules below read


class Rows:
    """What a comparison reads of a report's rows: of each its name, and the number of its kind.

    In what is read most rows are alike: each kind is kept once. An item takes eight bytes, and those of its name.
    """

    def __init__(self, report: Mapping[str, Any]) -> None:
        """`report` may be one without items, which are added later."""
        self._tells = display_of(report).tells
        self._metrics: Mapping[str, Any] = report.get("metrics", {})
        self._read = {*_TOLD, display_of(report).passes.field, *self._metrics}
        self.kinds: list[Mapping[str, Any]] = []
        self._numbers: dict[bytes | str, int] = {}  # of the kinds, by what they say
        self._names: list[bytes] = []  # as JSON, many at a time
        self._kind_of = array("I")
        self._last, self._ascending = "", True
        self.add(report.get("items", []))

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        names = [row_name(row) for row in rows]
        self._ascending = self._ascending and all(map(lt, (self._last, *names), names))
        self._last = names[-1] if names else self._last
        self._names.append(json.dumps(names).encode())
        self._kind_of.extend([self._number({key: row[key] for key in row if key in self._read}) for row in rows])

    def _number(self, told: Mapping[str, Any]) -> int:
        try:
            key: bytes | str = msgspec.json.encode(told)
        except (UnicodeEncodeError, OverflowError):
            key = repr(told)
        number = self._numbers.setdefault(key, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(told)
        return number

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """The name and the kind of each item, in the order of the names."""
        named = zip(chain.from_iterable(map(json.loads, self._names)), self._kind_of, strict=True)
        return named if self._ascending else iter(sorted(dict(named).items()))

    def alike(self, other: Rows) -> dict[int, int | None]:
        """For each kind, the number that it has in another report."""
        return {number: other._numbers.get(key) for key, number in self._numbers.items()}

    def told(self, name: str) -> list[Value | None]:
        """What each kind says about a metric; for a rate nothing, unless the items add up to its counts exactly."""
        rule = None if self._tells is None else self._tells(name)
        values = [_number(rule(row) if rule is not None and name not in row else row.get(name)) for row in self.kinds]
        measure = self._metrics.get(name, {})
        if measure.get("kind") != "rate":
            return values
        each = [(value, self._each[number]) for number, value in enumerate(values) if value is not None]
        sums = sum(value * count for value, count in each), sum(count for _, count in each)
        adds_up = (measure.get("numerator"), measure.get("denominator")) == sums
        return values if adds_up else [None] * len(values)

    @cached_property
    def _each(self) -> Counter[int]:
        """How many items there are of each kind."""
        return Counter(number for _, number in self)

    def values(self, name: str) -> dict[str, Value]:
        """What each item says about a metric, where it says anything."""
        told = self.told(name)
        return {item: value for item, number in self if (value := told[number]) is not None}


def _number(value: object) -> Value | None:
    if isinstance(value, int):  # or yes and no
        return value
    return Fraction(str(value)) if isinstance(value, float) else None


def narrowed(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report with as much of its rows as a comparison reads: questions and answers are most of a large one."""
    return {**report, "items": rows_of(report)}


def rows_of(report: Mapping[str, Any]) -> Rows:
    found = report.get("items")
    return found if isinstance(found, Rows) else Rows(report)


class Pairs(NamedTuple):
    """A metric in both runs: how often each two values meet, and by name the items of which they differ."""

    counts: Counter[tuple[Value, Value]]
    moved: list[tuple[str, Value, Value]]


class SideBySide:
    """The items of two runs: how often each two kinds meet, and by name those that are not alike or in one run only."""

    def __init__(self, base: Rows, head: Rows) -> None:
        self.base, self.head = base, head
        self._counts: Counter[tuple[int, int]] = Counter()
        self.moved: list[tuple[str, int, int]] = []
        self.alone: list[tuple[str, int | None]] = []  # with the kind in the base, None if it is in the head
        alike, old, new = base.alike(head), iter(base), iter(head)
        was, now = next(old, None), next(new, None)
        while was or now:
            if now is None or (was is not None and was[0] < now[0]):
                assert was is not None
                self.alone.append(was)
                was = next(old, None)
            elif was is None or now[0] < was[0]:
                self.alone.append((now[0], None))
                now = next(new, None)
            else:
                (name, before), (_, after) = was, now
                self._counts[before, after] += 1
                if alike[before] != after:
                    self.moved.append((name, before, after))
                was, now = next(old, None), next(new, None)

    def __len__(self) -> int:
        """How many items are in both runs."""
        return self._counts.total()

    def changed(self, was: Sequence[object], now: Sequence[object], how: tuple[object, object]) -> list[str]:
        """The items of whose kinds one thing was said before, and another now."""
        return [name for name, before, after in self.moved if (was[before], now[after]) == how]

    def pairs(self, name: str) -> Pairs:
        """The metric's value for each item that has one in both runs; none where the rows don't tell."""
        old, new = self.base.told(name), self.head.told(name)
        counts: Counter[tuple[Value, Value]] = Counter()
        for (before, after), count in self._counts.items():
            was, now = old[before], new[after]
            if was is not None and now is not None:
                counts[was, now] += count
        moved = []
        for item, before, after in self.moved:
            was, now = old[before], new[after]
            if was is not None and now is not None and was != now:
                moved.append((item, was, now))
        return Pairs(counts, moved)
