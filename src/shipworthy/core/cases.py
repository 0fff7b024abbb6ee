"""Cases: records joined with what they are judged by; missing, repeated and unknown are facts, never silence."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, Literal, Protocol

import msgspec

from ..errors import DataError
from .tally import NAMED

FILE = 1 << 40  # places of the second file of an input begin here: no file has so many lines

Keep = Literal["last", "first", "worst", "error", "all"]
Numbered = tuple[int, Any]  # a record with its place in its file


class Case(msgspec.Struct):
    """Everything known about one question: its gold item made ready, and its records by input, oldest first."""

    key: str
    gold: Any
    records: dict[str, list[Any]]


class Survey(Protocol):
    """Facts about the data as a whole that the judge needs; surveys add up in any order."""

    def add(self, source: str, place: int, record: Any, known: bool) -> None: ...

    def __iadd__(self, other: Any) -> Any: ...


class Unknown(msgspec.Struct):
    """Records of questions that nobody expected: how many, the first of them, and the first few names by alphabet."""

    lines: int = 0
    first: tuple[int, str] | None = None  # place and question
    names: list[str] = []

    def meet(self, place: int, name: str) -> None:
        self.lines += 1
        self.first = min(self.first or (place, name), (place, name))
        self._keep(name)

    def _keep(self, name: str) -> None:
        """A million unknown questions are as many lines and a few names, whatever the order that they come in."""
        if (len(self.names) < NAMED or name < self.names[-1]) and name not in self.names:
            insort(self.names, name)
            del self.names[NAMED:]

    def __iadd__(self, other: Unknown) -> Unknown:
        self.lines += other.lines
        self.first = min((met for met in (self.first, other.first) if met), default=None)
        for name in other.names:
            self._keep(name)
        return self

    def refuse(self) -> None:
        """Raise what `closed` calls an error."""
        if self.first is not None:
            place, name = self.first
            raise DataError(
                f"{spot(place)} has qid {name!r}, which the gold set does not have",
                hint="Add it to the gold set, or leave out --closed.",
                code="trace-unknown",
            )


class Gathered:
    """Records by question, in whatever order they come; `+=` of any split is the whole, because places are kept."""

    def __init__(self, expected: Collection[str] | None, survey: Survey | None = None) -> None:
        self._expected = expected  # None: every record is about a case of its own making
        self.survey = survey
        self.slots: dict[str, dict[str, list[Numbered]]] = {}
        self.unknown: dict[str, Unknown] = {}  # by input
        self.superseded = 0  # records that another one of the same question replaced

    def take(self, source: str, records: Iterable[Numbered], keep: Keep, key: Callable[[Any], str]) -> None:
        """Put records where they belong. `keep` says which of several records of a question count."""
        slots = self.slots.setdefault(source, {})
        expected, survey = self._expected, self.survey
        for place, record in records:
            name = key(record)
            slot = slots.get(name)
            known = slot is not None or expected is None or name in expected
            if survey is not None:
                survey.add(source, place, record, known)
            if slot is not None:
                self._settle(slot, (place, record), keep)
            elif known:
                slots[name] = [(place, record)]
            else:
                self.unknown_of(source).meet(place, name)

    def _settle(self, slot: list[Numbered], pair: Numbered, keep: Keep) -> None:
        if keep in ("last", "first"):
            self.superseded += 1
            if (pair[0] > slot[0][0]) == (keep == "last"):
                slot[0] = pair
        else:
            slot.append(pair)
            self.superseded += keep == "worst"

    def unknown_of(self, source: str) -> Unknown:
        return self.unknown.setdefault(source, Unknown())

    def merge(self, other: Gathered, keep: Mapping[str, Keep]) -> None:
        """Add what another part of the same records gave."""
        self.superseded += other.superseded
        for source, slots in other.slots.items():
            own = self.slots.setdefault(source, {})
            for name, slot in slots.items():
                if name not in own:
                    own[name] = slot
                else:
                    self._join(own[name], slot, keep.get(source, "all"))
        for source, met in other.unknown.items():
            own_unknown = self.unknown_of(source)
            own_unknown += met
        if self.survey is not None:
            self.survey += other.survey

    def _join(self, slot: list[Numbered], other: list[Numbered], keep: Keep) -> None:
        for pair in other:
            self._settle(slot, pair, keep)
        if keep == "worst":
            self.superseded -= len(other) - 1  # all but one of them were counted where they were gathered

    def __getstate__(self) -> dict[str, Any]:
        """Without what is expected, which is large, and which whoever merges this has already."""
        return self.__dict__ | {"_expected": None}

    def names(self, expected: Mapping[str, Any] | None) -> list[str]:
        """The questions that make a case: the expected ones, or those that have a record."""
        if expected is not None:
            return list(expected)
        return list(dict.fromkeys(name for slots in self.slots.values() for name in slots))

    def cases(self, expected: Mapping[str, Any] | None, names: Iterable[str] | None = None) -> Iterator[Case]:
        """One case per question, or per question named; records in the order of their places."""
        for name in self.names(expected) if names is None else names:
            records = {source: self._records(slots.get(name)) for source, slots in self.slots.items()}
            yield Case(name, None if expected is None else expected[name], records)

    def some_cases(self, expected: Mapping[str, Any] | None) -> Iterator[Case]:
        """All cases in whatever order is quickest, for whoever looks for one of a kind."""
        return self.cases(expected)

    def lacking(self, names: Iterable[str]) -> Iterator[str]:
        """Of the names those without any record."""
        return (name for name in names if not any(name in slots for slots in self.slots.values()))

    def second(self, source: str) -> Numbered | None:
        """The first record of an input that is not the first of its question."""
        seconds = (sorted(slot, key=_place_of)[1] for slot in self.slots.get(source, {}).values() if len(slot) > 1)
        return min(seconds, key=_place_of, default=None)

    @staticmethod
    def _records(slot: list[Numbered] | None) -> list[Any]:
        if slot is None:
            return []
        if len(slot) == 1:
            return [slot[0][1]]
        return [record for _, record in sorted(slot, key=_place_of)]

    @property
    def unknown_total(self) -> int:
        return sum(met.lines for met in self.unknown.values())

    def refuse(self, keep: Mapping[str, Keep], closed: bool) -> None:
        """Raise what the options call an error: a second record of a question, a record of an unknown one."""
        if closed:
            reduce(Unknown.__iadd__, self.unknown.values(), Unknown()).refuse()
        for source in self.slots:
            if keep.get(source) == "error" and (second := self.second(source)):
                raise DataError(
                    f"{spot(second[0])} is another trace for qid {second[1].qid!r}",
                    hint="Keep one, or choose --on-duplicate last, first or worst.",
                    code="trace-repeated",
                )


def spot(place: int) -> str:
    """A place in words: the line, and of several files which one, in the order of their paths."""
    file, line = divmod(place, FILE)
    return f"line {line} of file {file + 1}" if file else f"line {line}"


def _place_of(pair: Numbered) -> int:
    return pair[0]
