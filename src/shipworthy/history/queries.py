"""Queries: what pages and reports ask of history. Branches, questions by runs, since when each question fails.

A series is the runs of one project, branch and suite. Runs that an earlier version recorded have no project, and belong
to any. No query unpacks a report; all but `failing_since` first keep the items of what an earlier version recorded.
Within `with history.reading():` all of them share one connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from . import History, RecordedRun
from .records import SHORT_COMMIT, run_of
from .store import DatabaseRow

TOGETHER = 200  # runs whose items are read by one statement
LOOKED_AT = 20  # runs, for the newest that is not on a part of the questions


class Branch(msgspec.Struct, frozen=True):
    """A branch of a project, and the newest run of each suite on it, by the suite's name."""

    project: str
    branch: str
    runs: int
    newest: dict[str, RecordedRun]

    @property
    def last(self) -> RecordedRun:
        return max(self.newest.values(), key=lambda run: run.seq)

    @property
    def decision(self) -> str:
        """`NO-SHIP` where a suite says so, else `NO VERDICT` where one does, else `SHIP` where one does."""
        said = {run.decision for run in self.newest.values()}
        return next((one for one in ("NO-SHIP", "NO VERDICT", "SHIP") if one in said), self.last.decision)


class Cell(msgspec.Struct, frozen=True):
    """A question in one run of the matrix."""

    passed: bool
    reason: str
    answer: str  # digest; `History.texts_of` has the text of those that are kept
    since: int  # the number of the first run in a row that ended like this one
    turned: bool  # whether it ended otherwise in the run before


class Matrix(msgspec.Struct, frozen=True):
    """Questions by runs: `rows[qid][n]` is the question in `runs[n]`, None where that run does not have it."""

    runs: list[RecordedRun]
    rows: dict[str, list[Cell | None]]


class Since(msgspec.Struct, frozen=True):
    """The run since which a question fails."""

    run: int  # its number
    commit: str = ""  # blank where it is not known, as of a run that was pruned
    recorded_at: str = ""
    new: bool = False  # it passed, or was not there, in the run before the newest
    always: bool = False  # it never passed: the run is the first that has it

    def __str__(self) -> str:
        """`since run 31 (9f3c2a1b)`, or `new`."""
        at = f" ({self.commit[:SHORT_COMMIT]})" if self.commit else ""
        return "new" if self.new else f"since run {self.run}{at}"


class Turned(msgspec.Struct, frozen=True):
    """The questions that a run turned: those that fail for the first time, and those that pass again."""

    new: list[str]
    repaired: list[str]


def branches(history: History) -> list[Branch]:
    """Every branch of every project that has a run, the one with the newest run first."""
    newest: dict[tuple[str, str], dict[str, RecordedRun]] = {}
    counts: dict[tuple[str, str], int] = {}
    history.fill_items()  # an earlier version knows no project
    rows = history.read(
        "SELECT total, {columns} FROM shipworthy_runs r JOIN (SELECT max(seq) AS newest, count(*) AS total "
        "FROM shipworthy_runs GROUP BY project, branch, suite) g ON g.newest = r.seq ORDER BY seq"
    )
    for total, *columns in rows:
        run = run_of(tuple(columns), history.url)
        key = (run.project, run.branch)
        newest.setdefault(key, {})[run.suite] = run
        counts[key] = counts.get(key, 0) + total
    found = [Branch(*key, counts[key], runs) for key, runs in newest.items()]
    return sorted(found, key=lambda one: -one.last.seq)


def matrix(
    history: History, *, suite: str, branch: str = "", project: str = "", last: int = 60, before: int | None = None
) -> Matrix:
    """The questions of a suite in the last runs, oldest first; with `before`, in those before the run of that number.

    Questions come in the order of their names.
    """
    history.fill_items()
    runs = history.runs(suite=suite, branch=branch, project=project, limit=last, before=before)
    place = {run.seq: number for number, run in enumerate(runs)}
    rows: dict[str, list[Cell | None]] = {}
    for run, name, passed, reason, answer, since in _items(history, "passed, reason, answer, since", place):
        row = rows.get(name) or rows.setdefault(name, [None] * len(runs))
        row[place[run]] = Cell(bool(passed), reason, answer, abs(since), since == run)
    return Matrix(runs, dict(sorted(rows.items())))


def turned(history: History, runs: Sequence[RecordedRun]) -> dict[int, Turned]:
    """What each run turned, by its number. A question that was not asked before is none of these."""
    history.fill_items()
    found = {run.seq: Turned([], []) for run in runs}
    for run, name, passed in _items(history, "passed", found, " AND since = run"):
        (found[run].repaired if passed else found[run].new).append(name)
    return {seq: Turned(sorted(one.new), sorted(one.repaired)) for seq, one in found.items()}


def failing_since(
    history: History, *, branch: str = "", project: str = "", suite: str = "", base: str = "", before: int | None = None
) -> dict[tuple[str, str], Since]:
    """Since which run each question fails that fails in the newest run of its suite, by suite and name.

    With `base`, suites that the branch itself has no run of yet are taken from that branch, such as the one that a pull
    request goes to. With `before`, as it was before the run of that number. Empty where an earlier version wrote the
    database.
    """
    names = [suite] if suite else [one for (one,) in history.read("SELECT DISTINCT suite FROM shipworthy_runs")]
    found: dict[tuple[str, str], Since] = {}
    for name in sorted(names):
        run = newest_run(history, suite=name, branch=branch, project=project, base=base, before=before)
        if run is not None:
            found |= {(name, qid): since for qid, since in failing_in(history, run).items()}
    return found


def newest_run(
    history: History, *, suite: str, branch: str = "", project: str = "", base: str = "", before: int | None = None
) -> RecordedRun | None:
    """The newest run of a suite on all its questions, on the branch or else on its base; None where there is none."""
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
        "SELECT i.qid, i.since, r.commit_id, r.recorded_at FROM shipworthy_items i "
        "LEFT JOIN shipworthy_runs r ON r.seq = abs(i.since) WHERE i.run = ? AND i.passed = 0 ORDER BY i.qid",
        (run.seq,),
    )
    first = -run.seq if _is_first(history, run) else 0
    return {
        name: Since(abs(since), commit or "", recorded_at or "", abs(since) == run.seq and since != first, since < 0)
        for name, since, commit, recorded_at in rows
    }


def _is_first(history: History, run: RecordedRun) -> bool:
    """Whether there is nothing before it to compare with."""
    return not history.runs(suite=run.suite, branch=run.branch, project=run.project, limit=1, before=run.seq)


def _items(history: History, columns: str, runs: Iterable[int], more: str = "") -> Iterator[DatabaseRow]:
    """Items of several runs, some runs at a time."""
    numbers = list(runs)
    for start in range(0, len(numbers), TOGETHER):
        some = numbers[start : start + TOGETHER]
        places = ", ".join("?" * len(some))
        yield from history.read(f"SELECT run, qid, {columns} FROM shipworthy_items WHERE run IN ({places}){more}", some)
