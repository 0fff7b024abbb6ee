"""One row an item as CSV, safe to open in a spreadsheet: no cell is a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from . import views
from .tsv import cell, columns_of, rows_of


def render(shown: views.Shown) -> str:
    """The columns of the TSV report, quoted as RFC 4180 has it."""
    return "".join(_lines(shown))


def pieces(shown: views.Shown) -> Iterator[bytes]:
    """The same line by line."""
    return (line.encode("utf-8", "backslashreplace") for line in _lines(shown))


def _lines(shown: views.Shown) -> Iterator[str]:
    items = rows_of(shown)
    columns = columns_of(items)
    yield _quoted(map(cell, columns))
    for item in items:
        yield _quoted(cell(item.get(column)) for column in columns)


def _quoted(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue()
