"""Tally: a multiset of facts that adds up to the same total in any order and from any split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..stats import Ordered

Fact = str | tuple[str, int | Fraction]  # "shipped", or a value that was seen: ("latency_us", 81234)
BUNDLES = 1_000  # different verdicts that are counted whole, before they are taken apart
NAMED = 20  # how many qids are kept behind a fact, the smallest first, so that any split keeps the same ones


class Tally:
    """Counts of facts, over everything and per slice, with a few names behind each listed fact."""

    __slots__ = ("_bundles", "_counts", "_ordered", "names", "slices")

    def __init__(self, counts: Mapping[Fact, int] | None = None) -> None:
        self._counts: Counter[Fact] = Counter(counts or {})
        self._bundles: dict[tuple[Fact, ...], list[int]] = {}  # facts of one verdict → how often just these came
        self._ordered: dict[str, Ordered[int | Fraction]] = {}  # sorted once for all percentiles of a name
        self.slices: dict[str, Counter[Fact]] = {}
        self.names: dict[str, list[str]] = {}

    @property
    def counts(self) -> Counter[Fact]:
        """How often each fact was counted. Verdicts are much alike, so they are counted whole and taken apart here."""
        if self._bundles:
            self._take_apart()
        return self._counts

    def _take_apart(self) -> None:
        for facts, (times,) in self._bundles.items():
            for fact in facts:
                self._counts[fact] += times
        self._bundles.clear()
        self._ordered.clear()

    def count(self, facts: Iterable[Fact], slices: Iterable[str] = (), times: int = 1) -> None:
        facts = tuple(facts)
        self._bundles.setdefault(facts, [0])[0] += times  # looked up once: fractions take long to hash
        if len(self._bundles) > BUNDLES:
            self._take_apart()
        for name in slices:
            counts = self.slices.setdefault(name, Counter())
            counts.update(facts if times == 1 else {fact: facts.count(fact) * times for fact in facts})

    def name(self, fact: str, qid: str) -> None:
        """Remember a name behind a fact."""
        names = self.names.setdefault(fact, [])
        names.append(qid)
        if len(names) > 4 * NAMED:
            self.names[fact] = sorted(set(names))[:NAMED]

    def named(self, fact: str) -> list[str]:
        return sorted(set(self.names.get(fact, ())))[:NAMED]

    def slice(self, name: str) -> Tally:
        return Tally(self.slices.get(name, Counter()))

    def __getitem__(self, fact: Fact) -> int:
        return self.counts.get(fact, 0)

    def values(self, fact: str) -> dict[int | Fraction, int]:
        """The multiset of values seen under a name."""
        return {key[1]: count for key, count in self.counts.items() if isinstance(key, tuple) and key[0] == fact}

    def ordered(self, fact: str) -> Ordered[int | Fraction]:
        """The same in order. Values are added with facts, so that what was sorted holds until more are counted."""
        if self._bundles or fact not in self._ordered:
            from ..stats import Ordered

            self._ordered[fact] = Ordered(self.values(fact))
        return self._ordered[fact]

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
