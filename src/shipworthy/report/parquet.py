"""One row an item as Parquet, with types: true and false, numbers, texts."""

from __future__ import annotations

import io
from collections.abc import Iterable

from ..text import visible
from . import views
from .tsv import columns_of, rows_of


def render(shown: views.Shown) -> bytes:
    """The columns of the TSV report; a column of mixed values is text."""
    import pyarrow
    import pyarrow.parquet

    items = rows_of(shown)
    names = columns_of(items)
    columns = {visible(name): _column(item.get(name) for item in items) for name in names}
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
    return [None if value is None else _text(value) for value in listed]


def _fits(value: object) -> bool:
    return not isinstance(value, int) or abs(value) < 1 << 63


def _text(value: object) -> str:
    """Text as it is, except what Parquet can't hold; a list as words."""
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    return str(value).encode("utf-8", "backslashreplace").decode()
