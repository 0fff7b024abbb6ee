"""Evidence: what a run amounts to, a tally, the worst few and one row per item; it adds up in any order."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload

import msgspec

from .tally import Fact, Tally

if TYPE_CHECKING:
    from typing import IO

CARDS = 20_000  # failing items that are kept in detail
MEMORY = 64_000_000  # bytes of rows from which they are kept in a temporary file

ROW_TEXT = 400  # characters of a question or a claim in a row

Row = dict[str, Any]
Order = tuple[Any, ...]


class Counted(NamedTuple):
    """Facts to count together: in which part and slices of the evidence, and which of them keep the item's name."""

    facts: Iterable[Fact]
    slices: Iterable[str] = ()
    part: str = ""
    name: str = ""
    named: Iterable[str] = ()


class Offence(NamedTuple):
    """A candidate for the worst few: its place among them, and the card that is made only if it gets there."""

    order: Order
    card: Callable[[], Row]
    kind: str = ""


class Counting(Protocol):
    """What a suite says of a verdict: the part of the contract that evidence is made with."""

    @property
    def facts(self) -> Callable[[Any, Any], Iterable[Counted]]: ...
    @property
    def rows(self) -> Callable[[Any, Any], Iterable[tuple[Order, Row]]]: ...
    @property
    def offences(self) -> Callable[[Any, Any], Iterable[Offence]]: ...
    @property
    def sees(self) -> Callable[[Any, Any], Iterable[tuple[str, Iterable[str]]]]: ...


class Evidence:
    """Counts by part, the worst few by kind, rows by item, and names that were seen; `+=` of any split is the whole."""

    def __init__(self, worst: int = 10) -> None:
        self.limit = worst  # offenders that a report names
        self._kept = max(worst, CARDS)
        self.tallies: dict[str, Tally] = {}
        self.worst: dict[str, list[tuple[Order, Callable[[], Row]]]] = {}  # made into cards when somebody reads them
        self.rows = Rows()
        self.seen: dict[str, set[str]] = {}
        self.unjudged = Tally()  # questions that nobody could judge: how many, and the first names

    @property
    def tally(self) -> Tally:
        """The counts of the only or main part."""
        return self.part("")

    def part(self, name: str) -> Tally:
        if name not in self.tallies:
            self.tallies[name] = Tally()
        return self.tallies[name]

    def add(self, suite: Counting, verdict: Any, context: Any) -> None:
        """Count a verdict, keep its rows, and keep its card if it is among the worst."""
        for facts, slices, part, name, named in suite.facts(verdict, context):
            tally = self.part(part)
            tally.count(facts, slices)
            for fact in named:
                tally.name(fact, name)
        for order, row in suite.rows(verdict, context):
            self.rows.append(order, row)
        for offence in suite.offences(verdict, context):
            self._offend(offence)
        for kind, names in suite.sees(verdict, context):
            self.seen.setdefault(kind, set()).update(names)

    def _offend(self, offence: Offence) -> None:
        kept = self.worst.setdefault(offence.kind, [])
        if len(kept) < self._kept or (kept and offence.order < kept[-1][0]):
            insort(kept, (offence.order, offence.card), key=_order_of)
            del kept[self._kept :]

    def miss(self, name: str) -> None:
        """A question that should have been judged and was not."""
        self.unjudged.count(("unjudged",))
        self.unjudged.name("unjudged", name)

    def offenders(self, kind: str = "") -> list[Row]:
        """The worst few, as many as were asked for."""
        return self.cards(kind)[: self.limit]

    def cards(self, kind: str = "") -> Cards:
        """All failing items in detail, worst first; each is made when it is read."""
        return Cards([card for _, card in self.worst.get(kind, ())])

    def __iadd__(self, other: Evidence) -> Evidence:
        for part, tally in other.tallies.items():
            self.tallies[part] = self.part(part) + tally
        for kind, cards in other.worst.items():
            merged = sorted([*self.worst.get(kind, ()), *cards], key=_order_of)
            self.worst[kind] = merged[: self._kept]
        for kind, names in other.seen.items():
            self.seen.setdefault(kind, set()).update(names)
        self.unjudged += other.unjudged
        self.rows += other.rows
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: cards that are made already, because how to make them can't go."""
        made = {kind: [(order, partial(_same, card())) for order, card in kept] for kind, kept in self.worst.items()}
        return self.__dict__ | {"worst": made}


def _order_of(pair: tuple[Order, Callable[[], Row]]) -> Order:
    return pair[0]


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

    def __reduce__(self) -> tuple[Any, ...]:
        return Cards, ([partial(_same, card) for card in self],)


def brief(text: str) -> str:
    """A question or a claim as a row has it: the cards have it whole."""
    return text if len(text) <= ROW_TEXT else f"{text[: ROW_TEXT - 1]}…"


class Rows(Sequence[Row]):
    """Rows in their order, kept as bytes: in memory while they are few, in a temporary file when they are many."""

    def __init__(self, rows: Iterable[tuple[Order, Row]] = ()) -> None:
        self._index: list[tuple[Order, int, int]] = []  # order, offset, length
        self._memory = bytearray()
        self._file: IO[bytes] | None = None
        self._size = 0
        self._sorted = True
        for order, row in rows:
            self.append(order, row)

    def append(self, order: Order, row: Row) -> None:
        data = _encoded(row)
        self._index.append((order, self._size, len(data)))
        self._sorted = False
        self._write(data)

    def _write(self, data: bytes | bytearray) -> None:
        self._size += len(data)
        if self._file is None:
            self._memory += data
            if len(self._memory) > MEMORY:
                import tempfile  # only large runs need it, and it is slow to import

                self._file = tempfile.TemporaryFile()  # noqa: SIM115 — closed with the rows
                self._file.write(self._memory)
                self._memory = bytearray()
        else:
            self._file.seek(0, 2)
            self._file.write(data)

    def _bytes(self, offset: int, length: int) -> bytes | bytearray:
        if self._file is None:
            return self._memory[offset : offset + length]
        self._file.seek(offset)
        return self._file.read(length)

    def _ordered(self) -> list[tuple[Order, int, int]]:
        if not self._sorted:
            self._index.sort()
            self._sorted = True
        return self._index

    def __len__(self) -> int:
        return len(self._index)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        found = self._ordered()[at]
        if isinstance(found, list):
            return [self._decoded(*place) for place in found]
        return self._decoded(*found)

    def _decoded(self, _order: Order, offset: int, length: int) -> Row:
        data = self._bytes(offset, length)
        row: Row = _read_json(data) if data[:1] == _JSON else msgspec.msgpack.decode(data)
        return row

    def __iter__(self) -> Iterator[Row]:
        return (self._decoded(*place) for place in list(self._ordered()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __iadd__(self, other: Rows) -> Rows:
        start = self._size
        self._index += [(order, offset + start, length) for order, offset, length in other._index]
        self._sorted = False
        self._write(other._bytes(0, other._size))
        return self

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._index, bytes(self._bytes(0, self._size)))


_JSON = b"{"  # no map of msgpack begins with it


def _encoded(row: Row) -> bytes:
    """A row as msgpack; as JSON where it has a lone surrogate or a number beyond 64 bits, which msgpack can't hold."""
    try:
        return msgspec.msgpack.encode(row)
    except (UnicodeEncodeError, OverflowError):
        import json  # hardly any run needs it, and starting is to be quick

        return json.dumps(row).encode()


def _read_json(data: bytes | bytearray) -> Any:
    import json

    return json.loads(data)


def _restored(index: list[tuple[Order, int, int]], data: bytes) -> Rows:
    rows = Rows()
    rows._index, rows._sorted = index, False
    rows._write(data)
    return rows
