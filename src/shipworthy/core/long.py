"""Long values: lists and tables of a report that are made while they are written, as they may not fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from .rows import Row

Shown = TypeVar("Shown")


class Shaped(Sequence[Shown]):
    """Rows as a report shows them, each made when it is read."""

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


class ByName(Mapping[str, Row]):
    """Rows that are in the order of their names, as a table by name; each is made when it is read."""

    def __init__(self, rows: Sequence[Row], name: str, shape: Callable[[Row], Row]) -> None:
        self._rows, self._name, self._shape = rows, name, shape

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return (row[self._name] for row in self._rows)

    def __getitem__(self, name: str) -> Row:
        for row in self._rows:
            if row[self._name] == name:
                return self._shape(row)
        raise KeyError(name)

    def items(self) -> Any:
        return ((row[self._name], self._shape(row)) for row in self._rows)

    def values(self) -> Any:
        return map(self._shape, self._rows)

    def __repr__(self) -> str:
        return repr(dict(self.items()))


LONG = (Shaped, ByName)


def holds_long(value: object) -> bool:
    """Whether a value is long, or has a long one somewhere in its tables."""
    return isinstance(value, LONG) or (isinstance(value, dict) and any(map(holds_long, value.values())))


def whole(value: Any) -> Any:
    """A long value as a plain list or dict."""
    return dict(value.items()) if isinstance(value, ByName) else list(value)
