"""Per-item verdicts as tab-separated values, safe to open in a spreadsheet and to print in a CI log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..text import FORMULA, one_line

_QUOTED = (*FORMULA, "\t", "\r", "'", "::")


def render(shown: Decision | Board) -> str:
    """One line an item; a board's lines begin with the suite, and have the columns of all suites."""
    return "".join(lines(rows_of(shown)))


def pieces(shown: Decision | Board) -> Iterator[bytes]:
    """The same line by line."""
    return (line.encode("utf-8", "backslashreplace") for line in lines(rows_of(shown)))


def rows_of(shown: Decision | Board) -> Iterable[Row]:
    """The rows, as often as they are asked for."""
    return BoardRows(shown) if isinstance(shown, Board) else shown.items


class BoardRows(Iterable[Row]):
    """The rows of all suites, each with its suite."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def __iter__(self) -> Iterator[Row]:
        return ({"suite": one.suite, **item} for one in self._board.decisions for item in one.items)


def columns_of(items: Iterable[Row]) -> list[str]:
    """Every column that some item has, in the order in which they come."""
    known: dict[str, None] = {}
    for item in items:
        if not known.keys() >= item.keys():
            known |= dict.fromkeys(item)
    return list(known)


def table(items: Iterable[Row]) -> str:
    return "".join(lines(items))


def lines(items: Iterable[Row]) -> Iterator[str]:
    columns = columns_of(items)
    yield "\t".join(map(cell, columns)) + "\n"
    for item in items:
        yield "\t".join(cell(item.get(column)) for column in columns) + "\n"


def cell(value: object) -> str:
    """Numbers and booleans as they are; text without tabs and control characters, never a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        value = " ".join(map(str, value))
    text = one_line(str(value))
    return f"'{text}" if text.startswith(_QUOTED) else text
