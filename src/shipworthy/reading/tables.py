"""Parquet: the same columns as JSON lines, read row by row in bounded memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from ..errors import DataError, UsageError
from ..text import visible

ROWS = 4096  # rows held in memory at a time


class ParquetRows:
    """Rows of a file as dicts with their numbers; a null is an absent field, since columns can't be absent."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.digest = ""

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise UsageError(
                "Parquet files need the package pyarrow",
                where=visible(self.path),
                hint="pip install 'shipworthy[parquet]'",
                code="needs-extra",
            ) from None
        with open_for_reading(self.path) as stream:
            self.digest = hashlib.file_digest(stream, "sha256").hexdigest()
        try:
            number = 0
            with pyarrow.parquet.ParquetFile(self.path) as table:
                for batch in table.iter_batches(ROWS):
                    for row in batch.to_pylist():
                        number += 1
                        yield number, without_nulls(row)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(
                f"is not a readable Parquet file: {visible(str(error), 200)}", where=visible(self.path), code="parquet"
            ) from None


def open_for_reading(path: str) -> Any:
    try:
        return open(path, "rb")
    except OSError as error:
        raise UsageError(f"can't be opened: {error.strerror}", where=visible(path), code="no-file") from None


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value
