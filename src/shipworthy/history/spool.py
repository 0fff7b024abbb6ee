"""Spool: runs that could not be recorded, each in a file of its own beside the database until they can."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping

from ..errors import ShipworthyError
from ..reading.files import write_whole
from ..text import visible
from .records import Recorded, Report, run_id
from .store import KNOWN

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def spool_folder(url: str) -> str:
    """Where runs are kept that could not be recorded: beside the SQLite file, else under .shipworthy."""
    return ".shipworthy/history.spool" if "://" in url else os.path.splitext(url)[0] + ".spool"


def keep(url: str, report: Report, known: Mapping[str, str], error: Exception) -> tuple[str, str]:
    """Write the run to a file of its own; its id (blank if that failed as well), and a warning. Never raises."""
    why = str(error) if isinstance(error, ShipworthyError) else f"{type(error).__name__}: {visible(str(error), 200)}."
    try:
        name = run_id(str(report["digest"]), *(visible(known.get(key, "")) for key in ("commit", "branch", "label")))
        path = os.path.join(spool_folder(url), f"{name}.json")
        write_whole(path, json.dumps({**known, "report": report}).encode())
    except Exception as failure:  # nothing about history may take a verdict along
        return "", f"the run is not in history: {why} Nor could it be kept for later: {failure}"
    return name, f"the run is not in history: {why} It is kept in {visible(path)} and will be recorded later."


def waiting(folder: str) -> tuple[list[tuple[str, Recorded]], list[str]]:
    """The runs in the folder, in the order in which they happened, and the files that are none."""
    found, odd = [], []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return [], [folder] if os.path.isdir(folder) else []
    for path in (os.path.join(folder, name) for name in names if name.endswith(".json")):
        try:
            entry = _entry(path)
        except FileNotFoundError:
            continue  # another program took it first
        except (OSError, ValueError, RecursionError, MemoryError):
            entry = None
        if entry is None:
            odd.append(path)
        else:
            found.append((path, entry))
    return sorted(found, key=lambda pair: (pair[1]["recorded_at"], pair[0])), odd


def left(path: str, why: str = "it is not a run that was kept") -> str:
    """The warning about a file that can't be recorded."""
    return f"{visible(path)} can't be added to history: {why.rstrip('.')}. It is left where it is: repair or delete it."


def _entry(path: str) -> Recorded | None:
    """What a file holds: a report, and its commit, branch, label and time. A pipe must not make anybody wait."""
    handle = os.open(path, os.O_RDONLY | _NOFOLLOW | _NONBLOCK)
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        entry = json.loads(stream.read())
    if not isinstance(entry, dict) or not isinstance(entry.get("report"), dict):
        return None
    known = {name: entry.get(name, "") for name in KNOWN}
    return {**known, "report": entry["report"]} if all(isinstance(text, str) for text in known.values()) else None
