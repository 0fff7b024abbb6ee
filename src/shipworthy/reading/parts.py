"""A part of a file, which is read as a file of its own and knows where it stands."""

from __future__ import annotations

import msgspec

from ..text import visible

PACKED = (".gz", ".zst")  # endings of archives, which have no parts


class Part(msgspec.Struct, frozen=True):
    """A piece of one file: bytes `start` to `end` of JSON lines, or row groups of Parquet. It is a path as well."""

    path: str
    start: int
    end: int
    first: int  # number of its first line or row

    def __fspath__(self) -> str:
        return self.path

    @property
    def label(self) -> str:
        """Where it begins, for a message."""
        return f"{visible(self.path)}:{self.first}"
