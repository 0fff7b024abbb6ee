"""Rich text: matches marked, and Markdown tables as tables; the same text is drawn by the page and by its script."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .highlight import Piece, pieces

# Characters for private use mark a match. Text from outside never has them: it is spelled out before.
OPEN, CLOSE = "\ue000", "\ue001"
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")  # the line below a table's head
_BAR = re.compile(r"(?<!\\)\|")


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
