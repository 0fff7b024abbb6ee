"""Since when: what history knows of the questions that fail now, noted on a board before it is shown."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ..config import Config
from ..core.board import Board
from ..core.decision import Decision, digest_of
from ..errors import ShipworthyError
from ..history import History
from ..history.queries import failing_in, newest_run
from ..history.records import run_id, shown_name
from ..reading.reports import row_name
from ..text import visible
from .commit import about_commit, base_branch, where_from

TIMEOUT = 1.0  # seconds: a verdict does not wait longer to say since when


def note_since(board: Board, config: Config, label: str = "") -> None:
    """Note under each decision's `run.since`, outside the digest, what the run before said of the same questions.

    `failing` has every question that fails now: the run and commit since when, and whether it is new; `repaired` those
    that failed then and pass now. Nothing is noted where history does not know, or can't be read in time.
    """
    with suppress(ShipworthyError):
        history = History(config.history_url(), TIMEOUT)
        place = where_from(config.folder)
        project = about_commit("", config.folder)["project"]
        with history.reading():
            for decision in board.decisions:
                known = (digest_of(decision), *(visible(text) for text in (place["commit"], place["branch"], label)))
                rows = history.read("SELECT seq FROM shipworthy_runs WHERE id = ?", (run_id(*known),))
                before = rows[0][0] if rows else None  # this very run, if it is recorded already, is not before itself
                if "subset" not in decision.sections and history.knows_since():
                    found = _since(history, decision, place["branch"], project, before)
                    decision.run = decision.run | ({"since": found} if found else {})


def _since(
    history: History, decision: Decision, branch: str, project: str, before: int | None
) -> dict[str, Any] | None:
    run = newest_run(history, suite=decision.suite, branch=branch, project=project, base=base_branch(), before=before)
    if run is None:
        return None
    failed = failing_in(history, run)
    failing: dict[str, dict[str, Any]] = {}
    now: set[str] = set()
    passes = decision.display.passes
    for row in decision.items:
        name = row_name(row)
        kept = shown_name(name)
        if passes(row):
            now.add(kept)
            continue
        since = failed.get(kept)
        told = {"new": True} if since is None else {"run": since.run, "commit": since.commit, "at": since.recorded_at}
        failing[name] = told
    repaired = sorted(now & failed.keys())
    return {"before": run.where, "failing": failing, "repaired": repaired}
