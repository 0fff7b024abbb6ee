"""Limits: how much of anything is read before it is refused. Each has an error code and a line in docs/limits.md."""

from __future__ import annotations

MAX_LINE = 10_000_000  # bytes; a longer line is a problem of its own, not a reason to fill the memory [line-too-long]
MAX_SKIPPED = 1_000_000_000  # bytes of one line that are passed over before reading stops [line-too-long]
MAX_DEPTH = 200  # arrays and objects inside each other [too-deep]
MAX_DIGITS = 4300  # of an integer, as many as Python reads [json]
MAX_SHOWN = 20  # bad lines that are kept and shown; every one is counted
MAX_RATIO = 200  # bytes that one byte of an archive may become … [archive-ratio]
RATIO_FROM = 64_000_000  # … once this many bytes have come out of it
MAX_UNPACKED = 64_000_000_000  # bytes that come out of one archive [archive-size]
MAX_WINDOW = 1 << 27  # bytes of memory that a .zst file may ask for, as many as the zstd tool allows [unreadable]
MAX_ROW = MAX_LINE  # bytes of one Parquet row, as of one line [row-too-long]
MAX_VALUE = 256_000_000  # bytes of one JSON value or cell of an export [import-too-large]
MAX_KEYS = 1_000  # different unknown keys of one file that are compared with the known ones
MAX_LOCK = 1_000_000_000  # bytes of a gold lock [lock-damaged]

BLOCK = 65_536  # bytes that are read at once


class Damaged(OSError):
    """An archive that can't be unpacked to its end, or that should not be."""

    def __init__(self, what: str, hint: str = "Is it complete?", code: str = "unreadable") -> None:
        super().__init__(what)
        self.what, self.hint, self.code = what, hint, code

    def __str__(self) -> str:
        return self.what
