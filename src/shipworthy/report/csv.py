"""One row an item as CSV, safe to open in a spreadsheet: no cell is a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from . import views
from .tsv import cell, columns_of, rows_of


def pieces(shown: views.Shown) -> Iterator[bytes]:
    """The columns of the TSV report, quoted as RFC 4180 has it."""
    items = rows_of(shown)
    columns = columns_of(items)
    yield _quoted(map(cell, columns))
    for item in items:
        yield _quoted(cell(item.get(column)) for column in columns)


def _quoted(cells: Iterable[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().encode("utf-8", "backslashreplace")
