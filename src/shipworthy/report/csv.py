"""One row an item as CSV, safe to open in a spreadsheet: no cell is a formula."""

from __future__ import annotations

import csv
import io

from . import views
from .tsv import cell, rows_of


def render(shown: views.Shown) -> str:
    """The columns of the TSV report, quoted as RFC 4180 has it."""
    items = rows_of(shown)
    columns = list(dict.fromkeys(column for item in items for column in item))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(map(cell, columns))
    writer.writerows([cell(item.get(column)) for column in columns] for item in items)
    return out.getvalue()
