"""Unpack: the content of .gz and .zst files, within the limits, with an error where they are cut off or damaged."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol, cast

from ..errors import UsageError
from ..text import visible
from .limits import BLOCK, MAX_RATIO, MAX_UNPACKED, MAX_WINDOW, RATIO_FROM, Damaged

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
