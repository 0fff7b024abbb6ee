"""Rows: one for each item, in order, in memory while they are few and in a temporary file when they are many."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec

from . import spill

if TYPE_CHECKING:
    from typing import IO

MEMORY = 64_000_000  # bytes of rows from which they are kept in a temporary file
PER_ROW = 200  # bytes that a row takes in memory besides its own

Row = dict[str, Any]
Order = tuple[Any, ...]
Entry = tuple[Order, bytes]
Shown = TypeVar("Shown")


class Rows(Sequence[Row]):
    """Rows in their order, kept as bytes. What is more than fits is sorted in parts, and the parts are merged."""

    def __init__(self, rows: Iterable[tuple[Order, Row]] = ()) -> None:
        store = spill.active()
        self._most = MEMORY if store is None else min(MEMORY, store.limit // 10)
        self._entries: list[Entry] = []
        self._size = 0
        self._sorted = True
        self._parts: list[_Part] = []
        for order, row in rows:
            self.append(order, row)

    def append(self, order: Order, row: Row) -> None:
        self._add((order, _encoded(row)))

    def _add(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._sorted = False
        self._size += len(entry[1]) + PER_ROW
        if self._size > self._most:
            self._parts.append(_Part(self._in_memory()))
            self._entries, self._size, self._sorted = [], 0, True

    def _in_memory(self) -> list[Entry]:
        if not self._sorted:
            self._entries.sort(key=_order_of)
            self._sorted = True
        return self._entries

    def _whole(self) -> Sequence[Entry]:
        """All entries in order; many are merged once into one part."""
        if not self._parts:
            return self._in_memory()
        if len(self._parts) > 1 or self._entries:
            merged = _Part(self._merged())
            self._parts, self._entries, self._size = [merged], [], 0
        return self._parts[0]

    def _merged(self) -> Iterator[Entry]:
        import heapq

        return heapq.merge(*self._parts, self._in_memory(), key=_order_of)

    def __len__(self) -> int:
        return len(self._entries) + sum(map(len, self._parts))

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        whole = self._whole()
        if isinstance(at, slice):
            return [_decoded(whole[place][1]) for place in range(*at.indices(len(whole)))]
        return _decoded(whole[at][1])

    def __iter__(self) -> Iterator[Row]:
        return (_decoded(data) for _, data in self._whole())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __iadd__(self, other: Rows) -> Rows:
        for entry in other._whole():
            self._add(entry)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (list(self._whole()),)


class _Part(Sequence[Entry]):
    """Entries in order in a temporary file, and where each begins."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._file: IO[bytes] = spill.temporary()
        self._starts = array("Q", [0])
        with spill.told("write", "the temporary folder/"):
            for entry in entries:
                data = _packed(entry)
                self._file.write(data)
                self._starts.append(self._starts[-1] + len(data))
            self._file.flush()

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> list[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | list[Entry]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        return self._read(place, place + 1)[0]

    def __iter__(self) -> Iterator[Entry]:
        for place in range(0, len(self), TOGETHER):
            yield from self._read(place, min(place + TOGETHER, len(self)))

    def _read(self, first: int, end: int) -> list[Entry]:
        starts = self._starts
        with spill.told("read", "the temporary folder/"):
            self._file.seek(starts[first])
            data = self._file.read(starts[end] - starts[first])
        edges = [start - starts[first] for start in starts[first : end + 1]]
        return [_unpacked(data[edges[at] : edges[at + 1]]) for at in range(end - first)]

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


TOGETHER = 64  # entries that are read at a time


def _packed(entry: Entry) -> bytes:
    order = spill.packed(entry[0])
    return len(order).to_bytes(4, "little") + order + entry[1]


def _unpacked(data: bytes) -> Entry:
    end = 4 + int.from_bytes(data[:4], "little")
    return spill.unpacked(data[4:end]), data[end:]


def _order_of(entry: Entry) -> Order:
    return entry[0]


def _restored(entries: list[Entry]) -> Rows:
    rows = Rows()
    for entry in entries:
        rows._add(entry)
    return rows


_JSON = b"{"  # no map of msgpack begins with it


def _encoded(row: Row) -> bytes:
    """A row as msgpack; as JSON where it has a lone surrogate or a number beyond 64 bits, which msgpack can't hold."""
    try:
        return msgspec.msgpack.encode(row)
    except (UnicodeEncodeError, OverflowError):
        import json  # hardly any run needs it, and starting is to be quick

        return json.dumps(row).encode()


def _decoded(data: bytes) -> Row:
    if data[:1] != _JSON:
        row: Row = msgspec.msgpack.decode(data)
        return row
    import json

    return dict(json.loads(data))


class Shaped(Sequence[Shown]):
    """Rows as somebody shows them, each made when it is read."""

    def __init__(self, rows: Sequence[Row], shape: Callable[[Row], Shown]) -> None:
        self._rows, self._shape = rows, shape

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Shown: ...
    @overload
    def __getitem__(self, at: slice) -> list[Shown]: ...
    def __getitem__(self, at: int | slice) -> Shown | list[Shown]:
        if isinstance(at, slice):
            return [self._shape(row) for row in self._rows[at]]
        return self._shape(self._rows[at])

    def __iter__(self) -> Iterator[Shown]:
        return map(self._shape, self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))
