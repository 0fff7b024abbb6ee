"""Inputs elsewhere: `s3://…`, `gs://…`, `https://…` and whatever else fsspec opens, read where they are."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..text import visible


def open_remote(path: str) -> Any:
    """A file elsewhere, open for reading bytes."""
    with _told(path):
        files, name = _files(path)
        return files.open(name, "rb")


def exists(path: str) -> bool:
    with _told(path):
        files, name = _files(path)
        return bool(files.exists(name))


def size_of(path: str) -> int | None:
    """Bytes of a file elsewhere, if its server says so."""
    with _told(path):
        files, name = _files(path)
        size = files.size(name)
        return size if isinstance(size, int) else None


def found_at(path: str) -> list[str] | None:
    """The files that a pattern or a folder elsewhere stands for, as addresses; None for a file."""
    with _told(path):
        files, name = _files(path)
        if any(sign in path for sign in "*?["):
            matches = [match for match in files.glob(name) if files.isfile(match)]
        elif (
            path.startswith(("http://", "https://")) or files.isfile(name) or not files.isdir(name)
        ):  # there every address is a file, and asking would fetch it
            return None
        else:
            matches = files.find(name)
        return [files.unstrip_protocol(match) for match in matches]


class Watched(io.RawIOBase):
    """A file elsewhere whose bytes are shown to `watch` as they are read."""

    def __init__(self, path: str, watch: Callable[[bytes], object] | None) -> None:
        self._path, self._watch = path, watch
        self._stream = open_remote(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _told(self._path):
            data: bytes = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        if data and self._watch is not None:
            self._watch(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _files(path: str) -> tuple[Any, str]:
    """The file system of an address, and the file's name there."""
    place, sign, _ = path.partition("://")[2].partition("/")[0].rpartition("@")
    if sign and ":" in place:
        raise UsageError(
            "has a password, and reports name their inputs",
            where=visible(path.replace(f"{place}@", "***@")),
            hint="Leave it out, and give it to the file system in its own way, such as by its environment variables.",
            code="address-secret",
        )
    try:
        import fsspec
    except ImportError:
        raise UsageError(
            "inputs elsewhere need the package fsspec",
            where=visible(path),
            hint="pip install 'shipworthy[fs]', or copy the file here first.",
            code="needs-extra",
        ) from None
    files, name = fsspec.core.url_to_fs(path)
    return files, name


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Whatever a file system raises in words; each has exceptions of its own."""
    try:
        yield
    except ShipworthyError:
        raise
    except FileNotFoundError as error:
        if isinstance(error.__cause__, OSError):  # it was not reached, so nobody knows what is there
            raise _unreadable(path, error.__cause__) from None
        raise UsageError("no such file", where=visible(path), hint="Check the address.", code="no-file") from None
    except ImportError as error:  # s3fs for s3://, gcsfs for gs://
        what = f"inputs of this kind need another package: {visible(str(error), 200)}"
        raise UsageError(what, where=visible(path), hint="Install it beside fsspec.", code="needs-extra") from None
    except ValueError as error:  # a scheme that nobody knows
        what = f"can't be opened: {visible(str(error), 200)}"
        raise UsageError(what, where=visible(path), hint="Check the address.", code="no-file") from None
    except Exception as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception) -> EnvironmentFailure:
    what = f"can't be read: {visible(f'{type(error).__name__}: {error}', 200)}"
    hint = "Check the address, the network and the rights to read it."
    return EnvironmentFailure(what, where=visible(path), hint=hint, code="unreadable")
