"""The join: lines of gold and records alike come together by question, under one keep rule.

A line is (place, bytes), as it stands in its file. Which lines of a question count is decided while they come together;
a question is opened, its lines made records, when it is surveyed or judged.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from math import isnan, nan
from operator import attrgetter, iadd, ior, itemgetter
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar
from zlib import crc32

import msgspec

from ..errors import DataError
from ..reading.jsonl import Problem, Problems
from ..reading.limits import MAX_SHOWN
from ..text import visible
from .inputs import FILE, Format, Line, Numbered, Refusal, Stream
from .tally import NAMED

Keep = Literal["last", "first", "worst", "error", "all"]  # `worst` and `error` keep all: the judge decides
RunOf = Callable[[Any], object]  # which run of its question a record is; None where each record is a run of its own
TOGETHER = 2_000  # questions that are opened together


class Slot(NamedTuple):
    """The lines of one input about a question."""

    lines: Sequence[Line]  # those that count, by place; one for each file where the last or the first counts
    replaced: int  # how many more there were
    first: int  # the place of the first of all


class Question(NamedTuple):
    """All that is known about one question, as lines."""

    name: str
    slots: dict[str, Slot]  # by input


class Case(NamedTuple):
    """A question as it is judged: its gold item, and its records by input, oldest first."""

    key: str
    gold: Any
    records: dict[str, list[Any]]
    place: int = 0  # of the gold item; of the first record where records make the cases


class Survey(Protocol):
    """Facts about the data as a whole that the judge needs; surveys add up in any order."""

    def add(self, source: str, place: int, record: Any, known: bool) -> None: ...

    def __iadd__(self, other: Any) -> Any: ...


class Sums:
    """What adds up name by name: numbers, counters and whatever else has `+=`; sets and flags unite."""

    def __iadd__(self, other: Self) -> Self:
        for name, value in vars(other).items():
            add: Callable[[Any, Any], Any] = ior if isinstance(value, (bool, set)) else iadd
            setattr(self, name, add(getattr(self, name), value))
        return self


class Nothing:
    """A survey of nothing, where only the whole gold set has to be known."""

    def add(self, source: str, place: int, record: Any, known: bool) -> None: ...

    def __iadd__(self, other: Nothing) -> Nothing:
        return self


class AddsUp(Protocol):
    def __iadd__(self, other: Any, /) -> Self: ...


Total = TypeVar("Total", bound=AddsUp)
Work = Callable[[Iterable[Sequence[Question]]], Total]
Wanted = Callable[[str], bool]  # of the name of a question


class Joined(Protocol):
    """All questions of a run, wherever their lines are; gone over as often as a suite asks."""

    def over(self, work: Work[Total], total: Total) -> Total:
        """Work on batches, each question whole and in one of them; add up what each call says of those that it got.

        All of it, or an error.
        """

    def batches(self, wanted: Wanted | None = None) -> Iterator[Sequence[Question]]:
        """The questions, or those of wanted names, in this process, for a caller that may stop early."""


class Engine(Protocol):
    """How lines come together and who works on them, never what is right."""

    def __call__(
        self, streams: Mapping[str, Stream], keep: Mapping[str, Keep], tick: Callable[[int], None] | None, /
    ) -> AbstractContextManager[Joined]: ...


class Lot:
    """The lines of one input by question, those that count."""

    def __init__(self, keep: Keep) -> None:
        self.keep = keep
        self._single = keep in ("last", "first")
        self._lines: dict[str, Any] = {}  # the one line of the file that is read; all lines where all count
        self._others: dict[str, list[Line]] = {}  # of the files before
        self._replaced: dict[str, tuple[int, int]] = {}  # how many lines, and the place of the first
        self._file = 0

    def take(self, places: Sequence[int], names: Sequence[str], lines: Sequence[Any]) -> None:
        if not self._single:
            known = self._lines
            for name, line in zip(names, zip(places, lines, strict=True), strict=True):
                slot = known.get(name)
                if slot is None:
                    known[name] = [line]
                else:
                    slot.append(line)
            return
        if places[0] // FILE != self._file:
            self._next_file(places[0] // FILE)
        known = self._lines
        if len(set(names)) < len(names) or not known.keys().isdisjoint(names):
            self._count_replaced(places, names)
        placed = zip(names, zip(places, lines, strict=True), strict=True)
        if self.keep == "last":
            known.update(placed)
        else:
            for name, line in placed:
                known.setdefault(name, line)

    def _next_file(self, number: int) -> None:
        for name, line in self._lines.items():
            self._others.setdefault(name, []).append(line)
        self._lines, self._file = {}, number

    def _count_replaced(self, places: Sequence[int], names: Sequence[str]) -> None:
        known, replaced, here = self._lines, self._replaced, dict[str, int]()
        for place, name in zip(places, names, strict=True):
            before = replaced.get(name)
            if name in here or name in known:
                first = here[name] if name in here else known[name][0]
                replaced[name] = (1, first) if before is None else (before[0] + 1, before[1])
            else:
                here[name] = place

    @property
    def names(self) -> Iterable[str]:
        return {**self._others, **self._lines} if self._others else self._lines

    def __len__(self) -> int:
        return len(self._lines) + len(self._others)

    def slots(self, names: Sequence[str]) -> list[Slot | None]:
        """What there is about each of these questions."""
        if self._others or self._replaced:
            return list(map(self.slot, names))
        found = map(self._lines.get, names)
        if not self._single:
            return [None if lines is None else Slot(lines, 0, lines[0][0]) for lines in found]
        return [None if line is None else Slot((line,), 0, line[0]) for line in found]

    def slot(self, name: str) -> Slot | None:
        found = self._lines.get(name)
        if found is not None and not self._single:
            return Slot(found, 0, found[0][0])
        lines = [*self._others.get(name, ()), *(() if found is None else (found,))]
        if not lines:
            return None
        replaced, first = self._replaced.get(name, (0, lines[0][0]))
        return Slot(lines, replaced, min(first, lines[0][0]))


def hash_of(name: str) -> int:
    """A number that depends on the name of a question alone, and is the same in every process."""
    return crc32(name.encode("utf-8", "surrogatepass"))


def questions_of(lots: Mapping[str, Lot], names: Sequence[str]) -> list[Question]:
    """The questions of these names."""
    found: list[dict[str, Slot]] = [{} for _ in names]
    for source, lot in lots.items():
        for slots, slot in zip(found, lot.slots(names), strict=True):
            if slot is not None:
                slots[source] = slot
    return list(map(Question, names, found))


def merge(slot: Slot, other: Slot, keep: Keep) -> Slot:
    """The lines of a question from two parts of an input, the second of which follows the first."""
    lines = [*slot.lines, *other.lines]
    if keep in ("last", "first"):
        by_file: dict[int, Line] = {}
        for line in lines:
            if keep == "last":
                by_file[line[0] // FILE] = line
            else:
                by_file.setdefault(line[0] // FILE, line)
        kept = list(by_file.values())
    else:
        kept = lines
    dropped = len(lines) - len(kept)
    return Slot(kept, slot.replaced + other.replaced + dropped, min(slot.first, other.first))


# --- opening: lines become records, and of several that can't all count, one does ---


def open_all(
    questions: Sequence[Question], formats: Mapping[str, Format], refuse: Callable[[str, Refusal], None]
) -> Iterator[tuple[Question, dict[str, list[Numbered]]]]:
    """Questions with their records by input, those that could be read, by place; all lines are decoded together."""
    records: dict[str, Iterator[Any]] = {}
    for name, format in formats.items():
        all_lines = [line for one in questions if name in one.slots for line in one.slots[name].lines]
        records[name] = iter(format.records(all_lines, partial(refuse, name)))
    for question in questions:
        placed: dict[str, list[Numbered]] = {}
        for name, (lines, _, _) in question.slots.items():
            if len(lines) == 1:
                record = next(records[name])
                placed[name] = [] if record is None else [(lines[0][0], record)]
            else:
                several = [(line[0], record) for line in lines if (record := next(records[name])) is not None]
                placed[name] = sorted(several, key=itemgetter(0))
        yield question, placed


def first_error(cases: Iterable[Case], check: Callable[[Case], None]) -> None:
    """Check every question, and raise the error of the first of them, by place."""
    found: dict[int, DataError] = {}
    for case in cases:
        try:
            check(case)
        except DataError as error:
            found[case.place] = error
    if found:
        raise found[min(found)]


class Choice:
    """Which records count where not all can, and what was noticed on the way; it adds up in any order."""

    def __init__(self) -> None:
        self.repeated: dict[str, Repeated] = {}  # by input
        self.undecided: dict[str, tuple[int, int, str]] = {}  # by input: the first two of which none is the later one
        self.second: dict[str, tuple[int, str]] = {}  # by input: the first record that is not the first of its question

    def records(
        self,
        name: str,
        source: str,
        placed: list[Numbered],
        keep: Keep,
        once: Once | None = None,
        run_of: RunOf | None = None,
    ) -> list[Numbered]:
        """The records of an input about a question that count."""
        if len(placed) < 2:
            return placed
        if keep in ("last", "first"):
            return [self._one_of(name, source, placed, keep)]
        if keep == "error":
            self.second[source] = min(self.second.get(source, (placed[1][0], name)), (placed[1][0], name))
        if once is not None:
            return once.first_of(placed, self.repeated.setdefault(source, Repeated()))
        if run_of is not None and placed[0][0] // FILE != placed[-1][0] // FILE:
            return self._last_run_last(name, source, placed, run_of)
        return placed

    def _one_of(self, name: str, source: str, placed: list[Numbered], keep: str) -> Numbered:
        one, other = one_of([Dated(place, getattr(record, "ts", None), record) for place, record in placed], keep)
        if other is not None:
            undecided = (one.place, other.place, name)
            self.undecided[source] = min(self.undecided.get(source, undecided), undecided)
        return one.place, one.content

    def _last_run_last(self, name: str, source: str, placed: list[Numbered], run_of: RunOf) -> list[Numbered]:
        """The records of a question, the last of each run behind its others: it trades places with the one there."""
        runs: dict[object, list[Numbered]] = {}
        for one in placed:
            run = run_of(one[1])
            if run is not None:
                runs.setdefault(run, []).append(one)
        traded: dict[int, int] = {}
        for same in runs.values():
            if same[0][0] // FILE != same[-1][0] // FILE:
                last, behind = self._one_of(name, source, same, "last")[0], same[-1][0]
                traded |= {last: behind, behind: last}
        return sorted(((traded.get(place, place), record) for place, record in placed), key=itemgetter(0))

    def __iadd__(self, other: Choice) -> Choice:
        for source, repeated in other.repeated.items():
            own = self.repeated.setdefault(source, Repeated())
            own += repeated
        for source, undecided in other.undecided.items():
            self.undecided[source] = min(self.undecided.get(source, undecided), undecided)
        for source, second in other.second.items():
            self.second[source] = min(self.second.get(source, second), second)
        return self

    def refuse(self, keep: Mapping[str, Keep], runs: Mapping[str, RunOf], files: Mapping[str, Sequence[str]]) -> None:
        """Raise that of two records from different files none is known to be the later one, or that there are two."""
        for source, (one, other, name) in self.undecided.items():
            paths, about = files.get(source, ()), "one run of" if source in runs else "about"
            raise DataError(
                f"{in_file(one, paths)} and {in_file(other, paths)} are both {about} qid {name!r}, and no ts "
                f"tells which is the {keep.get(source, 'last')} one",
                hint="Write ts in every record, keep one of the two, or choose with --on-duplicate where there is one.",
                code="trace-order",
            )

    def refuse_second(self) -> None:
        for place, name in self.second.values():
            raise DataError(
                f"{spot(place)} is another trace for qid {name!r}",
                hint="Keep one, or choose --on-duplicate last, first or worst.",
                code="trace-repeated",
            )


class Unknown(msgspec.Struct):
    """Records of unknown questions: how many, the first of them, and the first few names in alphabetical order."""

    lines: int = 0
    first: tuple[int, str] | None = None  # place and question
    names: list[str] = []

    def meet(self, place: int, name: str, lines: int = 1) -> None:
        self.lines += lines
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


Again = tuple[int, int, tuple[str, ...]]  # place of a repeated record, place of the first of its kind, what it repeats


class Once(msgspec.Struct, frozen=True):
    """What makes two records of an input duplicates, of which the first counts, and the message about the second."""

    identity: Callable[[Any], tuple[str, ...]]  # a top-level function, so that it can be pickled
    says: str  # with a place for each part of the identity
    hint: str
    code: str
    lenient: bool = False

    def first_of(self, records: list[Numbered], repeated: Repeated) -> list[Numbered]:
        """The first record of each kind, in order of position."""
        first: dict[tuple[str, ...], Numbered] = {}
        for pair in sorted(records, key=itemgetter(0)):
            identity = self.identity(pair[1])
            if identity in first:
                repeated.meet((pair[0], first[identity][0], identity))
            else:
                first[identity] = pair
        return list(first.values())

    def problems(self, paths: Sequence[str], found: Problems, repeated: Repeated) -> Problems:
        """The problems and duplicates of an input, in line order; `paths` are those of its files."""
        problems = Problems()
        problems.total, problems.unread = found.total + repeated.total, found.unread
        again = (self._problem(paths, one) for one in repeated.first)
        problems.first = sorted([*found.first, *again], key=attrgetter("line"))[:MAX_SHOWN]
        return problems

    def _problem(self, paths: Sequence[str], again: Again) -> Problem:
        place, first, identity = again
        (file, line), (first_file, first_line) = divmod(place, FILE), divmod(first, FILE)
        where = f" of {paths[first_file]}" if first_file != file else ""
        what = f"{self.says.format(*identity)} (first on line {first_line}{where})"
        return Problem(paths[file], line, what, self.hint, self.code)


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


class Dated(NamedTuple):
    """A record among others of which one counts."""

    place: int
    ts: object
    content: Any


def one_of(records: Iterable[Dated], keep: str) -> tuple[Dated, Dated | None]:
    """The last, or the first, of some records: by line within a file, by their own time across files.

    Where no time tells which of two records it is, both are returned. Records that say the same need no time.
    """
    by_file: dict[int, Dated] = {}
    for record in sorted(records, key=itemgetter(0), reverse=keep == "first"):
        by_file[record.place // FILE] = record
    rivals = [by_file[file] for file in sorted(by_file)]
    times = [_time_of(record.ts) for record in rivals] if len(rivals) > 1 else [None]
    known = [time for time in times if time is not None]
    edge = (max if keep == "last" else min)(known, default=None)
    first, *others = (record for record, time in zip(rivals, times, strict=True) if time is None or time == edge)
    return first, next((other for other in others if _undated(other.content) != _undated(first.content)), None)


def _undated(content: Any) -> Any:
    """What a record says, whenever it says so."""
    return msgspec.structs.replace(content, ts=None) if getattr(content, "ts", None) is not None else content


def _time_of(ts: object) -> float | None:
    """When a record was made, in seconds; None where it does not say. A time without a zone is UTC."""
    try:
        seconds = float(ts) if isinstance(ts, (int, float, str)) else nan
    except ValueError:
        return _iso_time(str(ts))
    return None if isnan(seconds) else seconds


def _iso_time(text: str) -> float | None:
    from datetime import UTC, datetime  # few runs have to compare times

    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def spot(place: int) -> str:
    """A position in words: the line, and which file if there are several, in path order."""
    file, line = divmod(place, FILE)
    return f"line {line} of file {file + 1}" if file else f"line {line}"


def in_file(place: int, paths: Sequence[str]) -> str:
    """A position as `file:line`; in words where the files are not known."""
    file, line = divmod(place, FILE)
    return f"{visible(paths[file])}:{line}" if file < len(paths) else spot(place)
