"""Cases: records joined with their gold items. Missing, duplicate and unknown ones are counted, never just dropped."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from ..errors import DataError
from ..reading.quick import Checked, Decodes, is_checked
from .once import FILE, Dated, Once, Repeated, in_file, one_of, spot
from .tally import NAMED

Keep = Literal["last", "first", "worst", "error", "all"]
Numbered = tuple[int, Any]  # a record with its place in its file
Kept = Numbered | tuple[int, bytes, Decodes]  # the same, or bytes that are decoded on demand
Slot = list[Kept] | tuple[Kept]  # the records of a question; a tuple if only one counts
Undecided = tuple[int, int, str]  # the places of two records, and their question
RunOf = Callable[[Any], object]  # which run of its question a record is; None where each record is a run of its own


class Case(msgspec.Struct):
    """Everything known about one question: its gold item made ready, and its records by input, oldest first."""

    key: str
    gold: Any
    records: dict[str, list[Any]]


class Survey(Protocol):
    """Facts about the data as a whole that the judge needs; surveys add up in any order."""

    def add(self, source: str, place: int, record: Any, known: bool) -> None: ...

    def __iadd__(self, other: Any) -> Any: ...


@runtime_checkable
class Batched(Protocol):
    """Records that also come in batches of lines that are not decoded yet."""

    def batches(self, key: Callable[[object], str], /) -> Iterator[Iterable[Numbered]]: ...


class Unknown(msgspec.Struct):
    """Records of unknown questions: how many, the first of them, and the first few names in alphabetical order."""

    lines: int = 0
    first: tuple[int, str] | None = None  # place and question
    names: list[str] = []

    def meet(self, place: int, name: str) -> None:
        self.lines += 1
        self.first = min(self.first or (place, name), (place, name))
        self._keep(name)

    def _keep(self, name: str) -> None:
        """Keep only a few names, the same ones whatever the order of the records."""
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
        """Raise the error that `--closed` asks for."""
        if self.first is not None:
            place, name = self.first
            raise DataError(
                f"{spot(place)} has qid {name!r}, which the gold set does not have",
                hint="Add it to the gold set, or leave out --closed.",
                code="trace-unknown",
            )


class Gathered:
    """Records by question, in any order. Parts merge into the whole, because each record keeps its position."""

    def __init__(
        self,
        expected: Collection[str] | None,
        survey: Survey | None = None,
        once: Mapping[str, Once] | None = None,
        runs: Mapping[str, RunOf] | None = None,
    ) -> None:
        # None: records make the cases. A plain dict if possible, because it is looked up for every record.
        self._expected: Collection[str] | None = getattr(expected, "names", expected)
        self.survey = survey
        self._once = once or {}  # by input
        self._runs = runs or {}  # by input
        self.repeated: dict[str, Repeated] = {}  # by input
        self.slots: dict[str, dict[str, Slot]] = {}
        self._highest: dict[str, int] = {}  # place of an input up to which records were taken
        self._keep: dict[str, Keep] = {}  # by input
        self.undecided: dict[str, Undecided] = {}  # by input: the first two records of which none is the later one
        self.unknown: dict[str, Unknown] = {}  # by input
        self.superseded = 0  # records that another one of the same question replaced

    def take(
        self,
        source: str,
        records: Iterable[Numbered],
        keep: Keep,
        key: Callable[[object], str],
        tick: Callable[[int], None] | None = None,
    ) -> None:
        """Add records to their questions. `keep` says which of several records of a question count."""
        self.slots.setdefault(source, {})
        self._keep[source] = keep
        batches: Iterable[Iterable[Numbered]] = (records,)
        if keep == "last" and self.survey is None and isinstance(records, Batched):
            batches = records.batches(key)
        number = 0
        for batch in batches:
            if is_checked(batch) and batch.first > self._highest.get(source, -1):
                self._take_latest(source, batch)
                number += len(batch.names)
            else:
                number = self._take_each(source, batch, keep, key, tick, number)
            if tick is not None:
                tick(number)

    def _take_latest(self, source: str, batch: Checked) -> None:
        """Add a batch whose records replace earlier ones of their questions. They are decoded on demand."""
        latest, slots, unknown = dict(batch.latest()), self.slots[source], 0
        if self._expected is not None and not all(map(self._expected.__contains__, latest)):
            latest = {name: kept for name, kept in latest.items() if name in self._expected}
            for place, name in enumerate(batch.names, batch.first):
                if name not in latest:
                    self.unknown_of(source).meet(place, name)
                    unknown += 1
        self.superseded += len(batch.names) - unknown - len(latest)
        if batch.first >= FILE:  # places don't tell whether a record of an earlier file is older
            for name in slots.keys() & latest.keys():
                slots[name] = self._settled(slots[name], latest.pop(name), "last")
        before = len(slots)
        slots.update(zip(latest, zip(latest.values(), strict=False), strict=False))
        self.superseded += len(latest) - (len(slots) - before)
        self._highest[source] = batch.first + len(batch.names) - 1

    def _take_each(
        self,
        source: str,
        records: Iterable[Numbered],
        keep: Keep,
        key: Callable[[object], str],
        tick: Callable[[int], None] | None,
        number: int,
    ) -> int:
        slots, highest = self.slots[source], self._highest.get(source, -1)
        expected, single = self._expected, keep in ("last", "first")
        survey = None if source in self._once else self.survey  # duplicates are dropped first
        for pair in records:
            place, record = pair
            name = key(record)
            slot = slots.get(name)
            known = slot is not None or expected is None or name in expected
            if survey is not None:
                survey.add(source, place, record, known)
            if slot is not None:
                slots[name] = self._settled(slot, pair, keep)
            elif known:
                slots[name] = (pair,) if single else [pair]
            else:
                self.unknown_of(source).meet(place, name)
            highest = max(highest, place)
            number += 1
            if tick is not None and not number & 0x3FFF:
                tick(number)
        self._highest[source] = highest
        return number

    def _settled(self, slot: Slot, pair: Kept, keep: Keep) -> Slot:
        """The records of a question that count, after one more."""
        if keep in ("last", "first"):
            return self._one_per_file(slot, pair, keep)
        self.superseded += keep == "worst"
        if isinstance(slot, tuple):
            return [*slot, pair]
        slot.append(pair)
        return slot

    def _one_per_file(self, slot: Slot, pair: Kept, keep: Keep) -> Slot:
        """The last, or first, record of each file; which of them counts is known when all are there."""
        for place, own in enumerate(slot):
            if own[0] // FILE == pair[0] // FILE:
                self.superseded += 1
                if (pair[0] > own[0]) != (keep == "last"):
                    return slot
                return (pair,) if len(slot) == 1 else [*slot[:place], pair, *slot[place + 1 :]]
        return [*slot, pair]

    def unknown_of(self, source: str) -> Unknown:
        return self.unknown.setdefault(source, Unknown())

    def merge(self, other: Gathered, keep: Mapping[str, Keep]) -> None:
        """Add the records of another part of the same inputs."""
        self.superseded += other.superseded
        for source, slots in other.slots.items():
            own = self.slots.setdefault(source, {})
            for name, slot in slots.items():
                if name not in own:
                    own[name] = slot
                else:
                    own[name] = self._joined(own[name], slot, keep.get(source, "all"))
        for source, met in other.unknown.items():
            own_unknown = self.unknown_of(source)
            own_unknown += met
        if self.survey is not None:
            self.survey += other.survey

    def _joined(self, slot: Slot, other: Slot, keep: Keep) -> Slot:
        for pair in other:
            slot = self._settled(slot, pair, keep)
        if keep == "worst":
            self.superseded -= len(other) - 1  # all but one of them were counted where they were gathered
        return slot

    def drop_repeated(self) -> None:
        """Keep the one of several records that counts now that all are there; of duplicates the first, surveyed.

        Where the last of each run counts, all are kept and the order is made that of time.
        """
        for source, keep in self._keep.items():
            if keep in ("last", "first"):
                for name, slot in self.slots.get(source, {}).items():
                    if len(slot) > 1:
                        self.superseded += len(slot) - 1
                        self.slots[source][name] = (self._one_of(source, name, slot, keep),)
        for source in self._runs:
            for name, slot in self.slots.get(source, {}).items():
                if len(slot) > 1 and len({kept[0] // FILE for kept in slot}) > 1:
                    self.slots[source][name] = self._last_run_last(source, name, slot)
        for source, once in self._once.items():
            slots, repeated = self.slots.get(source, {}), self.repeated.setdefault(source, Repeated())
            for name, slot in slots.items():
                if len(slot) > 1:
                    slots[name] = [*once.first_of([(kept[0], record_of(kept)) for kept in slot], repeated)]
                if self.survey is not None:
                    for kept in slots[name]:
                        self.survey.add(source, kept[0], record_of(kept), True)

    def _one_of(self, source: str, name: str, slot: Iterable[Kept], keep: Literal["last", "first"]) -> Kept:
        """The last, or the first, of some records of a question; where nothing tells which it is, that is noted."""
        records = {kept[0]: (kept, record_of(kept)) for kept in slot}
        dated = (Dated(place, getattr(record, "ts", None), record) for place, (_, record) in records.items())
        one, other = one_of(dated, keep)
        if other is not None:
            undecided = (one.place, other.place, name)
            self.undecided[source] = min(self.undecided.get(source, undecided), undecided)
        return records[one.place][0]

    def _last_run_last(self, source: str, name: str, slot: Slot) -> Slot:
        """The records of a question, the last of each run behind its others: it trades places with the one there."""
        runs: dict[object, list[Kept]] = {}
        for kept in sorted(slot, key=_place_of):
            run = self._runs[source](record_of(kept))
            if run is not None:
                runs.setdefault(run, []).append(kept)
        traded: dict[int, int] = {}
        for same in runs.values():
            if same[0][0] // FILE != same[-1][0] // FILE:
                last, behind = self._one_of(source, name, same, "last")[0], same[-1][0]
                traded |= {last: behind, behind: last}
        return [(traded.get(kept[0], kept[0]), *kept[1:]) for kept in slot]

    def __getstate__(self) -> dict[str, object]:
        """Without the expected questions: they are large, and the process that merges this has them."""
        return self.__dict__ | {"_expected": None}

    def names(self, expected: Mapping[str, object] | None) -> list[str]:
        """The questions that make a case: the expected ones, or those that have a record."""
        if expected is not None:
            return list(expected)
        return list(dict.fromkeys(name for slots in self.slots.values() for name in slots))

    def cases(self, expected: Mapping[str, object] | None, names: Iterable[str] | None = None) -> Iterator[Case]:
        """One case per question, or per question named; records in the order of their places."""
        sources, records_of = list(self.slots.items()), self._records
        for name in self.names(expected) if names is None else names:
            records = {}  # a loop, because a comprehension costs a call and most cases have one source
            for source, slots in sources:
                records[source] = records_of(slots.get(name))
            yield Case(name, None if expected is None else expected[name], records)

    def some_cases(self, expected: Mapping[str, object] | None) -> Iterator[Case]:
        """All cases in the fastest order, for callers that only look for an example."""
        return self.cases(expected)

    def lacking(self, names: Iterable[str]) -> Iterator[str]:
        """The names without any record."""
        return (name for name in names if not any(name in slots for slots in self.slots.values()))

    def second(self, source: str) -> Numbered | None:
        """The first record of an input that is not the first of its question."""
        seconds = (sorted(slot, key=_place_of)[1] for slot in self.slots.get(source, {}).values() if len(slot) > 1)
        second = min(seconds, key=_place_of, default=None)
        return None if second is None else (second[0], record_of(second))

    @staticmethod
    def _records(slot: Slot | None) -> list[object]:
        if slot is None:
            return []
        if len(slot) == 1:
            (kept,) = slot
            return [kept[1] if len(kept) == 2 else kept[2].decode(kept[1])]
        return [record_of(pair) for pair in sorted(slot, key=_place_of)]

    @property
    def unknown_total(self) -> int:
        return sum(met.lines for met in self.unknown.values())

    def refuse(self, keep: Mapping[str, Keep], closed: bool, files: Mapping[str, Sequence[str]] | None = None) -> None:
        """Raise the errors that the options ask for: a second record of a question, a record of an unknown one.

        And that of two records of a question from different files none is known to be the later one.
        """
        for source, (one, other, name) in self.undecided.items():
            paths, about = (files or {}).get(source, ()), "one run of" if source in self._runs else "about"
            raise DataError(
                f"{in_file(one, paths)} and {in_file(other, paths)} are both {about} qid {name!r}, and no ts "
                f"tells which is the {keep.get(source, 'last')} one",
                hint="Write ts in every record, keep one of the two, or choose with --on-duplicate where there is one.",
                code="trace-order",
            )
        if closed:
            reduce(Unknown.__iadd__, self.unknown.values(), Unknown()).refuse()
        for source in self.slots:
            if keep.get(source) == "error" and (second := self.second(source)):
                raise DataError(
                    f"{spot(second[0])} is another trace for qid {second[1].qid!r}",
                    hint="Keep one, or choose --on-duplicate last, first or worst.",
                    code="trace-repeated",
                )


def _place_of(pair: Kept) -> int:
    return pair[0]


def record_of(pair: Kept) -> Any:
    """The record, decoded if it is still bytes."""
    return pair[1] if len(pair) == 2 else pair[2].decode(pair[1])
