"""Temporary files, and how much memory to work in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from ..errors import EnvironmentFailure, UsageError
from ..text import visible

LEAST = 32_000_000  # bytes: the program itself takes as much
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def parse_size(text: str | int) -> int:
    """`128MB` or `2GB` in bytes."""
    written = str(text).strip().upper().replace("IB", "B")
    digits = written.rstrip("KMGTB")
    unit = written[len(digits) :]
    number = digits.strip().replace("_", "")
    if unit not in _UNITS or not number.replace(".", "", 1).isdecimal():
        what = f"{visible(str(text), 40)!r} is not a size"
        raise UsageError(what, where="--memory-limit", hint="Write 128MB or 2GB.", code="memory-limit")
    size = int(float(number) * _UNITS[unit])
    if size < LEAST:
        raise UsageError(
            f"{visible(str(text), 40)} is too little to work in",
            where="--memory-limit",
            hint=f"Give at least {LEAST // 10**6}MB: the program itself takes as much.",
            code="memory-limit",
        )
    return size


@contextmanager
def disk_errors(what: str, path: str) -> Iterator[None]:
    """Turn a disk error into a message that says what to do."""
    try:
        yield
    except OSError as error:
        raise disk_failure(
            "written" if what == "write" else "read", os.path.dirname(path) or path, error.strerror or str(error)
        ) from None


def disk_failure(what: str, folder: str, why: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"what does not fit in memory can't be {what}: {why}",
        where=visible(folder),
        hint="Free some space, or name another folder in TMPDIR.",
        code="spill-disk",
    )


def temporary() -> IO[bytes]:
    """A file without a name, deleted when it is closed."""
    import tempfile

    with disk_errors("write", f"{_chosen() or 'the temporary folder'}/"):
        return tempfile.TemporaryFile(dir=_chosen())


# Only what this very program wrote, to a file or folder of its own or to the workers of its own cluster, is read back.


def pack(value: object) -> bytes:
    """A value as bytes for a temporary file."""
    import pickle

    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes) -> Any:
    """The value again."""
    import pickle

    return pickle.loads(data)


def folder() -> Any:
    """A private folder that is deleted with all that is in it."""
    import tempfile

    with disk_errors("write", f"{_chosen() or 'the temporary folder'}/"):
        return tempfile.TemporaryDirectory(prefix="shipworthy-", dir=_chosen())


def has_room(size: int) -> bool:
    """Whether the temporary folder can be written, and has so many bytes free."""
    import shutil
    import tempfile

    try:
        place = _chosen() or tempfile.gettempdir()
        return os.access(place, os.W_OK) and shutil.disk_usage(place).free > size
    except OSError:
        return False


def _chosen() -> str | None:
    """The folder in TMPDIR. `tempfile` would silently use another one if it can't be written; here that is an error."""
    return os.environ.get("TMPDIR") or None
