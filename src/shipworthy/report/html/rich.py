"""Rich text: matches marked, and Markdown tables as tables; the same text is drawn by the page and by its script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...text import fold
from ..views import legible

# Characters for private use mark a match. Text from outside never has them: it is spelled out before.
OPEN, CLOSE = "\ue000", "\ue001"
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")  # the line below a table's head
_BAR = re.compile(r"(?<!\\)\|")


class Piece(NamedTuple):
    """A stretch of text, found or not."""

    text: str
    found: bool


def pieces(text: str, wanted: Iterable[str], limit: int) -> list[Piece]:
    """The text in stretches, those that match a wanted substring marked; cut at `limit` characters, and said so."""
    shown, rest = text[:limit], len(text) - limit
    spans = _merged(span for want in wanted for span in _find(shown, fold(want)))
    found, place = [], 0
    for start, end in spans:
        found += [Piece(legible(shown[place:start]), False), Piece(legible(shown[start:end]), True)]
        place = end
    found.append(Piece(legible(shown[place:]), False))
    if rest > 0:
        found.append(Piece(f"… ({rest:,} more characters)", False))
    return [piece for piece in found if piece.text]


def _find(text: str, want: str) -> Iterator[tuple[int, int]]:
    if not want or want not in fold(text):  # most texts: looking is far quicker than finding out where
        return
    folded, places = _folded(text)
    start = folded.find(want)
    while start >= 0:
        end = start + len(want)
        yield places[start][0], places[end - 1][1]
        start = folded.find(want, end)


def _folded(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text as `fold` makes it, and for each of its characters the stretch of the original that it came from."""
    out: list[str] = []
    places: list[tuple[int, int]] = []
    for start, end in _clusters(text):
        part = unicodedata.normalize("NFC", text[start:end]).casefold()
        if part.isspace():
            if out and out[-1] == " ":
                continue
            part = " "
        out.extend(part)
        places.extend([(start, end)] * len(part))
    return "".join(out), places


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """A character with the combining marks that follow it: what NFC may join."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not unicodedata.combining(text[place]):
            yield start, place
            start = place


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


class Grid(NamedTuple):
    """A Markdown table: the first row is its head."""

    rows: list[list[list[Piece]]]


class Prose(NamedTuple):
    """Any other text."""

    pieces: list[Piece]


def mark(text: str, wanted: Iterable[str], limit: int) -> str:
    """The text as it may be shown, cut at `limit`, with what matches between OPEN and CLOSE."""
    return "".join(f"{OPEN}{one.text}{CLOSE}" if one.found else one.text for one in pieces(text, wanted, limit))


def parts(text: str) -> list[Grid | Prose]:
    """Tables and the text between them."""
    lines, plain, start, found = text.split("\n"), 0, 0, list[Grid | Prose]()
    while start < len(lines):
        end = _table_end(lines, start)
        if not end:
            start += 1
            continue
        found += _prose(lines[plain:start])
        found.append(
            Grid([_cells(line, len(_split(lines[start]))) for line in (lines[start], *lines[start + 2 : end])])
        )
        plain = start = end
    return [*found, *_prose(lines[plain:])]


def _table_end(lines: Sequence[str], start: int) -> int:
    """The line after the table that begins here; 0 where none does."""
    if start + 1 >= len(lines) or "|" not in lines[start]:
        return 0
    rule = unmarked(lines[start + 1])
    if "|" not in rule or not _RULE.fullmatch(rule) or len(_split(lines[start])) != len(_split(rule)):
        return 0
    end = start + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    return end


def _split(line: str) -> list[str]:
    """The cells of a row; bars at its ends stand for nothing."""
    cells = _BAR.split(line.strip())
    if cells and not unmarked(cells[0]).strip():
        cells = cells[1:]
    if cells and not unmarked(cells[-1]).strip():
        cells = cells[:-1]
    return cells


def _cells(line: str, count: int) -> list[list[Piece]]:
    """As many cells as the head has; a match that goes on over a bar is marked on both sides of it."""
    cells = [cell.strip().replace("\\|", "|") for cell in _split(line)][:count]
    drawn, inside = [], False
    for cell in [*cells, *[""] * (count - len(cells))]:
        row, inside = _marked(cell, inside)
        drawn.append(row)
    return drawn


def _prose(lines: Sequence[str]) -> list[Grid | Prose]:
    text = "\n".join(lines).strip("\n")
    return [Prose(_marked(text, False)[0])] if text.strip() else []


def _marked(text: str, inside: bool) -> tuple[list[Piece], bool]:
    found = []
    for token in re.split(f"([{OPEN}{CLOSE}])", text):
        if token in (OPEN, CLOSE):
            inside = token == OPEN
        elif token:
            found.append(Piece(token, inside))
    return found, inside


def unmarked(text: str) -> str:
    return text.replace(OPEN, "").replace(CLOSE, "")


def long(text: str) -> bool:
    """Whether a text would fill the page, so that it gets a box that scrolls."""
    return len(text) > 500 or text.count("\n") > 8
