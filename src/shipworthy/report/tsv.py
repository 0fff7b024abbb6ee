"""Per-item verdicts as tab-separated values, safe to open in a spreadsheet and to print in a CI log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..text import FORMULA, one_line

_QUOTED = (*FORMULA, "\t", "\r", "'", "::")


def pieces(shown: Decision | Board) -> Iterator[bytes]:
    """One line an item; a board's lines begin with the suite, and have the columns of all suites."""
    items = rows_of(shown)
    columns = columns_of(items)
    yield _line(columns)
    for item in items:
        yield _line(item.get(column) for column in columns)


def _line(cells: Iterable[object]) -> bytes:
    return ("\t".join(map(cell, cells)) + "\n").encode("utf-8", "backslashreplace")


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
