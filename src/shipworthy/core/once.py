"""Once: which of several records counts where only one can.

Of some an input may have only one of a kind, such as the label of one rater for one item: the first counts, the others
are problems of their lines. Of others, such as traces of one run, the last counts. Both are known when all records of
a question are together, so this holds wherever they are gathered.
"""

from __future__ import annotations

import pickle
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from math import isnan, nan
from operator import attrgetter, itemgetter
from typing import Any, Literal, NamedTuple

import msgspec

from ..reading.jsonl import Problem, Problems
from ..reading.limits import MAX_SHOWN
from ..text import visible

FILE = 1 << 40  # places of the second file of an input begin here: no file has so many lines
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


def one_of(records: Iterable[Dated], keep: Literal["last", "first"]) -> tuple[Dated, Dated | None]:
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
    """What a record says, whenever it says so.

    A record that was read quickly has a type of its own, and equals no other until it is one of the usual type, which
    pickling makes of it.
    """
    content = pickle.loads(pickle.dumps(content))
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
