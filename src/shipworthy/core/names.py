"""Names: a set of names; in memory while they are few, on disk when there are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from . import spill

PARTS = 64  # parts by hash, so that each fits in memory
PER_NAME = 120  # bytes that a name takes in memory


class Names:
    """A set that only grows. `parts` splits it by hash, so that two sets can be compared part by part."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        store = spill.active()
        self._most = None if store is None else store.limit // 20 // PER_NAME
        self._names: set[str] = set()
        self._file: IO[bytes] | None = None
        self._pieces: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)] if store is not None else []
        self.update(names)

    def update(self, names: Iterable[str]) -> None:
        self._names.update(names)
        if self._most is not None and len(self._names) > self._most:
            self._write()

    def _write(self) -> None:
        self._file = self._file or spill.temporary()
        with spill.told("write", "the temporary folder/"):
            for part, names in enumerate(_divided(self._names)):
                data = spill.packed(names)
                self._pieces[part].append((self._file.seek(0, 2), len(data)))
                self._file.write(data)
        self._names = set()

    def parts(self) -> Iterator[set[str]]:
        """The names in parts by hash; one part is in memory at a time."""
        for part, names in enumerate(_divided(self._names)):
            found = set(names)
            for offset, length in self._pieces[part] if self._file is not None else ():
                assert self._file is not None
                self._file.seek(offset)
                found.update(spill.unpacked(self._file.read(length)))
            yield found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names) if self._file is None else (name for part in self.parts() for name in part)

    def __len__(self) -> int:
        return len(self._names) if self._file is None else sum(map(len, self.parts()))

    def __bool__(self) -> bool:
        return bool(self._names) or self._file is not None

    def shared_with(self, other: Names) -> int:
        """How many names both sets have."""
        if self._file is None and other._file is None:
            return len(self._names & other._names)
        return sum(len(one & another) for one, another in zip(self.parts(), other.parts(), strict=True))

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def __eq__(self, other: object) -> bool:
        return set(self) == set(other) if isinstance(other, Names) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return Names, (list(self),)


def _divided(names: Iterable[str]) -> list[list[str]]:
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    for name in names:
        parts[spill.hash_of(name, PARTS)].append(name)
    return parts
