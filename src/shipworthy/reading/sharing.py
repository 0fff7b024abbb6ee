"""Sharing: a small file that several suites read is read once, and all of them get the same bytes.

So the suites of one board judge the same traces, even if the file changes meanwhile, and a file that lies elsewhere is
fetched once. Large files are streamed anew by each reader: keeping them would take more than reading them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..errors import UsageError
from ..text import visible

KEPT = 64_000_000  # bytes of all files together

Watch = Callable[[bytes], object] | None
Open = Callable[[Watch], io.RawIOBase]


class Shared:
    """Files as they were when they were first read."""

    def __init__(self, paths: Iterable[str], room: int) -> None:
        self._paths, self._room = frozenset(paths), room
        self._kept: dict[str, bytes] = {}
        self._gone: set[str] = set()  # read already, and can't be read again

    def open(self, path: str, watch: Watch, opened: Open, size: Callable[[], int | None], once: bool) -> io.RawIOBase:
        """The file's bytes; as `opened` gives them where nobody else will read it, or where they are too many.

        What can be read only `once`, such as a pipe, must fit.
        """
        if path not in self._kept:
            if path in self._gone:
                raise _too_large(path)
            length = size() if path in self._paths else None
            if length is None or length > self._room:
                return opened(watch)
            with opened(None) as stream:
                data = b"".join(_up_to(stream, self._room))
            if len(data) > self._room:
                if once:
                    self._gone.add(path)
                    raise _too_large(path)
                return opened(watch)
            self._kept[path] = data
            self._room -= len(data)
        return _Again(self._kept[path], watch)


def _up_to(stream: io.RawIOBase, room: int) -> Iterator[bytes]:
    """What there is; where it is more than there is room for, a little more than that."""
    while room >= 0 and (data := stream.read(1 << 20)):
        room -= len(data)
        yield data


def _too_large(path: str) -> UsageError:
    return UsageError(
        "several suites read it, and it can be read only once",
        where=visible(path),
        hint=f"Save it to a file first: up to {KEPT // 10**6} MB are kept, and none within a memory limit.",
        code="read-once",
    )


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
def sharing(paths: Iterable[str], room: int = KEPT) -> Iterator[None]:
    """Read each of these files once, as many as there is room for."""
    token = _ACTIVE.set(Shared(paths, room))
    try:
        yield
    finally:
        _ACTIVE.reset(token)
