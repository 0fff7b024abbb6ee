"""Once: records of which an input may have only one of a kind, such as the label of one rater for one item.

Who says something twice is known when all records of a question are together. So this holds wherever they are
gathered: the first counts, the others are problems of their lines.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

from ..reading.jsonl import Problem, Problems
from ..reading.limits import MAX_SHOWN

Placed = tuple[int, Any]  # a record with its place
Again = tuple[int, int, tuple[str, ...]]  # place of a repeated record, place of the first of its kind, what it repeats


class Once(msgspec.Struct, frozen=True):
    """What makes two records of an input duplicates, and the message about the second."""

    identity: Callable[[Any], tuple[str, ...]]  # a top-level function, so that it can be pickled
    says: str  # with a place for each part of the identity
    hint: str
    code: str
    lenient: bool = False

    def first_of(self, records: list[Placed], repeated: Repeated) -> list[Placed]:
        """The first record of each kind, in order of position."""
        first: dict[tuple[str, ...], Placed] = {}
        for pair in sorted(records, key=itemgetter(0)):
            identity = self.identity(pair[1])
            if identity in first:
                repeated.meet((pair[0], first[identity][0], identity))
            else:
                first[identity] = pair
        return list(first.values())

    def problems(self, path: str, found: Problems, repeated: Repeated) -> Problems:
        """The problems and duplicates of an input, in line order."""
        problems = Problems()
        problems.total, problems.unread = found.total + repeated.total, found.unread
        again = (self._problem(path, one) for one in repeated.first)
        problems.first = sorted([*found.first, *again], key=attrgetter("line"))[:MAX_SHOWN]
        return problems

    def _problem(self, path: str, again: Again) -> Problem:
        place, first, identity = again
        return Problem(path, place, f"{self.says.format(*identity)} (first on line {first})", self.hint, self.code)


class Repeated(msgspec.Struct):
    """Duplicate records: how many, and the first of them."""

    total: int = 0
    first: list[Again] = []

    def meet(self, again: Again) -> None:
        self.total += 1
        insort(self.first, again)
        del self.first[MAX_SHOWN:]

    def __iadd__(self, other: Repeated) -> Repeated:
        self.total += other.total
        self.first = sorted([*self.first, *other.first])[:MAX_SHOWN]
        return self
