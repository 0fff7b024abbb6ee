"""Evidence: what a run amounts to, a tally, the worst few and one row per item; it adds up in any order."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar, overload

import msgspec

from ..reading.reports import Passing
from .join import Unknown
from .rows import MEMORY, Order, Row, Rows
from .tally import NAMED, Fact, Tally

__all__ = ["Order", "Row", "Rows"]

CARDS = 20_000  # failing items that are kept in detail
ROW_TEXT = 400  # characters of a question or a claim in a row
_BY_REASON = Passing()
_order_of = itemgetter(0)
OUTLINES = 1_000  # different outlines that are counted whole, before their facts are added up


class Counts(NamedTuple):
    """Facts to count together: in which part and slices of the evidence, and which of them keep the item's name."""

    facts: Iterable[Fact]
    slices: Iterable[str] = ()
    part: str = ""
    name: str = ""  # in place of the question's
    named: Iterable[str] = ()
    whole: bool = True  # over everything too, and not in the slices alone


Outline = Any  # a tuple; where a suite has no `facts`, the counts themselves
Facts = Callable[[Outline], Iterable[Counts]]


class Judged(NamedTuple):
    """What a judge makes of a question, or of a part of it that has a row of its own."""

    row: Any  # as the report has it: the suite's Struct, or a dict where its columns are the data's own; or None
    outline: Outline = ()  # all that counts about it: those that agree in it have the same facts
    order: Order = ()  # where the row stands among the others
    worst: Sequence[tuple[str, Order]] = ()  # kind, and place among the failing items of that kind; none if it passes
    lost: bool = False  # there is nothing to judge the question by
    seen: Iterable[tuple[str, Iterable[str]]] = ()  # what hints are made of, by kind


Case = TypeVar("Case")


def together(
    cases: Sequence[Case],
    slices_of: Callable[[Case], Iterable[str]],
    facts: Callable[[Sequence[Case]], Iterable[Fact]],
    part: str = "",
) -> Iterator[Counts]:
    """What several cases of one question have together, over everything and in each slice that they are in."""
    if len(cases) > 1:
        yield Counts(facts(cases), (), part)
        for name in sorted({name for case in cases for name in slices_of(case)}):
            within = [case for case in cases if name in slices_of(case)]
            yield Counts(facts(within), (name,), part, whole=False)


class _Group(msgspec.Struct):
    """The items of one outline: their facts, how many there are, and the first names where some fact is named."""

    counts: Sequence[Counts]
    named: bool
    times: int = 0
    names: list[str] = []


class Evidence:
    """Counts by part, the worst few by kind, rows by item, and names that were seen; `+=` of any split is the whole.

    Where no report asks for the rows (`whole` is false), only those of failing items are kept.
    """

    def __init__(
        self, worst: int = 10, room: int = MEMORY, *, whole: bool = True, passes: Passing = _BY_REASON
    ) -> None:
        self.limit = worst  # offenders that a report names
        self._kept = max(worst, CARDS)
        self._whole, self._passes = whole, passes
        self._tallies: defaultdict[str, Tally] = defaultdict(Tally)
        self._groups: dict[Outline, _Group] = {}  # not yet in the tallies
        self.worst: dict[str, list[tuple[Order, Any]]] = {}  # questions, made into cards when somebody reads them
        self.make_card: Callable[[str, Order, Any], Row] = _no_card
        self.rows = Rows(room=room)
        self.seen: dict[str, set[str]] = {}
        self.unjudged = Tally()  # questions that nobody could judge: how many, and the first names
        self.questions = 0  # that were to be judged
        self.without_record = 0
        self.superseded = 0  # records that another one of the same question replaced
        self.unknown: dict[str, Unknown] = {}  # by input: records of questions that nobody expected

    @property
    def tally(self) -> Tally:
        """The counts of the only or main part."""
        return self.part("")

    @property
    def tallies(self) -> defaultdict[str, Tally]:
        """The counts by part."""
        for group in self._groups.values():
            for counts in group.counts:
                self._count(counts, group.times, group.names)
        self._groups = {}
        return self._tallies

    def counts_alone(self) -> Evidence:
        """Evidence of nothing but these counts."""
        alone = Evidence()
        alone._tallies = self.tallies
        return alone

    def part(self, name: str) -> Tally:
        return self.tallies[name]

    def _count(self, counts: Counts, times: int, names: Sequence[str]) -> None:
        tally = self._tallies[counts.part]
        tally.count(counts.facts, counts.slices, times, counts.whole)
        for fact in counts.named:
            for name in (counts.name,) if counts.name else names:
                tally.name(fact, name)

    def add(self, judged: Judged, name: str, question: object, facts: Facts | None = None) -> None:
        """Count what was judged, keep its row, and keep its question if it is among the worst."""
        row, outline, order, worst, lost, seen = judged
        if facts is None:
            for counts in outline:
                self._count(counts, 1, (name,))
        else:
            group = self._groups.get(outline)
            if group is None:
                if len(self._groups) >= OUTLINES:
                    _ = self.tallies
                counted = tuple(facts(outline))
                group = self._groups[outline] = _Group(counted, any(one.named for one in counted))
            group.times += 1
            if group.named:
                group.names.append(name)
                if len(group.names) > 4 * NAMED:
                    group.names = sorted(set(group.names))[:NAMED]
        if row is not None and (self._whole or not self._passes(row)):
            self.rows.append(order, row)
        for kind, place in worst:
            self._offend(kind, place, question)
        for kind, names in seen:
            self.see(kind, names)
        if lost:
            self.miss(name)

    def see(self, kind: str, names: Iterable[str]) -> None:
        self.seen.setdefault(kind, set()).update(names)

    def _offend(self, kind: str, order: Order, question: object) -> None:
        worst = self.worst.setdefault(kind, [])
        if len(worst) < self._kept or (worst and order < worst[-1][0]):
            insort(worst, (order, question), key=_order_of)
            del worst[self._kept :]

    def meet_unknown(self, source: str, place: int, name: str, lines: int) -> None:
        self.unknown.setdefault(source, Unknown()).meet(place, name, lines)

    def miss(self, name: str) -> None:
        """A question that should have been judged and was not."""
        self.unjudged.count(("unjudged",))
        self.unjudged.name("unjudged", name)

    def offenders(self, *kinds: str) -> list[Row]:
        """The worst few, as many as were asked for."""
        return self.cards(*kinds)[: self.limit] if self.worst else []

    def cards(self, *kinds: str) -> Cards:
        """All failing items of some kinds in detail, worst first; each is made when it is read."""
        found = [(order, kind, one) for kind in kinds or ("",) for order, one in self.worst.get(kind, ())]
        found = sorted(found, key=_order_of)[: self._kept]
        return Cards([partial(self.make_card, kind, order, one) for order, kind, one in found])

    def __iadd__(self, other: Evidence) -> Evidence:
        for name, tally in other.tallies.items():
            part = self.part(name)
            part += tally
        for kind, worst in other.worst.items():
            merged = sorted([*self.worst.get(kind, ()), *worst], key=_order_of)
            self.worst[kind] = merged[: self._kept]
        for kind, names in other.seen.items():
            self.see(kind, names)
        self.unjudged += other.unjudged
        self.questions += other.questions
        self.without_record += other.without_record
        self.superseded += other.superseded
        for source, met in other.unknown.items():
            unknown = self.unknown.setdefault(source, Unknown())
            unknown += met
        self.rows += other.rows
        return self

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_tallies": self.tallies, "_groups": {}}


def _no_card(kind: str, order: Order, question: object) -> Row:
    raise NotImplementedError("whoever reads cards says how they are made")


def _same(card: Row) -> Row:
    return card


class Cards(Sequence[Row]):
    """Failing items in detail. Most readers want the first few, and making one takes as long as judging it."""

    def __init__(self, makers: Sequence[Callable[[], Row]]) -> None:
        self._makers = makers
        self._made: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self._makers)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        if place not in self._made:
            self._made[place] = self._makers[place]()
        return self._made[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} cards>"

    def __add__(self, other: Cards) -> Cards:
        return Cards([*self._makers, *other._makers])

    def __reduce__(self) -> tuple[object, ...]:
        return Cards, ([partial(_same, card) for card in self],)


def brief(text: str) -> str:
    """A question or a claim as a row has it: the cards have it whole."""
    return text if len(text) <= ROW_TEXT else f"{text[: ROW_TEXT - 1]}…"
