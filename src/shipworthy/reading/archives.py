"""Streams: plain, .gz and .zst files as bytes that end in an error, never early, where they are damaged."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO, cast

from ..errors import DataError, EnvironmentFailure, UsageError
from ..text import visible
from .files import is_remote
from .limits import BLOCK, Damaged
from .parts import PACKED, Part
from .sharing import shared


@contextmanager
def open_binary(path: str, watch: Callable[[bytes], object] | None, part: Part | None = None) -> Iterator[BinaryIO]:
    """Open a plain, .gz or .zst file for reading bytes, or a part of a plain one.

    `watch` sees every byte as it is on disk.
    """
    if os.path.isdir(path):
        raise UsageError("is a directory, a file was expected", where=visible(path), code="directory")
    try:
        raw = _opened(path, watch, part)
    except FileNotFoundError:
        raise UsageError("no such file", where=visible(path), hint="Check the path.", code="no-file") from None
    except OSError as error:
        raise EnvironmentFailure(f"can't be opened: {error.strerror}", where=visible(path), code="unreadable") from None
    except ValueError:  # a path with a NUL in it
        raise UsageError("is not a path", where=visible(path), hint="Check the path.", code="no-file") from None
    try:
        with raw, io.BufferedReader(raw, BLOCK) as stream:
            yield _unpacked(path, stream)
    except Damaged as error:
        what = f"the rest of the file can't be read: {error}"
        raise DataError(what, where=visible(path), hint=error.hint, code=error.code) from None


def _opened(path: str, watch: Callable[[bytes], object] | None, part: Part | None) -> io.RawIOBase:
    if (kept := shared()) is not None and part is None:
        once = os.path.exists(path) and not os.path.isfile(path)
        return kept.open(path, watch, partial(_as_it_is, path), partial(_size_of, path), once)
    return _as_it_is(path, watch, part)


def _as_it_is(path: str, watch: Callable[[bytes], object] | None = None, part: Part | None = None) -> io.RawIOBase:
    if _lies_elsewhere(path):
        from .remote import Watched

        return Watched(path, watch)
    return _Watched(path, watch, part)


def _lies_elsewhere(path: str) -> bool:
    return is_remote(path) and not os.path.exists(path)


def _size_of(path: str) -> int | None:
    """Bytes of a file as far as they are known before it is read; none of a pipe."""
    if _lies_elsewhere(path):
        from .remote import size_of

        return size_of(path)
    if os.path.isfile(path):
        return os.path.getsize(path)
    return 0 if os.path.exists(path) else None


def _unpacked(path: str, stream: Any) -> BinaryIO:
    if path.endswith(PACKED):
        from .unpack import unpacked  # most files are plain

        return unpacked(path, stream)
    return cast(BinaryIO, stream)


class _Watched(io.FileIO):
    """A file whose bytes are shown to `watch` as they are read, so that hashing needs no second pass."""

    def __init__(self, path: str, watch: Callable[[bytes], object] | None, part: Part | None = None) -> None:
        super().__init__(path, "rb")
        self._watch = watch
        self._left: int | None = None
        if part is not None:
            self.seek(part.start)
            self._left = part.end - part.start

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        if self._left is not None:
            view = view[: self._left]
        count = super().readinto(view) or 0
        if self._left is not None:
            self._left -= count
        if count and self._watch is not None:
            self._watch(view[:count])  # type: ignore[arg-type]
        return count
