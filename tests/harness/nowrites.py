"""Watched writes: whatever is opened for writing, renamed, removed or made outside of some folders is remembered.

    with no_writes_outside(tmp_path):
        verify(report)

Python's audit events tell of every such call, however it is made; a hook can't be taken away, so it is switched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
_PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_watch: list[tuple[tuple[str, ...], list[str]]] = []  # the folders that are allowed, and what happened elsewhere


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _watch:
        return
    allowed, seen = _watch[-1]
    if event == "open" and _writes(args):
        _remember(event, args[0], allowed, seen)
    elif event in _CHANGES:
        places = args[1:2] if event in ("os.symlink", "os.link") else args[:2] if event == "os.rename" else args[:1]
        for place in places:
            _remember(event, place, allowed, seen)
    elif event in _PROCESSES and args[0] != "git":  # history asks for the commit
        seen.append(f"{event} {args[0]!r}")


def _writes(args: tuple[Any, ...]) -> bool:
    _, mode, flags = args
    return bool(isinstance(flags, int) and flags & _WRITING) or any(sign in (mode or "") for sign in "wax+")


def _remember(event: str, path: Any, allowed: tuple[str, ...], seen: list[str]) -> None:
    if isinstance(path, int) or path is None:
        return
    where = os.path.abspath(os.fsdecode(path))
    # A folder is opened for writing to make a temporary file without a name in it, which leaves nothing.
    if not where.startswith(allowed) and "__pycache__" not in where and not (event == "open" and os.path.isdir(where)):
        seen.append(f"{event} {where}")


@cache
def _listen() -> None:
    """Once: an audit hook can't be taken back."""
    sys.addaudithook(_hook)


@contextmanager
def no_writes_outside(*folders: Path | str) -> Iterator[list[str]]:
    """Fail at the end if a file outside of the folders was changed, or a process started."""
    _listen()
    seen: list[str] = []
    _watch.append(((*(os.path.realpath(folder) for folder in folders), os.devnull), seen))
    try:
        yield seen
    finally:
        _watch.pop()
    assert not seen, f"something was changed or started: {seen[:5]}"
