"""Build: what was judged, for the first lines of a report: commit, branch, time, label, release of the gold set."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime

from ..core.board import Board
from ..core.decision import Decision
from ..errors import ShipworthyError
from ..reading.lock import locks_of, read_lock
from .commit import links, where_from


def stamp(
    shown: Decision | Board, folder: str = ".", label: str = "", *, judged_here: bool = True, ask_git: bool = True
) -> None:
    """Note the build under `run.build`, outside the digest; once, so that every report of a run says the same.

    `judged_here` is False where what was judged is not in this folder: then its commit says nothing. Scoring starts no
    process, so there the commit is known only from the CI's environment.
    """
    if "build" in shown.run:
        return
    where = where_from(folder, ask_git=ask_git) if judged_here else {}
    more = links(where["commit"]) if where else {}
    known = {**where, "time": _now(), "label": label, "gold_release": release_of(shown), **more}
    shown.run = shown.run | {"build": {name: value for name, value in known.items() if value}}


def _now() -> str:
    """The time in UTC; SOURCE_DATE_EPOCH fixes it for reports that must not change."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    when = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() and len(fixed) < 12 else datetime.now(UTC)
    return when.strftime("%Y-%m-%d %H:%M UTC")


def release_of(shown: Decision | Board) -> str:
    """The release that the gold set was frozen for, where a lock lies beside it."""
    decisions = shown.decisions if isinstance(shown, Board) else [shown]
    paths = dict.fromkeys(path for one in decisions if isinstance(path := one.run.get("gold"), str))
    found: list[str] = []
    for path in paths:
        with suppress(ShipworthyError, OSError):
            found += [read_lock(lock).release for lock in locks_of(path)]
    return ", ".join(dict.fromkeys(found))
