"""Tally: a multiset of facts that adds up to the same total in any order and from any split.

A suite declares the names of its facts. Once a tally knows them, counting or reading any other name is an error: a
misspelt fact would be 0 of n, and pass every gate that asks for little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ..stats import Ordered

Fact = str | tuple[str, int | Fraction]  # "shipped", or a value that was seen: ("latency_us", 81234)
HAS, LACKS = "has ", "lacks "  # the two facts about a value that gates need; what a question lacks is one fact
_AND = "\x1f"  # between the values in it
NAMED = 20  # how many qids are kept behind a fact, the smallest first, so that any split keeps the same ones


def group(name: str, values: tuple[int | Fraction, ...]) -> Fact:
    """The fact that one question has these values together; `Tally.groups` gives them back."""
    return cast(Fact, (name, values))


class UndeclaredFact(LookupError):
    """A fact that the suite did not declare: a mistake in the suite, never in the data."""


class FactNames:
    """The names of a suite's facts; one that ends in `*` stands for all that begin so."""

    def __init__(self, names: Iterable[str]) -> None:
        listed = set(names)
        self._families = tuple(name[:-1] for name in listed if name.endswith("*"))
        self._names = {name for name in listed if not name.endswith("*")}

    def check(self, fact: str) -> None:
        if fact in self._names:
            return
        if fact.startswith(LACKS):
            for value in fact.removeprefix(LACKS).split(_AND):
                self.check(HAS + value)
        elif not (self._families and fact.startswith(self._families)):
            raise UndeclaredFact(f"no fact is called {fact!r}: add it to the facts that the suite declares")


def held(has: Iterable[str], lacks: Iterable[str]) -> list[Fact]:
    """The facts that a question has some values and lacks others which a gate may need."""
    facts: list[Fact] = [HAS + value for value in sorted(has)]
    return [*facts, LACKS + _AND.join(sorted(lacks))] if lacks else facts


def more_held(facts: Iterable[Fact], has: Iterable[str] = (), lacks: Iterable[str] = ()) -> tuple[Fact, ...]:
    """Such facts with further values; what one run of a question lacks, the question lacks."""
    known, missing = set(has), set(lacks)
    for fact in map(str, facts):
        if fact.startswith(LACKS):
            missing.update(fact.removeprefix(LACKS).split(_AND))
        else:
            known.add(fact.removeprefix(HAS))
    return tuple(held(known, missing))


def lacks_of(facts: Iterable[Fact]) -> list[str]:
    """Those of the facts whose questions are named."""
    return [str(fact) for fact in facts if str(fact).startswith(LACKS)]


class Tally:
    """Counts of facts, over everything and per slice, with a few names behind each listed fact."""

    __slots__ = ("_declared", "_ordered", "counts", "names", "slices")

    def __init__(self, counts: Mapping[Fact, int] | None = None) -> None:
        self.counts: Counter[Fact] = Counter(counts or {})
        self._ordered: dict[str, Ordered[int | Fraction]] = {}  # sorted once for all percentiles of a name
        self._declared: FactNames | None = None
        self.slices: dict[str, Counter[Fact]] = {}
        self.names: dict[str, list[str]] = {}

    def declare(self, names: FactNames) -> None:
        """From now on only these facts can be read; each that was counted must be one of them."""
        for fact in {fact if isinstance(fact, str) else fact[0] for fact in self.counts}:
            names.check(fact)
        self._declared = names

    def count(self, facts: Iterable[Fact], slices: Iterable[str] = (), times: int = 1, whole: bool = True) -> None:
        """Count facts over everything (`whole`) and in slices."""
        facts = tuple(facts)
        for counts in (
            *((self.counts,) if whole else ()),
            *(self.slices.setdefault(name, Counter()) for name in slices),
        ):
            for fact in facts:
                counts[fact] += times
        self._ordered.clear()

    def name(self, fact: str, qid: str) -> None:
        """Remember a name behind a fact."""
        names = self.names.setdefault(fact, [])
        names.append(qid)
        if len(names) > 4 * NAMED:
            self.names[fact] = sorted(set(names))[:NAMED]

    def named(self, fact: str) -> list[str]:
        return sorted(set(self.names.get(fact, ())))[:NAMED]

    def slice(self, name: str) -> Tally:
        part = Tally(self.slices.get(name, Counter()))
        part._declared = self._declared
        return part

    def __getitem__(self, fact: Fact) -> int:
        if self._declared is not None:
            self._declared.check(fact if isinstance(fact, str) else fact[0])
        return self.counts.get(fact, 0)

    def lacking(self, values: Collection[str]) -> dict[str, int]:
        """The facts of questions that lack one of these values, and how many questions each is of."""
        wanted = set(values)
        return {
            fact: count
            for fact, count in self.counts.items()
            if isinstance(fact, str) and fact.startswith(LACKS) and not wanted.isdisjoint(fact[6:].split(_AND))
        }

    def values(self, fact: str) -> dict[int | Fraction, int]:
        """The multiset of values seen under a name."""
        if self._declared is not None:
            self._declared.check(fact)
        return {key[1]: count for key, count in self.counts.items() if isinstance(key, tuple) and key[0] == fact}

    def ordered(self, fact: str) -> Ordered[int | Fraction]:
        """The values in order. They are added with facts, so that what was sorted holds until more are counted."""
        if fact not in self._ordered:
            from ..stats import Ordered

            self._ordered[fact] = Ordered(self.values(fact))
        return self._ordered[fact]

    def groups(self, fact: str) -> dict[tuple[int | Fraction, ...], int]:
        """The groups of values that were counted under a name: what several runs of one question have."""
        return cast(dict[tuple[int | Fraction, ...], int], self.values(fact))

    def __add__(self, other: Tally) -> Tally:
        total = Tally(self.counts + other.counts)
        for name in {*self.slices, *other.slices}:
            total.slices[name] = self.slices.get(name, Counter()) + other.slices.get(name, Counter())
        for fact in {*self.names, *other.names}:
            total.names[fact] = sorted({*self.names.get(fact, ()), *other.names.get(fact, ())})[:NAMED]
        return total

    def __iadd__(self, other: Tally) -> Tally:
        self.counts.update(other.counts)
        self._ordered.clear()
        for name, counts in other.slices.items():
            self.slices.setdefault(name, Counter()).update(counts)
        for fact, names in other.names.items():
            self.names[fact] = sorted({*self.names.get(fact, ()), *names})[:NAMED]
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        facts = {*self.names, *other.names}
        return (
            +self.counts == +other.counts
            and {name: +counts for name, counts in self.slices.items()} == other.slices
            and all(self.named(fact) == other.named(fact) for fact in facts)
        )

    __hash__ = None  # type: ignore[assignment]
