"""Sharing: while it is on, a small file is read once, and whoever reads it again gets the same bytes.

So the suites of one board judge the same traces, even if the file changes meanwhile, and a file that lies elsewhere is
fetched once. Large files are streamed anew by each reader: keeping them would take more than reading them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

KEPT = 64_000_000  # bytes of all files together

Watch = Callable[[bytes], object] | None
Open = Callable[[Watch], io.RawIOBase]


class Shared:
    """Files as they were when they were first read."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: dict[str, bytes] = {}

    def open(self, path: str, watch: Watch, opened: Open, size: Callable[[], int | None]) -> io.RawIOBase:
        """The file's bytes; as `opened` gives them where they are too many to keep."""
        if path not in self._kept:
            length = size()
            if length is None or length > self._room:
                return opened(watch)
            with opened(None) as stream:
                data = b"".join(iter(lambda: stream.read(1 << 20), b""))
            self._kept[path] = data
            self._room -= len(data)
        return _Again(self._kept[path], watch)


class _Again(io.RawIOBase):
    """Bytes that were read before, shown to `watch` as those of a file are."""

    def __init__(self, data: bytes, watch: Watch) -> None:
        self._stream, self._watch = io.BytesIO(data), watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto(buffer)
        if count and self._watch is not None:
            self._watch(memoryview(buffer)[:count])  # type: ignore[arg-type]
        return count


_ACTIVE: ContextVar[Shared | None] = ContextVar("shipworthy_shared", default=None)


def shared() -> Shared | None:
    return _ACTIVE.get()


@contextmanager
def sharing(room: int = KEPT) -> Iterator[None]:
    """Read each small file once, as many as there is room for."""
    token = _ACTIVE.set(Shared(room))
    try:
        yield
    finally:
        _ACTIVE.reset(token)
