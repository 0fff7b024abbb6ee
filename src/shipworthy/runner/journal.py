"""The journal: append-only JSON lines, one per finished run, that a kill at any moment leaves readable.

The file holds traces only, each of which names its plan and how many runs that has. What a resume needs besides, the
header, stands beside it in `NAME.journal`; without it nothing is lost but the resume. In version 1 it was line 1.

Each record is one write of a whole line, so a killed process loses no finished run; at worst the last line is torn,
and the next resume cuts it. Data is forced to disk every `SYNC_RECORDS` records or `SYNC_SECONDS`, whichever comes
first, and at the end: after a power cut at most that much has to be asked again.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from ..errors import DataError, EnvironmentFailure, UsageError
from ..reading.files import write_whole
from ..reading.plans import HEADER_KEY
from ..text import visible

try:
    import fcntl
except ImportError:  # Windows: nothing keeps a second run away
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

VERSION = 2
SYNC_RECORDS = 500
SYNC_SECONDS = 1.0
_CHUNK = 1 << 20
LOCK = ".check.lock"  # ends the name of the lock that a whole check holds on the traces that it writes
# Not every system has all of these; without O_BINARY Windows would write two bytes for the end of a line.
_OURS_ALONE = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))
_NOTE = _OURS_ALONE | getattr(os, "O_NONBLOCK", 0)


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What the file holds the runs of, so that a resume can tell whether it fits."""

    shipworthy_journal: int = VERSION
    config_digest: str
    gold_digest: str
    sweep_id: str
    created: str
    planned: int  # runs, one line each: a file with fewer is not complete
    target: str = ""

    @property
    def marks(self) -> dict[str, object]:
        """What every record says of the plan."""
        return {"sweep_id": self.sweep_id, "planned_runs": self.planned}


class _Line(msgspec.Struct):
    run_id: str | None = None
    sweep_id: str | None = None
    error: str | None = None


class Journal:
    """An open journal. Only one process holds it; what it says is written is written."""

    def __init__(
        self, path: str | os.PathLike[str], header: Header, *, resume: bool | None = False, overwrite: bool = False
    ):
        """`resume` is None where there is no going on with runs that are there."""
        self.path = Path(path)
        self.beside = beside(path)
        self.finished: set[str] = set()  # run_ids that need not be asked again
        self.failed = 0  # how many of them are errors
        self._sweeps: set[str] = set()  # of all of them
        self._unsynced, self._synced_at = 0, time.monotonic()
        self._fd = _opened(self.path)
        try:
            self._lock()
        except BaseException:
            os.close(self._fd)
            raise
        try:
            self._size = os.fstat(self._fd).st_size
            self.header = self._begin(header, resume, overwrite)
        except BaseException:
            self._release()
            raise

    def append(self, record: dict[str, object]) -> None:
        """Write one record, whole or not at all."""
        self.append_line(encoded(record))

    def append_line(self, line: bytes) -> None:
        try:
            written = os.write(self._fd, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._cut(self._size)
            raise _failure(self.path, error) from None
        self._size += len(line)
        self._unsynced += 1

    @property
    def due(self) -> bool:
        """Whether the policy asks for a sync now."""
        return self._unsynced >= SYNC_RECORDS or (
            self._unsynced > 0 and time.monotonic() - self._synced_at >= SYNC_SECONDS
        )

    def sync(self) -> None:
        """Force what was written to disk. May be called from another thread."""
        self._unsynced, self._synced_at = 0, time.monotonic()
        try:
            getattr(os, "fdatasync", os.fsync)(self._fd)
        except OSError as error:
            raise _failure(self.path, error) from None

    def close(self) -> None:
        """Sync and let go of the file; safe to call twice."""
        if self._fd < 0:
            return
        try:
            self.sync()
        finally:
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _release(self) -> None:
        if fcntl is not None:
            self._note.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = -1

    @property
    def _note(self) -> Path:
        return self.path.with_name(self.path.name + ".lock")

    def _lock(self) -> None:
        """The kernel keeps the lock and drops it with the process; the file beside it only says who holds it."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EnvironmentFailure(
                f"another run is writing it ({_holder(self._note)})",
                where=str(self.path),
                hint="Wait for it, or give another --out.",
                code="journal-locked",
            ) from None
        except OSError as error:
            raise _failure(self.path, error) from None
        try:
            _write_note(self._note, _own_note())
        except OSError as error:
            raise _failure(self._note, error) from None

    def _begin(self, header: Header, resume: bool | None, overwrite: bool) -> Header:
        """Go on with the header that is there, or write a new one."""
        self._refuse_foreign()
        whole = 0 if overwrite and not resume else self._recover()
        if self.finished and not resume:
            going_on = "" if resume is None else "--resume to go on with them, "
            raise UsageError(
                f"holds {len(self.finished)} finished runs already",
                where=str(self.path),
                hint=f"Add {going_on}--overwrite to drop them, or give another --out.",
                code="journal-exists",
            )
        if not whole or not resume:
            if self.beside.exists() and not self._header_beside():
                raise _foreign(self.beside, "is in the way")
            write_whole(self.beside, encoded(msgspec.to_builtins(header)))
            self._cut(0)  # after it: the runs of another plan are known by their sweep, and no failure loses them
            self.sync()
            _sync_folder(self.path)
            return header
        existing = self._existing()
        self._check(existing, header)
        self._cut(whole)
        return existing

    def _first(self) -> bytes:
        return next(iter(_lines(self._fd)), (1, b""))[1]

    def _refuse_foreign(self) -> None:
        """Runs may be dropped, those of a damaged or another version's journal too, but not a gold set or a report."""
        first = self._first()
        known = first.endswith(b"\n") and any(name in _read(first) for name in (HEADER_KEY, "sweep_id"))
        if first and not known and not (_is_torn(first) and self._header_beside()):
            raise _foreign(self.path, "holds no runs that `shipworthy run` wrote")

    def _recover(self) -> int:
        """Read what is there: what is finished, and where the whole lines end."""
        decode = msgspec.json.Decoder(_Line).decode
        whole = 0
        for number, line in _lines(self._fd):
            if number == 1 and HEADER_KEY in _read(line):
                whole = len(line)
                continue
            try:
                if not line.endswith(b"\n"):
                    break
                record = _decoded(decode, line)
            except ValueError:
                if whole + len(line) == self._size:
                    break  # the last line: torn by a power cut after its end had reached the disk
                raise DataError(
                    "is not a trace",
                    where=f"{self.path}:{number}",
                    code="journal-damaged",
                    hint="Another program changed the file. Start again with --overwrite.",
                ) from None
            whole += len(line)
            if record.run_id is not None:
                self.finished.add(record.run_id)
                self.failed += record.error is not None
                self._sweeps.add(record.sweep_id or "")
        return whole

    def _existing(self) -> Header:
        """The header of the runs that are there: line 1 of an older file, else what stands beside it."""
        first = _read(self._first())
        found = first if HEADER_KEY in first else self._header_beside()
        if not found:
            raise UsageError(
                f"can't be resumed: {self.beside.name}, which says how it was begun, is missing or damaged",
                where=str(self.path),
                hint="Put it back, start again with --overwrite, or give another --out. Scoring does not need it.",
                code="journal-lost",
            )
        found.setdefault("planned", found.get("plan_size"))  # as it was called at first
        version = found[HEADER_KEY]
        try:
            if version not in (1, VERSION):
                raise msgspec.ValidationError
            return msgspec.convert(found, Header)
        except msgspec.ValidationError:
            what = f"has a header of version {version} that can't be read (this is {VERSION})"
            raise _foreign(self.path if found is first else self.beside, what) from None

    def _header_beside(self) -> dict[str, object]:
        """What stands beside the file; nothing if it is not a header."""
        try:
            fd = os.open(self.beside, os.O_RDONLY | _NOTE)
            with os.fdopen(fd, "rb") as stream:
                found = _read(stream.read(_CHUNK))
        except OSError:
            return {}
        return found if HEADER_KEY in found else {}

    def _check(self, existing: Header, wanted: Header) -> None:
        names = {"gold_digest": "the gold set", "config_digest": "the plan or the target"}
        changed = [what for name, what in names.items() if getattr(existing, name) != getattr(wanted, name)]
        if self._sweeps - {existing.sweep_id}:
            changed = ["its runs, some of which are of another sweep,"]
        if not changed and existing.planned != wanted.planned:
            changed = ["the number of runs"]
        if changed:
            raise UsageError(
                f"was begun otherwise: {' and '.join(changed)} changed since",
                where=str(self.path),
                hint="Give another --out, or the gold set, grid and target of the first run.",
                code="journal-mismatch",
            )

    def _cut(self, size: int) -> None:
        os.ftruncate(self._fd, size)
        self._size = size


def encoded(record: dict[str, object]) -> bytes:
    """A record as one line. Half a surrogate pair is written as an escape, as JSON allows."""
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(record), separators=(",", ":")).encode("ascii") + b"\n"


def _decoded(decode: Callable[[bytes], _Line], line: bytes) -> _Line:
    """What a resume needs of a line; the fast decoder does not know half a surrogate pair."""
    try:
        return decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        value = json.loads(line)
        if not isinstance(value, dict):
            raise
        return msgspec.convert({name: value[name] for name in _Line.__struct_fields__ if name in value}, _Line)


@contextmanager
def held(path: Path, what: str) -> Iterator[None]:
    """Keep others out by a lock on a file of its own, which says who holds it and is gone afterwards."""
    if fcntl is None:
        yield
        return
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | _NOTE, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(fd), os.stat(path)):
                break
        except BlockingIOError:
            os.close(fd)
            raise EnvironmentFailure(
                f"{what} ({_holder(path)})",
                where=str(path).removesuffix(LOCK),
                hint="Wait until it is done, then try again. Nothing was changed.",
                code="run-locked",
            ) from None
        os.close(fd)  # who held it has removed the file meanwhile
    try:
        _write_note(path, _own_note())
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(fd)


def _own_note() -> str:
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname()}) + "\n"


def _write_note(note: Path, text: str) -> None:
    """Say who holds the lock, in a file of our own: a link that somebody put there is not followed."""
    fd = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NOTE, 0o644)
    with os.fdopen(fd, "w", encoding="utf-8") as stream:
        stream.write(text)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | _OURS_ALONE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, flags, 0o644)
    except OSError as error:
        raise _failure(path, error) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise EnvironmentFailure(
            "is not a regular file", where=str(path), hint="Give another --out.", code="write-failed"
        )
    return fd


def _foreign(path: Path, what: str) -> UsageError:
    return UsageError(what, where=f"{path}:1", hint="Give another --out.", code="journal-foreign")


def beside(path: str | os.PathLike[str]) -> Path:
    """Where the header of a file of runs stands."""
    return Path(f"{os.fspath(path)}.journal")


def _is_torn(line: bytes) -> bool:
    """Whether line 1 is the beginning of an object, cut off by a kill."""
    return not line.endswith(b"\n") and line.startswith(b"{")


def _read(line: bytes) -> dict[str, object]:
    """A line as an object; an empty one if it is not an object."""
    try:
        value = json.loads(line)  # which knows half a surrogate pair
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _lines(fd: int) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; the last one may lack its newline."""
    with os.fdopen(os.dup(fd), "rb", buffering=_CHUNK) as stream:
        stream.seek(0)
        yield from enumerate(stream, 1)


def _holder(note: Path) -> str:
    try:
        fd = os.open(note, os.O_RDONLY | _NOTE)
        with os.fdopen(fd, "rb") as stream:
            holder = json.loads(stream.read(1000))
        return visible(f"pid {holder['pid']} on {holder['host']}", 100)
    except (OSError, ValueError, KeyError, TypeError):
        return "its pid is not known"


def _sync_folder(path: Path) -> None:
    """Make the new name itself durable."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens no folders
        return
    fd = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError:
        pass  # some file systems can't; the data itself is synced
    finally:
        os.close(fd)


def _failure(path: Path, error: OSError) -> EnvironmentFailure:
    full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG)
    hint = (
        "Make room, then go on with --resume: finished runs are kept."
        if full
        else "Check the path and its permissions."
    )
    what = "the disk is full" if full else f"can't be written: {error.strerror}"
    return EnvironmentFailure(what, where=str(path), hint=hint, code="disk-full" if full else "write-failed")
