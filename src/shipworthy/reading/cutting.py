"""Cutting: the parts of a file that can be read on their own, each with the number of its first line or row.

Cutting reads a file once, from end to end: that gives its digest, which must not depend on the parts, and the line
numbers, which must be true in each of them. It is far cheaper than decoding, and nothing has to be numbered again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any, Protocol

import msgspec

from .parts import PACKED, Part
from .tables import parquet_file

SCANNED = 1 << 20  # bytes that are looked at together
WHOLE = tuple(f"{name}{packed}" for name in (".json", ".csv", ".tsv") for packed in ("", *PACKED))


class Parts(Protocol):
    """The parts of a file in order; its digest is known once all of them were given out."""

    @property
    def digest(self) -> str: ...
    def __iter__(self) -> Iterator[Part]: ...


def parts_of(path: str, size: int) -> Parts | None:
    """How to cut a file into parts of about `size` bytes; None if it must be read whole."""
    name = path.lower()
    if not os.path.isfile(path):  # a pipe can be read only once; a missing file is reported when it is opened
        return None
    if name.endswith(".parquet"):
        return RowGroups(path, size)
    return None if name.endswith(WHOLE + PACKED) else LineRanges(path, size)


class LineRanges:
    """Ranges of whole lines. A line ends with a newline byte, as the reader has it."""

    def __init__(self, path: str, size: int) -> None:
        self.path, self._size = path, size
        self.digest = ""

    def __iter__(self) -> Iterator[Part]:
        digest = hashlib.sha256()
        start = position = 0
        first = line = 1
        with open(self.path, "rb", buffering=0) as stream:
            while block := stream.read(SCANNED):
                digest.update(block)
                counted = 0  # how much of the block has its lines counted
                while (cut := self._cut(block, start, position)) >= 0:
                    line += _newlines(block[counted:cut])
                    counted = cut
                    yield Part(self.path, start, position + cut, first)
                    start, first = position + cut, line
                line += _newlines(block[counted:])
                position += len(block)
        if position > start or not position:
            yield Part(self.path, start, position, first)
        self.digest = digest.hexdigest()

    def _cut(self, block: bytes, start: int, position: int) -> int:
        """Where in the block the range that began at `start` ends, after a newline; -1 if it goes on."""
        least = max(start + self._size - position, start - position + 1, 1)
        return block.find(b"\n", least - 1) + 1 or -1


def _newlines(data: bytes) -> int:
    """How many lines end in a piece of a file; a third of the time of `count`, which looks at byte after byte."""
    return len(BytesIO(data).readlines()) - (data[-1:] not in (b"\n", b""))


class Scan(msgspec.Struct, frozen=True):
    """A range of a file's bytes, wherever it begins and ends."""

    path: str
    start: int
    end: int


def scans_of(path: str, size: int, part: int) -> list[Scan]:
    """A file as ranges that can be scanned anywhere, in any order."""
    return [Scan(path, start, min(start + part, size)) for start in range(0, size, part)]


def scanned(scan: Scan) -> tuple[int, int]:
    """How many lines end in a range, and the offset after the first end; -1 if none does."""
    count, first, position = 0, -1, scan.start
    with open(scan.path, "rb", buffering=0) as stream:
        stream.seek(scan.start)
        while block := stream.read(min(SCANNED, scan.end - position)):
            if first < 0 and (found := block.find(b"\n")) >= 0:
                first = position + found + 1
            count += _newlines(block)
            position += len(block)
    return count, first


def parts_between(path: str, size: int, found: Iterable[tuple[int, int]]) -> list[Part]:
    """Parts of whole lines, from the scans in order: each part begins after a range's first line end."""
    starts, line = [(0, 1)], 1
    for number, (count, first) in enumerate(found):
        if number and 0 <= first < size:
            starts.append((first, line + 1))
        line += count
    ends = [start for start, _ in starts[1:]] + [size]
    return [Part(path, start, end, first) for (start, first), end in zip(starts, ends, strict=True)]


def digest_of_file(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class RowGroups:
    """Row groups of a Parquet file, combined into parts."""

    def __init__(self, path: str, size: int) -> None:
        self.path, self._size = path, size
        self.digest = ""

    def __iter__(self) -> Iterator[Part]:
        with parquet_file(self.path) as table:
            yield from self._cut(table.metadata)
        self.digest = digest_of_file(self.path)

    def _cut(self, metadata: Any) -> Iterator[Part]:
        start, first, row, size = 0, 1, 1, 0
        for group in range(metadata.num_row_groups):
            size += metadata.row_group(group).total_byte_size
            row += metadata.row_group(group).num_rows
            if size >= self._size:
                yield Part(self.path, start, group + 1, first)
                start, first, size = group + 1, row, 0
        if start < metadata.num_row_groups or not start:
            yield Part(self.path, start, metadata.num_row_groups, first)
