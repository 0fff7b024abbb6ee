"""Piles: parts of files are split into piles of lines by question; all piles of one number hold some questions whole.

Splitting them and working on them can be done anywhere: in processes, over files on disk, or on a cluster.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import msgspec

from ..core.inputs import FILE, Format, Input, Stream, join_digests
from ..core.join import TOGETHER, Keep, Lot, Question, Slot, Wanted, hash_of, merge
from ..core.records import is_other_format
from ..errors import DataError
from ..reading.archives import PACKED, Part
from ..reading.files import Files, is_remote
from ..text import visible
from . import size_of

SCANNED = 1 << 20  # bytes that are looked at together
ROUND = 16_000_000  # bytes of lines that are put into piles at a time

Pile = list[tuple[str, str, Sequence[Any], int, int]]  # question, input, lines, how many they replace, the first place
Put = Callable[[int, Pile], None]  # the number of a pile, and what to add to it


class Piece(msgspec.Struct, frozen=True):
    """A file of an input, or a part of it."""

    source: str
    file: int
    path: str | Part

    @property
    def label(self) -> str:
        """Where it begins, for a message."""
        first = self.path.first if isinstance(self.path, Part) else 1
        return f"{visible(os.fspath(self.path))}:{first}"


class Pieces(msgspec.Struct, frozen=True):
    """What is split together: a large part of one file, or many small files."""

    pieces: tuple[Piece, ...]

    @property
    def label(self) -> str:
        return self.pieces[0].label


class Plan:
    """The files of all inputs in pieces, cut while they are given out; then what reading them has told."""

    def __init__(self, streams: Mapping[str, Stream], size: int) -> None:
        self._streams, self._size = streams, size
        self._digests: dict[tuple[str, int], str] = {}
        self._reads: list[tuple[Piece, Input]] = []
        self._stamps: dict[str, os.stat_result] = {}  # of files that are read twice: cut, then split
        self.here = [name for name, stream in streams.items() if not _is_read_elsewhere(stream)]

    def __iter__(self) -> Iterator[Pieces]:
        together: list[Piece] = []
        held = 0
        for piece, size in self._cut():
            if together and held + size > self._size:
                yield Pieces(tuple(together))
                together, held = [], 0
            together.append(piece)
            held += size
        if together:
            yield Pieces(tuple(together))

    def _cut(self) -> Iterator[tuple[Piece, int]]:
        for name, stream in self._streams.items():
            if name in self.here:
                continue
            for file, path in enumerate(stream.paths):
                if stream.whole or not _has_parts(path) or size_of(path) <= self._size:
                    yield Piece(name, file, path), size_of(path)
                    continue
                self._stamps[path] = os.stat(path)
                lines = Ranges(path, self._size)
                for part in lines:
                    yield Piece(name, file, part), part.end - part.start
                self._digests[name, file] = lines.digest

    def add(self, pieces: Pieces, reads: Sequence[Input]) -> None:
        self._reads += zip(pieces.pieces, reads, strict=True)

    def close(self) -> None:
        """Add up what reading has told, in the order of the files."""
        for path, before in self._stamps.items():
            now = os.stat(path)
            grown = now.st_size - before.st_size
            replaced = now.st_ino != before.st_ino
            if replaced or grown < 0 or (not grown and now.st_mtime_ns != before.st_mtime_ns):  # added lines do no harm
                what, hint = "changed while it was read", "Score it again when nothing writes to it."
                raise DataError(what, where=visible(path), hint=hint, code="input-changed")
        order = {name: number for number, name in enumerate(self._streams)}
        for piece, read in sorted(self._reads, key=lambda one: _order(order, one[0])):
            self._streams[piece.source].add(read)
            self._digests.setdefault((piece.source, piece.file), read.digest)
        for name, stream in self._streams.items():
            if name not in self.here:
                digests = [self._digests[name, file] for file in range(len(stream.paths))]
                stream.read.digest = join_digests(digests) if isinstance(stream.source, Files) else digests[0]


def _order(sources: Mapping[str, int], piece: Piece) -> tuple[int, int, int]:
    return sources[piece.source], piece.file, piece.path.first if isinstance(piece.path, Part) else 0


def _is_read_elsewhere(stream: Stream) -> bool:
    """Whether other processes can read it: not a pipe, which can be read only once, and not what is in memory."""
    return bool(stream.paths) and all(
        os.path.isfile(path) or (is_remote(path) and not path.startswith("memory:")) for path in stream.paths
    )


def _has_parts(path: str) -> bool:
    return os.path.isfile(path) and not is_other_format(path) and not path.endswith(PACKED)


class Ranges:
    """Ranges of whole lines. Cutting reads a file once: that gives its digest, and true line numbers for each part."""

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
        if position > start:
            yield Part(self.path, start, position, first)
        self.digest = digest.hexdigest()

    def _cut(self, block: bytes, start: int, position: int) -> int:
        """Where in the block the range that began at `start` ends, after a newline; -1 if it goes on."""
        least = max(start + self._size - position, start - position + 1, 1)
        return block.find(b"\n", least - 1) + 1 or -1


def _newlines(data: bytes) -> int:
    """How many lines end in a piece of a file; a third of the time of `count`, which looks at byte after byte."""
    return len(BytesIO(data).readlines()) - (data[-1:] not in (b"\n", b""))


# --- what runs anywhere ---


def split(
    formats: Mapping[str, Format], keep: Mapping[str, Keep], ways: int, most: int, pieces: Pieces, put: Put
) -> list[Input]:
    """Read some pieces, and put their lines into piles; what reading has told comes back."""
    reads = []
    for piece in pieces.pieces:
        read = Input()
        blocks = formats[piece.source].blocks(piece.path, read)
        put_lines(piece.source, keep.get(piece.source, "all"), blocks, piece.file * FILE, ways, most, put)
        reads.append(read)
    return reads


def put_lines(source: str, keep: Keep, blocks: Iterable[Any], offset: int, ways: int, most: int, put: Put) -> int:
    """Put lines into piles, so many bytes at a time; how many lines there were."""
    lot, size, count = Lot(keep), 0, 0
    for places, names, lines in blocks:
        lot.take([place + offset for place in places] if offset else places, names, lines)
        size += sum(len(line) if type(line) is bytes else 1_000 for line in lines)
        count += len(names)
        if size > most:
            _put_down(source, lot, ways, put)
            lot, size = Lot(keep), 0
    _put_down(source, lot, ways, put)
    return count


def _put_down(source: str, lot: Lot, ways: int, put: Put) -> None:
    piles: list[Pile] = [[] for _ in range(ways)]
    for name in lot.names:
        slot = lot.slot(name)
        assert slot is not None
        piles[hash_of(name) % ways].append((name, source, *slot))
    for number, pile in enumerate(piles):
        if pile:
            put(number, pile)


def questions_in(
    piles: Iterable[Pile], keep: Mapping[str, Keep], wanted: Wanted | None = None
) -> Iterator[Sequence[Question]]:
    """The questions of all piles of one number, by name; piles come in the order in which they were read."""
    found: dict[str, dict[str, Slot]] = {}
    for pile in piles:
        for name, source, lines, replaced, first in pile:
            if wanted is not None and not wanted(name):
                continue
            slots, slot = found.setdefault(name, {}), Slot(lines, replaced, first)
            before = slots.get(source)
            slots[source] = slot if before is None else merge(before, slot, keep.get(source, "all"))
    names = sorted(found)
    for start in range(0, len(names), TOGETHER):
        yield [Question(name, found[name]) for name in names[start : start + TOGETHER]]
