"""Streams: plain, .gz and .zst files as bytes that end in an error, never early, where they are damaged.

A small file that several suites read is read once (`sharing`), and all of them get the same bytes, even if the file
changes meanwhile; one that lies elsewhere is fetched once. Large files are read anew by each.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, BinaryIO, Protocol, cast

import msgspec

from ..errors import DataError, EnvironmentFailure, UsageError
from ..text import visible
from .files import is_remote
from .limits import BLOCK, MAX_RATIO, MAX_UNPACKED, MAX_WINDOW, RATIO_FROM, Damaged

PACKED = (".gz", ".zst")  # endings of archives, which have no parts


class Part(msgspec.Struct, frozen=True):
    """Bytes `start` to `end` of a file of lines, which are read as a file of their own. It is a path as well."""

    path: str
    start: int
    end: int
    first: int  # number of its first line

    def __fspath__(self) -> str:
        return self.path


@contextmanager
def open_binary(path: str, watch: Callable[[bytes], object] | None, part: Part | None = None) -> Iterator[BinaryIO]:
    """Open a plain, .gz or .zst file for reading bytes, or a part of a plain one.

    `watch` sees every byte as it is on disk.
    """
    if os.path.isdir(path):
        raise UsageError("is a directory, a file was expected", where=visible(path), code="directory")
    try:
        shared = _SHARED.get() if part is None else None
        if shared is None:
            raw = _as_it_is(path, watch, part)
        else:
            once = os.path.exists(path) and not os.path.isfile(path)
            raw = shared.open(path, watch, partial(_as_it_is, path), partial(_size_of, path), once)
    except FileNotFoundError:
        raise UsageError("no such file", where=visible(path), hint="Check the path.", code="no-file") from None
    except OSError as error:
        raise EnvironmentFailure(f"can't be opened: {error.strerror}", where=visible(path), code="unreadable") from None
    except ValueError:  # a path with a NUL in it
        raise UsageError("is not a path", where=visible(path), hint="Check the path.", code="no-file") from None
    try:
        with raw, io.BufferedReader(raw, BLOCK) as stream:
            if path.endswith(PACKED):
                yield unpacked(path, stream)
            else:
                yield cast(BinaryIO, stream)
    except Damaged as error:
        what = f"the rest of the file can't be read: {error}"
        raise DataError(what, where=visible(path), hint=error.hint, code=error.code) from None


def _as_it_is(path: str, watch: Callable[[bytes], object] | None = None, part: Part | None = None) -> io.RawIOBase:
    if is_remote(path) and not os.path.exists(path):
        from .remote import Watched

        return Watched(path, watch)
    return _Watched(path, watch, part)


def _size_of(path: str) -> int | None:
    """Bytes of a file as far as they are known before it is read; none of a pipe."""
    if is_remote(path) and not os.path.exists(path):
        from .remote import size_of

        return size_of(path)
    if os.path.isfile(path):
        return os.path.getsize(path)
    return 0 if os.path.exists(path) else None


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


# --- files that several suites read ---

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


_SHARED: ContextVar[Shared | None] = ContextVar("shipworthy_shared", default=None)


@contextmanager
def sharing(paths: Iterable[str], room: int = KEPT) -> Iterator[None]:
    """Read each of these files once, as many as there is room for."""
    token = _SHARED.set(Shared(paths, room))
    try:
        yield
    finally:
        _SHARED.reset(token)


SIP = 4096  # bytes of a .gz file that are unpacked at once
ZST_SIP = 512  # of a .zst file, of which four bytes can become 128 kB: 17 MB at the very most


def unpacked(path: str, stream: BinaryIO) -> BinaryIO:
    """The content of an archive, by the ending of its name."""
    if path.endswith(".gz"):
        return cast(BinaryIO, io.BufferedReader(_Unpacked(stream, _Gzip, SIP, padding=b"\x00"), BLOCK))
    return cast(BinaryIO, io.BufferedReader(_Unpacked(stream, _zstandard(), ZST_SIP), BLOCK))


class _Member(Protocol):
    """One gzip member or zstd frame that is being unpacked."""

    eof: bool

    def unpack(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """What came out, what of the data is left over, and whether more would come out without further data."""


class _Unpacked(io.RawIOBase):
    """The members of an archive one after the other, within the limits."""

    def __init__(self, source: BinaryIO, begin: Callable[[], _Member], sip: int, padding: bytes = b"") -> None:
        self._source, self._begin, self._sip, self._padding = source, begin, sip, padding
        self._member: _Member | None = None
        self._left, self._ready = b"", memoryview(b"")
        self._more = False
        self._read = self._out = self._members = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not len(self._ready):
            if not self._step():
                return 0
        part = self._ready[: len(buffer)]
        self._ready = self._ready[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def _step(self) -> bool:
        """Unpack a little more; False at the end of the archive, which must be the end of a member."""
        data = self._left
        if not data and not self._more:
            data = self._source.read(self._sip)
            self._read += len(data)
            if not data:
                return self._ended()
        if self._member is None:
            data = data.lstrip(self._padding) if self._members and self._padding else data
            if not data:
                self._left = b""
                return True
            self._member = self._begin()
            self._members += 1
        self._unpack(self._member, data)
        return True

    def _ended(self) -> bool:
        if self._member is not None or not self._members:
            raise Damaged("the archive is cut off" if self._read else "the archive is empty")
        return False

    def _unpack(self, member: _Member, data: bytes) -> None:
        out, self._left, self._more = member.unpack(data)
        if member.eof:
            self._member, self._more = None, False
        self._ready = memoryview(out)
        self._out += len(out)
        self._check()

    def _check(self) -> None:
        if self._out > RATIO_FROM and self._out > MAX_RATIO * self._read:
            raise Damaged(
                f"the archive unpacks to more than {MAX_RATIO} times its size",
                "If that is intended, give the unpacked file.",
                "archive-ratio",
            )
        if self._out > MAX_UNPACKED:
            size = MAX_UNPACKED // 1_000_000_000
            raise Damaged(f"the archive holds more than {size} GB", "Split it.", "archive-size")


class _Gzip:
    def __init__(self) -> None:
        import zlib

        self._error, self._state = zlib.error, zlib.decompressobj(wbits=31)
        self.eof = False

    def unpack(self, data: bytes) -> tuple[bytes, bytes, bool]:
        try:
            out = self._state.decompress(data, BLOCK)
        except self._error as error:
            raise Damaged(f"the archive is damaged ({error})", "Write it again.") from None
        self.eof = self._state.eof
        left = self._state.unused_data if self.eof else self._state.unconsumed_tail
        return out, left, len(out) == BLOCK


class _Zstandard:
    def __init__(self, state: Any, error: type[Exception]) -> None:
        self._state, self._error = state, error
        self.eof = False

    def unpack(self, data: bytes) -> tuple[bytes, bytes, bool]:
        try:
            out = self._state.decompress(data)
        except (self._error, MemoryError) as error:
            raise Damaged(f"the archive is damaged ({visible(str(error), 100)})", "Write it again.") from None
        self.eof = self._state.eof
        return out, self._state.unused_data if self.eof else b"", False


def _zstandard() -> Callable[[], _Member]:
    try:
        import zstandard
    except ImportError:
        raise UsageError(
            ".zst files need the package zstandard", hint="pip install 'shipworthy[zst]'", code="needs-extra"
        ) from None
    unpacker = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
    return lambda: _Zstandard(unpacker.decompressobj(), zstandard.ZstdError)
