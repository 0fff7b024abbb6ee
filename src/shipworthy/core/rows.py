"""Rows: one for each item, in order; in memory while they are few, in a temporary file when there are many."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, islice
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints, overload

import msgspec

from ..reading.reports import Passing
from . import temporary

if TYPE_CHECKING:
    from typing import IO

MEMORY = 64_000_000  # bytes of rows above which they go to a temporary file
PER_ROW = 200  # bytes of overhead for each row in memory

Row = dict[str, Any]
Order = tuple[Any, ...]
Entry = tuple[Order, bytes]
_order_of = itemgetter(0)
Shown = TypeVar("Shown")


class Rows(Sequence[Row]):
    """Rows in their order, kept as bytes. What is more than fits is sorted in parts, and the parts are merged.

    Rows that are records of one type, without fractions, are kept as the JSON that a report has of them.
    """

    def __init__(self, rows: Iterable[tuple[Order, Row | msgspec.Struct]] = (), room: int = MEMORY) -> None:
        self._most = room
        self._entries: list[Entry] = []
        self._size = 0
        self._sorted = True
        self._parts: list[_Part] = []
        self._type: type[msgspec.Struct] | None = None  # the type of all rows, once there is one
        self._mixed = False
        self.hashed: tuple[bytes, int, Any] = b"", 0, None  # hash without the rows, their number, hash with them
        for order, row in rows:
            self.append(order, row)

    def append(self, order: Order, row: Row | msgspec.Struct) -> None:
        if type(row) is not self._type:
            self._meet(type(row))
        self.add(order, _encoded(row))

    def add(self, order: Order, data: bytes) -> None:
        """Add what is already encoded."""
        self._entries.append((order, data))
        self._size += len(data) + PER_ROW
        self._sorted = False
        if self._size > self._most:
            self._put_down()

    def _meet(self, kind: type[object]) -> None:
        new = not (self._mixed or self._type or len(self))
        self._type = kind if new and issubclass(kind, msgspec.Struct) and _has_no_fraction(kind) else None
        self._mixed = self._type is None

    def extend(self, entries: Iterable[Entry]) -> None:
        """Add entries that are already encoded."""
        for some in batched(entries, TOGETHER):
            self._entries += some
            self._size += sum([len(data) for _, data in some]) + PER_ROW * len(some)
            self._sorted = False
            if self._size > self._most:
                self._put_down()

    def _put_down(self) -> None:
        """Move the entries in memory to disk."""
        self._parts.append(_Part(self._in_memory()))
        self._entries, self._size = [], 0

    def _in_memory(self) -> list[Entry]:
        if not self._sorted:
            self._entries.sort(key=_order_of)
            self._sorted = True
        return self._entries

    def _whole(self) -> Sequence[Entry]:
        """All entries in order; parts are merged once into one."""
        if not self._parts:
            return self._in_memory()
        if len(self._parts) > 1 or self._entries:
            import heapq

            merged = _Part(heapq.merge(*self._parts, self._in_memory(), key=_order_of))
            self._parts, self._entries, self._size = [merged], [], 0
        return self._parts[0]

    def __len__(self) -> int:
        return len(self._entries) + sum(map(len, self._parts))

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        whole = self._whole()
        if not isinstance(at, slice):
            return _decoded(whole[range(len(whole))[at]][1])
        start, stop, step = at.indices(len(whole))
        entries = list(whole)[at] if step < 0 else islice(whole, start, stop, step)
        return [_decoded(data) for _, data in entries]

    def of_kind(self, kind: int) -> Rows:
        """The rows whose order begins with this number."""
        chosen = Rows(room=self._most)
        chosen._type, chosen._mixed = self._type, self._mixed
        chosen.extend(entry for entry in self._whole() if entry[0][0] == kind)
        return chosen

    def __iter__(self) -> Iterator[Row]:
        return (_decoded(data) for _, data in self._whole())

    def as_json(self, *, ordered: bool = False) -> Iterator[bytes] | None:
        """The rows as compact JSON arrays, many in each; None if the rows have no common type."""
        if self._type is None:
            return None
        batches = map(_as_array, batched(self._whole(), TOGETHER))
        return map(partial(_ordered, self._type), batches) if ordered else batches

    def _failing(self, passes: Passing) -> Iterator[bytes] | None:
        """The rows that fail, if `reason` tells: an empty reason is found without decoding the row."""
        if passes != Passing() or self._type is None or passes.field not in self._type.__struct_fields__:
            return None
        return (data for _, data in self._whole() if _NO_REASON not in data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __iadd__(self, other: Rows) -> Rows:
        if len(other):
            if other._type is None or other._type is not self._type:
                self._meet(other._type or dict)
            self.extend(other._whole())
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (list(self._whole()), self._type)


def digest_of_names(rows: Rows) -> str:
    """sha256 of a table by name, as JSON has it: `lock.set_digest` of a set that need not be in memory."""
    found = hashlib.sha256(b"{")
    for number, ((name,), data) in enumerate(rows._whole()):
        try:
            key = _encode(name)
        except UnicodeEncodeError:
            import json

            key = json.dumps(name, ensure_ascii=False).encode("utf-8", "backslashreplace")
        found.update(b',%s:"%s"' % (key, data) if number else b'%s:"%s"' % (key, data))
    found.update(b"}")
    return found.hexdigest()


class _Part(Sequence[Entry]):
    """Entries in order in a temporary file, in blocks, and where each block begins."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._file: IO[bytes] = temporary.temporary()
        self._starts = array("Q", [0])
        self._count = 0
        with temporary.disk_errors("write", "the temporary folder/"):
            for block in batched(entries, TOGETHER):
                data = temporary.pack(block)
                self._file.write(data)
                self._starts.append(self._starts[-1] + len(data))
                self._count += len(block)
            self._file.flush()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        block, within = divmod(place, TOGETHER)
        return self._read(block)[within]

    def __iter__(self) -> Iterator[Entry]:
        return chain.from_iterable(map(self._read, range(len(self._starts) - 1)))

    def _read(self, block: int) -> Sequence[Entry]:
        start, end = self._starts[block : block + 2]
        with temporary.disk_errors("read", "the temporary folder/"):
            self._file.seek(start)
            entries: Sequence[Entry] = temporary.unpack(self._file.read(end - start))
        return entries

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def failing_rows(rows: Iterable[Row], passes: Passing) -> Iterator[Row]:
    """The rows that do not pass."""
    found = rows._failing(passes) if isinstance(rows, Rows) else None
    return (row for row in rows if not passes(row)) if found is None else map(_decoded, found)


def failing_count(rows: Iterable[Row], passes: Passing) -> int:
    """How many rows do not pass."""
    found = rows._failing(passes) if isinstance(rows, Rows) else None
    return sum(not passes(row) for row in rows) if found is None else sum(1 for _ in found)


_NO_REASON = b'"reason":""'  # no string of JSON holds this: its quotes would be escaped
TOGETHER = 256  # entries in one block of a file, and in one piece of a report


def batched(entries: Iterable[Shown], size: int) -> Iterator[tuple[Shown, ...]]:
    remaining = iter(entries)
    while batch := tuple(islice(remaining, size)):
        yield batch


def _restored(entries: list[Entry], kind: type[msgspec.Struct] | None) -> Rows:
    rows = Rows()
    rows._type, rows._mixed = kind, kind is None and bool(entries)
    rows.extend(entries)
    return rows


def _has_no_fraction(kind: type[msgspec.Struct]) -> bool:
    """Whether no field is a float, which msgspec and the standard library write in two ways."""
    return not any("float" in str(hint) or "Any" in str(hint) for hint in kind.__annotations__.values())


_JSON, _ESCAPED = b"{", b" "  # no map of msgpack begins with either


_encode = msgspec.json.Encoder().encode


def _encoded(row: Row | msgspec.Struct) -> bytes:
    """A typed row as JSON, another as msgpack; as escaped JSON where it has a lone surrogate or a huge number."""
    try:
        return msgspec.msgpack.encode(row) if type(row) is dict else _encode(row)
    except (UnicodeEncodeError, OverflowError):
        import json  # rarely needed, and start-up should be fast

        return _ESCAPED + json.dumps(msgspec.to_builtins(row), separators=(",", ":")).encode()


def _decoded(data: bytes) -> Row:
    row: Row
    if data[:1] == _ESCAPED:
        import json

        row = json.loads(data)
    else:
        row = msgspec.json.decode(data) if data[:1] == _JSON else msgspec.msgpack.decode(data)
    return row


@lru_cache
def _decoder(kind: Any) -> msgspec.json.Decoder[list[Any]]:
    """A decoder into records whose fields are sorted by name, so that they are encoded in that order."""
    hints = get_type_hints(kind)
    fields = [
        (field.name, hints[field.name], *(() if field.default is msgspec.NODEFAULT else (field.default,)))
        for field in sorted(msgspec.structs.fields(kind), key=attrgetter("name"))
    ]
    ordered: Any = msgspec.defstruct(kind.__name__, fields, kw_only=True, gc=False)
    return msgspec.json.Decoder(list[ordered])


def _as_array(entries: Iterable[Entry]) -> bytes:
    return b"[" + b",".join([data for _, data in entries]) + b"]"


def _ordered(kind: type[msgspec.Struct], rows: bytes) -> bytes:
    """Rows as JSON with sorted keys."""
    try:
        return _encode(_decoder(kind).decode(rows))
    except msgspec.DecodeError:  # half of a surrogate pair
        import json

        return json.dumps(json.loads(rows), sort_keys=True).encode()
