"""History: each run recorded once, with its canonical report; listed, shown, drawn, compared.

store    SQLite or PostgreSQL, migrations
records  a run as it is kept
items    one question over the runs
spool    runs that could not be recorded yet
nightly  evidence that gathers over repeated runs
page     eval/report.md with its pictures
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import msgspec

from ..errors import DataError, UsageError
from ..reading.reports import is_edited, row_name
from ..text import visible
from .items import ANSWERS, ItemAnswer, ItemHistory, ItemRun, item_rows
from .records import (
    Baseline,
    GateHealth,
    Recorded,
    RecordedRun,
    Report,
    TrendPoint,
    damaged,
    exact_value,
    rows_of,
    run_of,
    shown_name,
    stored,
    stored_results,
)
from .spool import keep, left, spool_folder, waiting
from .store import COMMIT_COLUMNS, ITEMS, DatabaseRow, HistoryStore, Values, masked, opened, retried

__all__ = [
    "Baseline",
    "GateHealth",
    "History",
    "ItemHistory",
    "RecordedRun",
    "TrendPoint",
    "exact_value",
    "spool_folder",
]

TOGETHER = 20  # reports that are read at a time
TIMEOUT = 10.0  # seconds that a busy database is waited for
SHORT = 12  # characters of a run's id that people type

_COLUMNS = "seq, id, recorded_at, suite, profile, decision, definitions, digest, inputs, commit_id, branch, label"
_SAME = "{columns}"  # in a statement: what the database's version has of these


class History:
    """The recorded runs at a URL or in a file; each call is one transaction."""

    def __init__(self, url: str | os.PathLike[str], timeout: float = TIMEOUT) -> None:
        self.url, self.timeout = os.fspath(url), timeout

    def record(
        self,
        report: Report,
        *,
        commit: str = "",
        branch: str = "",
        label: str = "",
        recorded_at: str = "",
        project: str = "",
        committed_at: str = "",
        subject: str = "",
        parent: str = "",
    ) -> str:
        """Add a run and return its id; the same report of the same commit and label is added once."""
        about = (project, committed_at, subject, parent)
        row, metrics, gates = rows_of(report, commit, branch, label, recorded_at or _now(), about)

        def add() -> None:
            with opened(self.url, self.timeout) as store:
                _insert(store, row, metrics, gates, report)

        retried(add, self.timeout)
        return str(row[0])

    def runs(
        self, *, suite: str = "", branch: str = "", label: str = "", project: str = "", limit: int | None = None
    ) -> list[RecordedRun]:
        """Runs in the order in which they were recorded; with a limit, the last of them.

        Runs that an earlier version recorded have no project, and belong to any.
        """
        wanted = [
            (column, value) for column, value in (("suite", suite), ("branch", branch), ("label", label)) if value
        ]
        where = "".join(f" AND {column} = ?" for column, _ in wanted)
        sql = f"SELECT {_SAME} FROM shipworthy_runs WHERE seq > 0{where} ORDER BY seq DESC"
        most = f" LIMIT {int(limit)}" if limit is not None and not project else ""
        found = [run_of(row, self.url) for row in reversed(self._read(sql + most, [value for _, value in wanted]))]
        if project:
            found = [run for run in found if run.project in ("", project)][-(limit or 0) :]
        return found

    def find(self, name: str) -> RecordedRun:
        """A run by its id, its number, its label, the beginning of its id, or `last`: the first that fits, the newest.

        What was named in full comes before ids that happen to begin so: run 1 is not run 1f3c….
        """
        if name == "last":
            found = self.runs(limit=1)
        else:
            number = int(name) if name.isdecimal() and len(name) < SHORT else -1
            sql = (
                f"SELECT {_SAME} FROM shipworthy_runs WHERE id = ? OR seq = ? OR label = ? OR substr(id, 1, ?) = ? "
                "ORDER BY CASE WHEN id = ? THEN 3 WHEN seq = ? THEN 2 WHEN label = ? THEN 1 ELSE 0 END, seq"
            )
            values = (name, number, name, len(name), name, name, number, name)
            found = [run_of(row, self.url) for row in self._read(sql, values)]
        if not found:
            raise UsageError(
                f"there is no recorded run {visible(name)!r}",
                where=masked(self.url),
                hint="`shipworthy history list` shows them.",
                code="history-no-run",
            )
        return found[-1]

    def report(self, name: str) -> Recorded:
        """The canonical report of a run, as it was recorded."""
        found = next(self.reports([self.find(name)]))
        if is_edited(found):
            raise damaged(self.url)  # a verdict may hang on it
        return found

    def reports(self, runs: Sequence[RecordedRun]) -> Iterator[Recorded]:
        """The reports of several runs, in their order; a few at a time, because each has a row for every item."""
        return (stored(report, self.url) for report in self._stored(runs))

    def results(self, runs: Sequence[RecordedRun]) -> Iterator[dict[str, bool]]:
        """Which items of several runs pass, by name, in the order of the runs."""
        return (stored_results(report, self.url) for report in self._stored(runs))

    def _stored(self, runs: Sequence[RecordedRun]) -> Iterator[object]:
        for start in range(0, len(runs), TOGETHER):
            yield from retried(partial(self._some_stored, runs[start : start + TOGETHER]), self.timeout)

    def _some_stored(self, runs: Sequence[RecordedRun]) -> list[object]:
        with opened(self.url, self.timeout, write=False) as store:
            sql = "SELECT report FROM shipworthy_runs WHERE id = ?"
            found = [store.rows(sql, (run.id,)) for run in runs]
            return [rows[0][0] if rows else None for rows in found]

    def trend(
        self, metric: str, *, suite: str = "", branch: str = "", project: str = "", limit: int = 30
    ) -> list[TrendPoint]:
        """A metric over the last runs that have it, oldest first."""
        runs = {run.id: run for run in self.runs(suite=suite, branch=branch, project=project)}
        rows = self._read("SELECT run_id, kind, num, den FROM shipworthy_metrics WHERE name = ?", (shown_name(metric),))
        found = {row[0]: row[1:] for row in rows}
        if not found:
            known = sorted({row[0] for row in self._read("SELECT DISTINCT name FROM shipworthy_metrics")})
            raise UsageError(
                f"no recorded run has the metric {visible(metric)!r}",
                where=masked(self.url),
                hint=f"Recorded: {', '.join(known)}." if known else "",
                code="history-no-metric",
            )
        points = [
            TrendPoint(run, found[name][0], *map(_int, found[name][1:])) for name, run in runs.items() if name in found
        ]
        return points[-limit:]

    def prune(self, keep: int) -> int:
        """Drop all but the last `keep` runs of each suite and branch; blessed runs stay. How many were dropped."""
        if keep < 1:
            raise UsageError("keep at least one run", where="--keep", code="history-keep")
        kept = {baseline.run_id for baseline in self.baselines()}
        groups: dict[tuple[str, str], list[RecordedRun]] = {}
        for run in self.runs():
            groups.setdefault((run.suite, run.branch), []).append(run)
        dropped = [run.id for group in groups.values() for run in group[:-keep] if run.id not in kept]

        def drop() -> None:
            with opened(self.url, self.timeout) as store:
                store.many(
                    "DELETE FROM shipworthy_items WHERE run = (SELECT seq FROM shipworthy_runs WHERE id = ?)",
                    [(name,) for name in dropped],
                )
                for table, column in (("metrics", "run_id"), ("gates", "run_id"), ("runs", "id")):
                    store.many(f"DELETE FROM shipworthy_{table} WHERE {column} = ?", [(name,) for name in dropped])

        retried(drop, self.timeout)
        return len(dropped)

    def export(self) -> Iterator[Recorded]:
        """Every run with its report, in order: what `import_runs` takes back."""
        for run in self.runs():
            yield {**msgspec.to_builtins(run), "report": next(self.reports([run]))}

    def import_runs(self, rows: Iterator[Report]) -> int:
        """Record exported runs, each once."""
        count = 0
        for count, row in enumerate(rows, 1):
            if not isinstance(row.get("report"), Mapping):
                raise DataError("is not an exported run: it has no report", where=f"run {count}", code="history-export")
            names = ("commit", "branch", "label", "recorded_at", *COMMIT_COLUMNS)
            known = {name: str(row.get(name, "")) for name in names}
            try:
                self.record(row["report"], **known)
            except DataError as error:
                error.where = error.where or f"run {count}"
                raise
        return count

    def bless(self, name: str, run: str, *, by: str, reason: str) -> Baseline:
        """Make a run the baseline of that name for its suite; earlier ones stay on record."""
        for what, value in (("NAME", name), ("--by", by), ("--reason", reason)):
            if not value.strip():
                raise UsageError(
                    "is blank", where=what, hint="Say who set the baseline and why.", code="baseline-blank"
                )
        found = self.find(run)
        self.report(found.id)  # raises if it is not what was recorded
        baseline = Baseline(name, found.suite, found.id, by, _now(), reason)

        def add() -> None:
            with opened(self.url, self.timeout) as store:
                store.rows(
                    "INSERT INTO shipworthy_baselines (name, suite, run_id, blessed_by, blessed_at, reason) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    msgspec.structs.astuple(baseline),
                )

        retried(add, self.timeout)
        return baseline

    def baselines(self) -> list[Baseline]:
        """Every blessing, oldest first; the last of a name and suite is in force."""
        rows = self._read(
            "SELECT name, suite, run_id, blessed_by, blessed_at, reason FROM shipworthy_baselines ORDER BY seq"
        )
        return [Baseline(*row) for row in rows]

    def baseline(self, name: str) -> dict[str, Recorded]:
        """The reports of a baseline by suite."""
        latest = {baseline.suite: baseline for baseline in self.baselines() if baseline.name == name}
        if not latest:
            known = sorted({baseline.name for baseline in self.baselines()})
            raise UsageError(
                f"there is no baseline {visible(name)!r}",
                where=masked(self.url),
                code="baseline-absent",
                hint=f"There are: {', '.join(known)}." if known else "Bless a run: shipworthy baseline bless.",
            )
        return {suite: self.report(baseline.run_id) for suite, baseline in sorted(latest.items())}

    def item(
        self, qid: str, *, suite: str = "", branch: str = "", project: str = "", limit: int | None = None
    ) -> list[ItemHistory]:
        """One question over the runs, for each suite, arm, project and branch that has it. Subsets count too.

        With a limit, over the last runs that have it.
        """
        self._fill_items()
        name = shown_name(qid)
        rows = self._read(
            "SELECT run, qid, passed, reason, answer FROM shipworthy_items WHERE qid = ? OR substr(qid, 1, ?) = ? "
            "ORDER BY qid, run",
            (name, len(name) + 2, f"{name} ("),  # of suites with several arms
        )
        runs = {run.seq: run for run in self.runs(suite=suite, branch=branch, project=project)}
        found: dict[tuple[str, ...], ItemHistory] = {}
        for seq, shown, passed, reason, answer in rows:
            if (run := runs.get(seq)) is not None:
                key = (run.suite, shown, run.project, run.branch)
                one = found.setdefault(key, ItemHistory(shown, run.suite, run.project, run.branch, []))
                one.runs.append(ItemRun(run, bool(passed), reason, answer))
        if not found:
            raise UsageError(
                f"no recorded run has the question {visible(qid)!r}",
                where=masked(self.url),
                hint="`shipworthy history list` shows the runs; their reports name the questions.",
                code="history-no-item",
            )
        for one in found.values():
            one.runs = one.runs[-(limit or 0) :]
            self._answer(one)
        return [found[key] for key in sorted(found)]

    def _answer(self, item: ItemHistory) -> None:
        """Look up the texts of the different answers, each in the report of the last run that gave it."""
        last = {one.answer: one for one in item.runs if one.answer}
        wanted = sorted(last.values(), key=lambda one: one.run.seq)[-ANSWERS:]
        turn = [one for one in (item.before, item.since) if one is not None and one.answer and one not in wanted]
        chosen = [*wanted, *turn]
        for one, report in zip(chosen, self.reports([one.run for one in chosen]), strict=True):
            rows = {shown_name(row_name(row)): row for row in report.get("items", ())}
            row: Report = rows.get(item.qid, {})
            item.texts[one.answer] = visible(str(row.get("claim", "")))
        item.answers = [
            ItemAnswer(
                item.texts[one.answer],
                one.passed,
                one.reason,
                [other.run.seq for other in item.runs if other.answer == one.answer],
            )
            for one in wanted
        ]

    def _fill_items(self) -> None:
        """Keep the items of runs that an earlier version recorded, a few runs at a time."""
        missing = f"FROM shipworthy_runs WHERE has_items = 0 ORDER BY seq LIMIT {TOGETHER}"

        def complete() -> bool:
            with opened(self.url, self.timeout, write=False) as store:
                return store.version() >= ITEMS and not store.rows(f"SELECT seq {missing}")

        def fill_some() -> None:
            with opened(self.url, self.timeout) as store:
                for seq, report in store.rows(f"SELECT seq, report {missing}"):
                    _insert_items(store, seq, stored(report, self.url))

        while not retried(complete, self.timeout):
            retried(fill_some, self.timeout)

    def gate_health(self, *, least: int = 5) -> list[GateHealth]:
        """Each gate over all recorded runs; only gates seen in at least `least` runs."""
        rows = self._read(
            "SELECT r.suite, g.gate, g.holds FROM shipworthy_gates g JOIN shipworthy_runs r ON r.id = g.run_id "
            "WHERE g.state <> 'NOT-APPLICABLE'"
        )
        counted: dict[tuple[str, str], list[int]] = {}
        for suite, gate, holds in rows:
            counted.setdefault((suite, gate), []).append(int(holds))
        return [
            GateHealth(suite, gate, len(held), sum(held))
            for (suite, gate), held in sorted(counted.items())
            if len(held) >= least
        ]

    def _read(self, sql: str, values: Values = ()) -> list[DatabaseRow]:
        def read() -> list[DatabaseRow]:
            with opened(self.url, self.timeout, write=False) as store:
                return store.rows(sql.replace(_SAME, _columns(store)) if _SAME in sql else sql, values)

        return retried(read, self.timeout)

    def record_or_spool(self, report: Report, **known: str) -> tuple[str, str]:
        """Record a run; where that fails keep it beside the database. The run's id, and a warning or nothing."""
        (name,), warnings = self.record_all([report], **known)
        return name, " ".join(warnings)

    def record_all(self, reports: Sequence[Report], **known: str) -> tuple[list[str], list[str]]:
        """Record runs, or keep them beside the database where that fails; their ids, and warnings. Never raises.

        Runs that were kept earlier are recorded first. A database that fails once is not tried again, so that a lock is
        waited for only once. Call it when the verdict is printed: nothing that happens here can change one.
        """
        known = {**known, "recorded_at": known.get("recorded_at") or _now()}
        _, warnings, broken = self._absorb()
        names = []
        for report in reports:
            name = ""
            if broken is None:
                try:
                    name = self.record(report, **known)
                except DataError as error:  # not a report: to keep it would only bring it back
                    warnings.append(f"the run is not in history: {error}")
                    names.append(name)
                    continue
                except Exception as error:  # a fault in history must not take the verdicts of other suites along
                    broken = error
            if broken is not None:
                name, warning = keep(self.url, report, known, broken)
                warnings.append(warning)
            names.append(name)
        return names, warnings

    def absorb(self) -> int:
        """Record what was kept beside the database, and say how much; a file goes only once its run is safe."""
        count, _, broken = self._absorb()
        if broken is not None:
            raise broken
        return count

    def _absorb(self) -> tuple[int, list[str], Exception | None]:
        """How many runs were recorded, warnings about files that can't be, and the database's failure if it has one."""
        runs, odd = waiting(spool_folder(self.url))
        warnings, count = [left(path) for path in odd], 0
        for path, entry in runs:
            try:
                self.record(entry.pop("report"), **entry)
            except DataError as error:
                warnings.append(left(path, error.what))
                continue
            except Exception as error:
                return count, warnings, error
            count += 1
            with contextlib.suppress(OSError):  # recorded already: another time it is recorded once as well
                os.unlink(path)
        return count, warnings, None


def _columns(store: HistoryStore) -> str:
    """The columns of a run; a database that nobody wrote to since an earlier version made it has fewer."""
    more = COMMIT_COLUMNS if store.version() >= ITEMS else [f"'' AS {name}" for name in COMMIT_COLUMNS]
    return ", ".join((_COLUMNS, *more))


def _insert(
    store: HistoryStore, run: Values, metrics: Sequence[Values], gates: Sequence[Values], report: Report
) -> None:
    names = f"{_COLUMNS.removeprefix('seq, ')}, {', '.join(COMMIT_COLUMNS)}, report"
    places = ", ".join("?" * len(run))
    added = store.count(f"INSERT INTO shipworthy_runs ({names}) VALUES ({places}) ON CONFLICT (id) DO NOTHING", run)
    if added:
        ((seq,),) = store.rows("SELECT seq FROM shipworthy_runs WHERE id = ?", (run[0],))
        _insert_items(store, seq, report)
        store.many("INSERT INTO shipworthy_metrics (run_id, name, kind, num, den) VALUES (?, ?, ?, ?, ?)", metrics)
        store.many("INSERT INTO shipworthy_gates (run_id, gate, state, holds) VALUES (?, ?, ?, ?)", gates)


def _insert_items(store: HistoryStore, seq: int, report: Report) -> None:
    store.many(
        "INSERT INTO shipworthy_items (run, qid, passed, reason, answer) VALUES (?, ?, ?, ?, ?)",
        [*item_rows(seq, report)],
    )
    store.rows("UPDATE shipworthy_runs SET has_items = 1 WHERE seq = ?", (seq,))


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
