"""Per-item verdicts as a table: tab-separated values, CSV, Parquet.

The texts are safe to open in a spreadsheet, where no cell is a formula; TSV is safe to print in a CI log too.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from ..core.board import Board
from ..core.decision import Decision
from ..core.evidence import Row
from ..text import FORMULA, one_line, visible

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


def csv_pieces(shown: Decision | Board) -> Iterator[bytes]:
    """The same columns, quoted as RFC 4180 has it."""
    items = rows_of(shown)
    columns = columns_of(items)
    yield _quoted(map(cell, columns))
    for item in items:
        yield _quoted(cell(item.get(column)) for column in columns)


def _quoted(cells: Iterable[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().encode("utf-8", "backslashreplace")


def parquet(shown: Decision | Board) -> bytes:
    """The same columns with types: true and false, numbers, texts; a column of mixed values is text."""
    import pyarrow
    import pyarrow.parquet

    items = rows_of(shown)
    columns = {visible(name): _column(item.get(name) for item in items) for name in columns_of(items)}
    table = pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


def _column(values: Iterable[object]) -> list[object]:
    listed = list(values)
    kinds = {type(value) for value in listed if value is not None}
    if kinds <= {bool} or (kinds <= {int} and all(_fits(value) for value in listed)):
        return listed
    if kinds <= {int, float}:
        return [None if value is None else float(str(value)) for value in listed]
    return [None if value is None else _plain_text(value) for value in listed]


def _fits(value: object) -> bool:
    return not isinstance(value, int) or abs(value) < 1 << 63


def _plain_text(value: object) -> str:
    """Text as it is, except what Parquet can't hold; a list as words."""
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    return str(value).encode("utf-8", "backslashreplace").decode()
