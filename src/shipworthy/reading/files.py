"""Files: which ones a path stands for, and how they are written: whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import msgspec

from ..errors import EnvironmentFailure, UsageError
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
        raise unwritable(path, error, "What was there is untouched.") from None


def unwritable(path: str | os.PathLike[str], error: OSError, hint: str = "") -> EnvironmentFailure:
    what = f"can't be written: {error.strerror or error}"
    return EnvironmentFailure(what, where=visible(os.fspath(path)), hint=hint, code="unwritable")


def create_new(path: str | os.PathLike[str], data: bytes) -> bool:
    """Write a file that must not exist yet; False, and nothing done, where something is there already."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return False
    except OSError as error:
        raise unwritable(path, error) from None
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
    return True


def is_remote(path: object) -> bool:
    """Whether it is an address; its scheme has two letters at least, because C:// is a drive."""
    scheme, sign, _ = path.partition("://") if isinstance(path, str) else ("", "", "")
    return bool(sign) and len(scheme) > 1 and scheme[0].isalpha() and scheme.isascii() and scheme.isalnum()


# --- many files as one input: a glob or a folder, in an order that does not depend on the file system ---

ENDINGS = tuple(
    f"{name}{packed}"
    for name in (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
    for packed in ("", ".gz", ".zst")
)


BESIDE = (".journal", ".lock")  # what the runner keeps beside a file of traces


STANDARD_INPUT = "/dev/stdin"


class Files(msgspec.Struct, frozen=True):
    """The files that a glob or a folder stands for, sorted by the bytes of their paths."""

    pattern: str
    paths: tuple[str, ...]

    def __fspath__(self) -> str:
        return self.pattern


def expanded(source: object) -> object:
    """The files that a glob or a folder stands for, standard input for `-`; anything else as it is."""
    if isinstance(source, Files) or not isinstance(source, (str, os.PathLike)):
        return source
    path = os.fspath(source)
    if path == "-" and os.path.exists(STANDARD_INPUT):  # a file of that name is ./-
        return STANDARD_INPUT
    if "://" in path and not os.path.lexists(path):
        return _elsewhere(path)
    if os.path.isdir(path):
        return _some(path, _inside(path), "the folder has no file of traces")
    if not any(sign in path for sign in "*?[") or os.path.lexists(path):
        return source
    from glob import glob  # few inputs are patterns, and every command starts by way of here

    matches = glob(path, recursive=True)
    found = [name for match in matches for name in (_inside(match) if os.path.isdir(match) else [match])]
    found = [name for name in found if not name.endswith(BESIDE)]
    return _some(path, found, "no file matches")


def _elsewhere(path: str) -> object:
    """The files of a pattern or a folder at an address."""
    if not is_remote(path):
        return path
    from .remote import found_at

    found = found_at(path)
    if found is None:
        return path
    kept = [name for name in found if name.lower().endswith(ENDINGS) and not _hidden(name)]
    return _some(path, kept, "no file of traces is there")


def _hidden(name: str) -> bool:
    return name.rpartition("/")[2].startswith((".", "_"))


def files_of(path: str) -> tuple[str, ...]:
    """The files that a path stands for: itself, those of a glob or a folder, or none."""
    if os.path.exists(path) and not os.path.isdir(path):
        return (path,)
    try:
        found = expanded(path)
    except UsageError:
        return ()
    return found.paths if isinstance(found, Files) else ()


def _inside(folder: str) -> Iterator[str]:
    """The data files below a folder; hidden ones and those of other kinds, such as _SUCCESS, are none."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from (
            os.path.join(parent, name)
            for name in names
            if name.lower().endswith(ENDINGS) and not name.startswith((".", "_"))
        )


def _some(pattern: str, found: object, what: str) -> Files:
    paths = tuple(sorted(set(found), key=os.fsencode))  # type: ignore[call-overload]
    if not paths:
        hint = "Check the pattern; quote it, so that it reaches shipworthy as it is."
        raise UsageError(what, where=visible(pattern), hint=hint, code="no-match")
    return Files(pattern, paths)
