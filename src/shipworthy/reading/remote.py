"""Inputs elsewhere, read where they are: `https://…` by our own client, `s3://…`, `gs://…` and more by fsspec."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from ..errors import EnvironmentFailure, ShipworthyError, UsageError
from ..text import visible

IDLE = 60.0  # seconds in which a web server must answer, and send the next piece of a file


def open_remote(path: str) -> Any:
    """A file elsewhere, open for reading bytes."""
    if _is_web(path):
        return _fetched(path)
    with _told(path):
        files, name = _files(path)
        return files.open(name, "rb")


def exists(path: str) -> bool:
    if _is_web(path):
        return _ask(path, io.BytesIO(), "HEAD") is not None
    with _told(path):
        files, name = _files(path)
        return bool(files.exists(name))


def size_of(path: str) -> int | None:
    """Bytes of a file elsewhere, if its server says so."""
    if _is_web(path):
        length = (_ask(path, io.BytesIO(), "HEAD") or {}).get("Content-Length", "")
        return int(length) if length.isdecimal() else None
    with _told(path):
        files, name = _files(path)
        size = files.size(name)
        return size if isinstance(size, int) else None


def found_at(path: str) -> list[str] | None:
    """The files that a pattern or a folder elsewhere stands for, as addresses; None for a file."""
    if _is_web(path):  # a web server has files, no folders: `?` begins a query, and `*` is a letter like any other
        return None
    with _told(path):
        files, name = _files(path)
        if any(sign in path for sign in "*?["):
            matches = [match for match in files.glob(name) if files.isfile(match)]
        elif files.isfile(name) or not files.isdir(name):
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


def _fetched(path: str) -> BinaryIO:
    """A file of a web server, whole: what is read is then as it was at one moment, and has a place to go back to."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (whoever reads it closes it)
    try:
        _ask(path, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _is_web(path: str) -> bool:
    return path.lower().startswith(("http://", "https://"))


def _ask(path: str, sink: BinaryIO, method: str = "GET") -> Mapping[str, str] | None:
    """The headers of a file on a web server, whose body goes to the sink; None where HEAD finds none."""
    _refuse_secret(path)
    from ..net.blocking import fetch
    from ..net.client import RequestFailed

    try:
        status, headers = fetch(path, sink, IDLE, method=method)
    except RequestFailed as error:
        raise _unreadable(path, error) from None
    if status == 200:
        return headers
    if method == "HEAD" and status in (403, 404, 405, 410, 501):
        return None
    if status in (404, 410):
        raise UsageError("no such file", where=visible(path), hint="Check the address.", code="no-file")
    if 300 <= status < 400:
        where = visible(str(headers.get("Location", "")), 200)
        raise _unreadable(path, OSError(f"status {status} leads to {where!r}, and redirects are not followed"))
    raise _unreadable(path, OSError(f"status {status}"))


def _refuse_secret(path: str) -> None:
    """Refuse an address with a password in it."""
    place, sign, _ = path.partition("://")[2].partition("/")[0].rpartition("@")
    if sign and ":" in place:
        raise UsageError(
            "has a password, and reports name their inputs",
            where=visible(path.replace(f"{place}@", "***@")),
            hint="Leave it out, and give it to the file system in its own way, such as by its environment variables.",
            code="address-secret",
        )


def _files(path: str) -> tuple[Any, str]:
    """The file system of an address, and the file's name there."""
    _refuse_secret(path)
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
