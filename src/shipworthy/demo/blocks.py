"""Blocks: the demo corpus cut into pieces that carry an id, a section, a type and a byte range.

The corpus is one document, the files of `corpus/` end to end; every offset counts bytes of that text.
Three ways to cut it, so that a change of chunking can be tried:

    live             one block a paragraph, table, code fence or figure
    shadow           neighbouring paragraphs joined, tables cut in two, fences stripped: other ids, other ranges
    shadow-degraded  as shadow, but tables lose their caption, header and row labels
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import groupby

INDEXES = ("live", "shadow", "shadow-degraded")
LETTERS = {"prose": "p", "code": "c", "table": "t", "figure": "f"}
LOCKED = "Locked rule: "
_HEADING = re.compile(r"(#{1,2}) (S(?:\.\d+)+) (.+)")


@dataclass(frozen=True, slots=True)
class CorpusBlock:
    """A retrievable piece of the corpus; `text` is what is indexed and shown, `start:end` its bytes."""

    id: str
    section_id: str
    type: str
    start: int
    end: int
    text: str
    title: str

    @property
    def offsets(self) -> list[int]:
        return [self.start, self.end]


@cache
def document() -> bytes:
    """The whole corpus as bytes: what the offsets point into."""
    folder = files(__package__) / "corpus"
    parts = sorted((part for part in folder.iterdir() if part.name.endswith(".md")), key=lambda part: part.name)
    return b"\n".join(part.read_bytes().replace(b"\r\n", b"\n") for part in parts)


@cache
def blocks(index: str = "live") -> tuple[CorpusBlock, ...]:
    """The blocks of one index, in document order."""
    live = tuple(_live(document()))
    if index == "live":
        return live
    return tuple(_shadow(live, degraded=index == "shadow-degraded"))


@cache
def locked_rules() -> dict[str, tuple[str, ...]]:
    """Section id to the locked rules that stand in it."""
    rules: dict[str, list[str]] = {}
    for block in blocks("live"):
        if block.text.startswith(LOCKED):
            rules.setdefault(block.section_id, []).append(block.text.removeprefix(LOCKED))
    return {section: tuple(texts) for section, texts in rules.items()}


def _live(text: bytes) -> Iterator[CorpusBlock]:
    section = title = chapter = ""
    number = 0
    for start, end in _pieces(text):
        piece = text[start:end].decode()
        heading = _HEADING.fullmatch(piece)
        if heading and len(heading[1]) == 1:
            chapter = heading[3]
        elif heading:
            section, title, number = heading[2], f"{chapter}: {heading[3]}", 0
        else:
            number += 1
            kind = _type_of(piece)
            block_id = f"{section}.{LETTERS[kind]}.Bk{number:03d}"
            yield CorpusBlock(block_id, section, kind, start, end, piece, title)


def _pieces(text: bytes) -> Iterator[tuple[int, int]]:
    """Byte ranges between blank lines; a fence is one piece, and so is a table with its caption."""
    start: int | None = None
    end = position = 0
    fenced = False
    for line in text.splitlines(keepends=True):
        blank, fence = not line.strip(), line.startswith(b"```")
        follows = start is not None and text[start : start + 6] == b"Table:" and b"\n" not in text[start:end]
        if blank and not fenced and not follows and start is not None:
            yield start, end
            start = None
        if not blank or fenced:
            start = position if start is None else start
            end = position + len(line.rstrip())
        fenced ^= fence
        position += len(line)
    if start is not None:
        yield start, end


def _type_of(piece: str) -> str:
    starts = {"```": "code", "Table:": "table", "|": "table", "Figure:": "figure"}
    return next((kind for start, kind in starts.items() if piece.startswith(start)), "prose")


def _shadow(live: tuple[CorpusBlock, ...], degraded: bool) -> Iterator[CorpusBlock]:
    number, section = 100, ""
    for (section_id, kind), group in groupby(live, key=lambda block: (block.section_id, block.type)):
        members = list(group)
        number, section = (number if section_id == section else 100) + 1, section_id
        block_id = f"{section}.{LETTERS[kind]}.Bk{number}"
        if kind == "prose":
            text = "\n".join(block.text for block in members)
            yield replace(members[0], id=block_id, end=members[-1].end, text=text)
        elif kind == "table":
            yield from _halves(members[0], block_id, degraded)
        else:
            yield _unfenced(members[0], block_id)


def _unfenced(block: CorpusBlock, block_id: str) -> CorpusBlock:
    """Code without its fences in the range; the text keeps the first, which names the language."""
    if block.type != "code":
        return replace(block, id=block_id)
    before, after = block.text.index("\n") + 1, len(block.text) - block.text.rindex("\n")
    start, end = block.start + before, block.end - after
    return replace(block, id=block_id, start=start, end=end, text=block.text[:-after])


def _halves(block: CorpusBlock, block_id: str, degraded: bool) -> Iterator[CorpusBlock]:
    """A table as two row groups; each repeats the caption and header in its text, not in its range."""
    lines = block.text.split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("|---")) + 1
    head, rows = lines[:first], lines[first:]
    middle = (len(rows) + 1) // 2
    start = block.start + len("\n".join(head).encode()) + 1
    for part, group in (("a", rows[:middle]), ("b", rows[middle:])):
        end = start + len("\n".join(group).encode())
        kept = [_unlabelled(row) for row in group] if degraded else head + group
        yield replace(block, id=block_id + part, start=start, end=end, text="\n".join(kept))
        start = end + 1


def _unlabelled(row: str) -> str:
    return "|" + row.split("|", 2)[2]
