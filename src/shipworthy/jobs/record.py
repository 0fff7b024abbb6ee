"""Record: what history knows of the questions that fail now, and a board that goes into it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from ..config import Config
from ..core.board import Board
from ..core.decision import Decision, digest_of
from ..core.decision import report as report_of
from ..errors import ShipworthyError
from ..history import SHORT, History, RecordedRun
from ..history.records import run_id, shown_name
from ..reading.reports import row_name
from ..text import visible
from .commit import about_commit, base_branch, known_of_run, release_of, where_from

TIMEOUT = 1.0  # seconds: a verdict does not wait longer to say since when
RECORD_TIMEOUT = 5.0  # … nor for its place in history
LOOKED_AT = 20  # runs, for the newest that is not on a part of the questions


class Since(NamedTuple):
    """The run since which a question fails; commit and time are blank where it was pruned."""

    run: int
    commit: str
    at: str


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
        failing[name] = {"new": True} if since is None else since._asdict()
    repaired = sorted(now & failed.keys())
    return {"before": run.where, "failing": failing, "repaired": repaired}


def newest_run(
    history: History, *, suite: str, branch: str = "", project: str = "", base: str = "", before: int | None = None
) -> RecordedRun | None:
    """The newest run of a suite on all its questions, on the branch or else on its base; None where there is none.

    The base of a pull request is the branch that it goes to. With `before`, only runs before that number.
    """
    for one in dict.fromkeys((branch, base)) if base else (branch,):
        runs = history.runs(suite=suite, branch=one, project=project, limit=LOOKED_AT, before=before)
        if whole := [run for run in runs if not run.subset]:
            return whole[-1]
    return None


def failing_in(history: History, run: RecordedRun) -> dict[str, Since]:
    """The questions that fail in a run, by name, and since when; empty where an earlier version wrote the database."""
    if not history.knows_since():
        return {}
    rows = history.read(
        "SELECT i.qid, abs(i.since), r.commit_id, r.recorded_at FROM shipworthy_items i "
        "LEFT JOIN shipworthy_runs r ON r.seq = abs(i.since) WHERE i.run = ? AND i.passed = 0",
        (run.seq,),
    )
    return {name: Since(seq, commit or "", at or "") for name, seq, commit, at in rows}


def record_board(board: Board, config: Config, label: str = "") -> None:
    """Each decision into history, and what history tells onto the board. Whatever goes wrong is a warning."""
    try:
        history = History(config.history_url(), RECORD_TIMEOUT, config.texts)
    except ShipworthyError as error:
        board.run = board.run | {"history": {}, "warnings": [f"the run is not in history: {error}"]}
        return
    known = known_of_run(config.folder, label, author=config.author) | {"gold_release": release_of(board)}
    ids, warnings = history.record_all([_without_since(report_of(one)) for one in board.decisions], **known)
    if not warnings:
        with suppress(ShipworthyError):  # a picture is not worth a warning
            for decision in board.decisions:
                board.trends |= _trends(history, decision, known["branch"], known["project"])
    suites = [decision.suite for decision in board.decisions]
    board.run = board.run | {
        "history": dict(zip(suites, ids, strict=True)),
        "warnings": list(dict.fromkeys(warnings)),
    }


def _without_since(report: dict[str, Any]) -> dict[str, Any]:
    """What history itself told is not recorded again."""
    return {**report, "run": {name: value for name, value in report["run"].items() if name != "since"}}


def _trends(history: History, decision: Decision, branch: str, project: str) -> dict[str, list[dict[str, Any]]]:
    """The gated metrics over the last runs of the suite in this project and branch, this one last."""
    found = {}
    if "subset" in decision.sections:
        return {}  # the trend is that of the whole gold set
    for key in dict.fromkeys(outcome.gate.key for outcome in decision.outcomes):
        points = history.trend(key, suite=decision.suite, branch=branch, project=project)
        found[f"{decision.suite} {key}"] = [
            {
                "value": None if point.value is None else float(point.value),
                "label": point.run.label or point.run.id[:SHORT],
                "recorded_at": point.run.recorded_at,
                "commit": point.run.commit,
                "decision": point.run.decision,
            }
            for point in points
        ]
    return found
