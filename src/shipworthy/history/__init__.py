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
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import msgspec

from ..errors import DataError, UsageError
from ..reading.reports import is_edited
from ..suites import passing_rule
from ..text import visible
from .items import ANSWERS, COMPLETE, FAILING, ItemAnswer, ItemHistory, ItemRun, KeptItem, insert_items, items_of
from .records import (
    Baseline,
    GateHealth,
    Recorded,
    RecordedRun,
    Report,
    RunRef,
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
from .store import (
    BUILD_COLUMNS,
    COMMIT_COLUMNS,
    ITEMS,
    KNOWN,
    SINCE,
    DatabaseRow,
    HistoryStore,
    Value,
    Values,
    compressed,
    masked,
    opened,
    retried,
)

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
_REF = "seq, id, recorded_at, suite, decision, commit_id, branch, label, project, subject, commit_url, gold"
_PROJECT = "{project}"  # … and the condition that a run is of a project
_NAMES = (  # each name once: one step through the index for each, where DISTINCT would look at every row
    "WITH RECURSIVE n(qid) AS (SELECT min(qid) FROM shipworthy_items UNION ALL "
    "SELECT (SELECT min(qid) FROM shipworthy_items WHERE qid > n.qid) FROM n WHERE n.qid IS NOT NULL) SELECT qid FROM n"
)


class History:
    """The recorded runs at a URL or in a file; each call is one transaction.

    `texts` says of which items the answer is kept beside its digest: none, failing or all. Reports have them all.
    """

    def __init__(self, url: str | os.PathLike[str], timeout: float = TIMEOUT, texts: str = FAILING) -> None:
        self.url, self.timeout, self.texts = os.fspath(url), timeout, texts
        self._local = threading.local()

    def record(self, report: Report, **known: str) -> str:
        """Add a run and return its id; the same report of the same commit and label is added once.

        `known` is what is known of the run besides, by the names in `KNOWN`: commit, branch, label, project and so on.
        """
        if strange := known.keys() - set(KNOWN):
            raise TypeError(f"a run has no {', '.join(sorted(strange))}")
        row, metrics, gates = rows_of(report, known | {"recorded_at": known.get("recorded_at") or _now()})

        def add() -> None:
            with opened(self.url, self.timeout) as store:
                _insert(store, row, metrics, gates, report, self.texts)

        retried(add, self.timeout)
        return str(row[0])

    def runs(
        self,
        *,
        suite: str = "",
        branch: str = "",
        label: str = "",
        project: str = "",
        limit: int | None = None,
        before: int | None = None,
    ) -> list[RecordedRun]:
        """Runs in the order in which they were recorded; with a limit, the last of them.

        With `before`, only runs before that number. Runs that an earlier version recorded have no project, and belong
        to any.
        """
        where, values = _where(suite=suite, branch=branch, label=label, project=project)
        if before is not None:
            where, values = f"{where} AND seq < ?", [*values, before]
        most = "" if limit is None else f" LIMIT {int(limit)}"
        sql = f"SELECT {_SAME} FROM shipworthy_runs WHERE seq > 0{where} ORDER BY seq DESC{most}"
        return [run_of(row, self.url) for row in reversed(self.read(sql, values))]

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
            found = [run_of(row, self.url) for row in self.read(sql, values)]
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

    def reports(self, runs: Sequence[RecordedRun | RunRef]) -> Iterator[Recorded]:
        """The reports of several runs, in their order; a few at a time, because each has a row for every item."""
        return (stored(report, self.url) for report in self._stored(runs))

    def results(self, runs: Sequence[RecordedRun]) -> Iterator[dict[str, bool]]:
        """Which items of several runs pass, by name, in the order of the runs."""
        rules = (passing_rule({"shipworthy": {"suite": run.suite}}) for run in runs)
        reports = self._stored(runs)
        return (stored_results(report, self.url, passes) for report, passes in zip(reports, rules, strict=True))

    def _stored(self, runs: Sequence[RecordedRun | RunRef]) -> Iterator[object]:
        for start in range(0, len(runs), TOGETHER):
            yield from retried(partial(self._some_stored, runs[start : start + TOGETHER]), self.timeout)

    def _some_stored(self, runs: Sequence[RecordedRun | RunRef]) -> list[object]:
        with self.reading() as store:
            table, column = ("reports", "run") if store.version() >= SINCE else ("runs", "seq")
            sql = f"SELECT report FROM shipworthy_{table} WHERE {column} = ?"
            found = [store.rows(sql, (run.seq,)) for run in runs]
            return [rows[0][0] if rows else None for rows in found]

    def trend(
        self, metric: str, *, suite: str = "", branch: str = "", project: str = "", limit: int = 30
    ) -> list[TrendPoint]:
        """A metric over the last runs that have it, oldest first."""
        where, values = _where(suite=suite, branch=branch, project=project)
        rows = self.read(
            f"SELECT m.kind, m.num, m.den, {_SAME} FROM shipworthy_metrics m JOIN shipworthy_runs r ON r.id = m.run_id "
            f"WHERE m.name = ?{where} ORDER BY seq DESC LIMIT {int(limit)}",
            (shown_name(metric), *values),
        )
        if not rows and not self.read("SELECT 1 FROM shipworthy_metrics WHERE name = ? LIMIT 1", (shown_name(metric),)):
            known = sorted({row[0] for row in self.read("SELECT DISTINCT name FROM shipworthy_metrics")})
            raise UsageError(
                f"no recorded run has the metric {visible(metric)!r}",
                where=masked(self.url),
                hint=f"Recorded: {', '.join(known)}." if known else "",
                code="history-no-metric",
            )
        return [TrendPoint(run_of(row[3:], self.url), row[0], *map(_int, row[1:3])) for row in reversed(rows)]

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
                for table in ("items", "reports"):
                    store.many(
                        f"DELETE FROM shipworthy_{table} WHERE run = (SELECT seq FROM shipworthy_runs WHERE id = ?)",
                        [(name,) for name in dropped],
                    )
                store.rows("DELETE FROM shipworthy_texts WHERE answer NOT IN (SELECT answer FROM shipworthy_items)")
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
            known = {name: str(row.get(name, "")) for name in KNOWN}
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
        rows = self.read(
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
        with self.reading():
            return self._item(qid, suite, branch, project, limit)

    def _item(self, qid: str, suite: str, branch: str, project: str, limit: int | None) -> list[ItemHistory]:
        self.fill_items()
        name = shown_name(qid)
        # Of suites with several arms: what begins so. Names are looked at one after the other, whatever their order is
        # in this database.
        names = [name, *(one for (one,) in self.read(_NAMES) if one is not None and one.startswith(f"{name} ("))]
        where, values = _where(suite=suite, branch=branch, project=project)
        found: dict[tuple[str, ...], ItemHistory] = {}
        for shown in names:
            rows = self.read(
                f"SELECT i.passed, i.reason, i.answer, {_REF} FROM shipworthy_items i "
                f"JOIN shipworthy_runs r ON r.seq = i.run WHERE i.qid = ?{where} ORDER BY r.seq",
                (shown, *values),
            )
            for row in rows:
                run = RunRef(*row[3:])
                key = (run.suite, shown, run.project, run.branch)
                one = found.get(key) or found.setdefault(
                    key, ItemHistory(shown, run.suite, run.project, run.branch, [])
                )
                one.runs.append(ItemRun(run, bool(row[0]), row[1], row[2]))
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
        """Look up the texts of the different answers; what is not kept, in the report of the last run that gave it.

        The same text stands once for each way in which it ended: it may have cited something else.
        """
        gave: dict[tuple[str, bool, str], list[ItemRun]] = {}
        for one in item.runs:
            if one.answer:
                gave.setdefault((one.answer, one.passed, one.reason), []).append(one)
        endings = sorted(gave.values(), key=lambda runs: runs[-1].run.seq)[-ANSWERS:]
        turn = [one for one in (item.before, item.since) if one is not None and one.answer]
        wanted = [*(runs[-1] for runs in endings), *turn]
        item.texts = self.texts_of([one.answer for one in wanted])
        unknown = list({one.answer: one for one in wanted if one.answer not in item.texts}.values())
        for one, rows in zip(unknown, self.items([one.run for one in unknown]), strict=True):
            item.texts[one.answer] = rows[item.qid].text if item.qid in rows else ""
        item.answers = [
            ItemAnswer(item.texts[last.answer], last.passed, last.reason, [one.run.seq for one in runs])
            for runs in endings
            for last in runs[-1:]
        ]

    def texts_of(self, answers: Iterable[str]) -> dict[str, str]:
        """The answers that are kept as text, by their digests."""
        found = {}
        for answer in dict.fromkeys(answers):
            for (text,) in self.read("SELECT text FROM shipworthy_texts WHERE answer = ?", (answer,)):
                found[answer] = text
        return found

    def items(self, runs: Sequence[RecordedRun | RunRef]) -> Iterator[dict[str, KeptItem]]:
        """The items of several runs with their answers, from their reports."""
        return (items_of(report) for report in self.reports(runs))

    def fill_items(self, within: float | None = None) -> bool:
        """Keep the items of runs that an earlier version recorded, a few runs at a time, oldest first.

        Whether all are kept: with `within`, it stops after so many seconds, and goes on another time.
        """
        missing = f"FROM shipworthy_runs WHERE has_items < {COMPLETE} ORDER BY seq LIMIT {TOGETHER}"
        end = None if within is None else time.monotonic() + within

        def fill_some() -> None:
            if (reader := getattr(self._local, "store", None)) is not None:
                reader.rest()
            with opened(self.url, self.timeout) as store:
                store.take_turns()
                for (seq,) in store.rows(f"SELECT seq {missing}"):
                    ((report,),) = store.rows("SELECT report FROM shipworthy_reports WHERE run = ?", (seq,))
                    insert_items(store, seq, stored(report, self.url), self.texts)

        while not self.knows_since():
            if end is not None and time.monotonic() > end:
                return False
            retried(fill_some, self.timeout)
        return True

    def gate_health(self, *, least: int = 5) -> list[GateHealth]:
        """Each gate over all recorded runs; only gates seen in at least `least` runs."""
        rows = self.read(
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

    def read(self, sql: str, values: Values = ()) -> list[DatabaseRow]:
        """The rows of a statement; `{columns}` in it are those of `RecordedRun`, as far as the database has them."""

        def read() -> list[DatabaseRow]:
            with self.reading() as store:
                return store.rows(_completed(sql, store), values)

        return retried(read, self.timeout)

    @contextlib.contextmanager
    def reading(self) -> Iterator[HistoryStore]:
        """One connection for all that this thread reads meanwhile."""
        if (open_store := getattr(self._local, "store", None)) is not None:
            yield open_store
            return
        with opened(self.url, self.timeout, write=False) as store:
            self._local.store = store
            try:
                yield store
            finally:
                self._local.store = None

    def version(self) -> int:
        """The number of the database's schema."""
        with self.reading() as store:
            return store.version()

    def knows_since(self) -> bool:
        """Whether the items of all runs are kept with the run that turned them: `fill_items` does that."""
        missing = f"SELECT 1 FROM shipworthy_runs WHERE has_items < {COMPLETE} LIMIT 1"
        return self.version() >= SINCE and not self.read(missing)

    def record_all(self, reports: Sequence[Report], **known: str) -> tuple[list[str], list[str]]:
        """Record runs, or keep them beside the database where that fails; their ids, and warnings. Never raises.

        Runs that were kept earlier are recorded first. A database that fails once is not tried again, so that a lock is
        waited for only once. Call it when the verdict is printed: nothing that happens here can change one.
        """
        known = {**known, "recorded_at": known.get("recorded_at") or _now()}
        warnings, broken = self._absorb()
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

    def _absorb(self) -> tuple[list[str], Exception | None]:
        """Record what was kept beside the database; a file goes only once its run is safe.

        Warnings about files that can't be recorded, and the database's failure if it has one.
        """
        runs, odd = waiting(spool_folder(self.url))
        warnings = [left(path) for path in odd]
        for path, entry in runs:
            try:
                self.record(entry.pop("report"), **entry)
            except DataError as error:
                warnings.append(left(path, error.what))
                continue
            except Exception as error:
                return warnings, error
            with contextlib.suppress(OSError):  # recorded already: another time it is recorded once as well
                os.unlink(path)
        return warnings, None


def _completed(sql: str, store: HistoryStore) -> str:
    """A statement with what this database has; one that nobody wrote to since an earlier version has fewer columns."""
    if "{" not in sql:
        return sql
    version = store.version()
    later = ((COMMIT_COLUMNS, ITEMS), (BUILD_COLUMNS, SINCE))
    more = [name if version >= first else f"'' AS {name}" for names, first in later for name in names]
    named = "project IN ('', ?)" if version >= ITEMS else "'' <> ?"
    return sql.replace(_SAME, ", ".join((_COLUMNS, *more))).replace(_PROJECT, named)


def _where(*, project: str = "", **wanted: str) -> tuple[str, list[Value]]:
    """The condition for runs, and its values."""
    named = {f"{column} = ?": value for column, value in wanted.items() if value}
    named |= {_PROJECT: project} if project else {}
    return "".join(f" AND {condition}" for condition in named), [*named.values()]


def _insert(
    store: HistoryStore, run: Values, metrics: Sequence[Values], gates: Sequence[Values], report: Report, texts: str
) -> None:
    names = ", ".join((_COLUMNS.removeprefix("seq, "), *COMMIT_COLUMNS, *BUILD_COLUMNS))
    places = ", ".join("?" * len(run))
    store.take_turns()
    added = store.count(
        f"INSERT INTO shipworthy_runs ({names}, report) VALUES ({places}, '') ON CONFLICT (id) DO NOTHING", run
    )
    if added:
        ((seq,),) = store.rows("SELECT seq FROM shipworthy_runs WHERE id = ?", (run[0],))
        text = compressed(json.dumps(report))
        store.rows("INSERT INTO shipworthy_reports (run, report) VALUES (?, ?)", (seq, text))
        earlier = f"SELECT 1 FROM shipworthy_runs WHERE has_items < {COMPLETE} AND seq < ? LIMIT 1"
        if not store.rows(earlier, (seq,)):  # else its turn comes after theirs
            insert_items(store, seq, report, texts)
        store.many("INSERT INTO shipworthy_metrics (run_id, name, kind, num, den) VALUES (?, ?, ?, ?, ?)", metrics)
        store.many("INSERT INTO shipworthy_gates (run_id, gate, state, holds) VALUES (?, ?, ?, ?)", gates)


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
