"""Files: written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ..errors import EnvironmentFailure
from ..text import visible


def write_whole(path: str | os.PathLike[str], data: bytes | Iterable[bytes]) -> None:
    """Temporary file beside it, flushed to disk, renamed: a reader sees the old bytes or the new ones."""
    with replaced(path) as stream:
        stream.writelines([data] if isinstance(data, bytes) else data)


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose bytes take the place of the file when all of them are written, and not before."""
    import tempfile

    name = os.path.abspath(path)
    try:
        if os.path.exists(name) and not os.path.isfile(name):  # a device or a pipe has no place for a temporary file
            with open(name, "wb") as stream:
                yield stream
            return
        os.makedirs(os.path.dirname(name), exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(name)[:40]}.", dir=os.path.dirname(name))
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, name)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise EnvironmentFailure(
            f"can't be written: {error.strerror or error}",
            where=visible(os.fspath(path)),
            hint="What was there is untouched.",
            code="unwritable",
        ) from None


def create_new(path: str | os.PathLike[str], data: bytes) -> bool:
    """Write a file that must not exist yet; False, and nothing done, where something is there already."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return False
    except OSError as error:
        raise EnvironmentFailure(
            f"can't be written: {error.strerror or error}", where=visible(os.fspath(path)), code="unwritable"
        ) from None
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
    return True


def is_remote(path: object) -> bool:
    """Whether it is an address; its scheme has two letters at least, because C:// is a drive."""
    scheme, sign, _ = path.partition("://") if isinstance(path, str) else ("", "", "")
    return bool(sign) and len(scheme) > 1 and scheme[0].isalpha() and scheme.isascii() and scheme.isalnum()
