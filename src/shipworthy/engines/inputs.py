"""Inputs: whether they can be read in parts, and how large they are. Kept apart so that small runs import little."""

from __future__ import annotations

import os

from ..core import spill
from ..core.inputs import Stream
from ..core.suite import Material
from ..reading.files import is_remote


def needs_disk(material: Material) -> bool:
    """Whether records go to disk: a memory limit is set, and more is kept than one record each of a few questions."""
    if spill.active() is None:
        return False
    few = material.expected is not None and not hasattr(material.expected, "bucket")  # gold is in memory
    return not few or keeps_many(material)


def keeps_many(material: Material) -> bool:
    """Whether several records of a question count."""
    return any(material.keep.get(name, "all") not in ("last", "first") for name in material.streams)


def splits(material: Material) -> bool:
    """Whether every input can be read in parts, or file by file; a pipe can't, since it can be read only once."""
    streams = material.streams.values()
    return bool(streams) and all(
        isinstance(stream, Stream) and stream.splits and all(map(_is_file, stream.paths)) for stream in streams
    )


def is_light(material: Material) -> bool:
    """Whether worker processes on this machine would not make it faster."""
    return all(isinstance(stream, Stream) and stream.light for stream in material.streams.values())


def _is_file(path: str) -> bool:
    """Whether other processes can read it. A file elsewhere is read whole; `memory://` is this process's own."""
    return os.path.isfile(path) or (is_remote(path) and not path.startswith("memory:"))


def size_of(material: Material) -> int:
    """Bytes to read; archives count for what they unpack to, roughly."""
    return sum(
        os.path.getsize(path) * (5 if path.endswith((".gz", ".zst", ".parquet")) else 1)
        for stream in material.streams.values()
        for path in (stream.paths if isinstance(stream, Stream) else ())
        if os.path.isfile(path)
    )
