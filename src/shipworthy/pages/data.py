"""Data: what pages ask of a history, in one read-only transaction.

A branch is looked at through the last `WINDOW` runs of each suite; a strip shows the last `STRIP`. Runs on a part of
the questions are listed, and are no part of strips, gates or verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ..core.gates import Gate
from ..core.metrics import decimal
from ..errors import ShipworthyError
from ..history import History, RecordedRun
from ..history.flaky import FAILURES, failures
from ..history.flaky import outages as unusual
from ..history.records import Report, run_of, shown_name
from ..history.store import opened
from ..reading.reports import row_name

STRIP = 60  # runs that a strip shows
WINDOW = 365  # runs of a suite that pages look at
LONGEST_TEXT = 4000  # characters of a question or an answer that a page shows
_AT_HAND = 16  # reports
_TOGETHER = 400  # values in one list of a statement
NO_SHIP, NO_VERDICT, SHIP, MEASURED = "NO-SHIP", "NO VERDICT", "SHIP", "MEASURED"


class Cell(NamedTuple):
    """One question in one run."""

    passed: bool
    reason: str
    since: int  # the first run of those in a row that ended so; negative where there is none before it

    def turned_in(self, seq: int) -> bool:
        """Whether it ended otherwise in the run before that one."""
        return self.since == seq


class Step(NamedTuple):
    """One run of a question's history."""

    run: RecordedRun
    passed: bool
    reason: str
    answer: str  # digest
    since: int


class Point(NamedTuple):
    """A gate in one run."""

    run: RecordedRun
    value: Fraction | None
    interval: tuple[float, float] | None
    bound: float | None
    holds: bool | None  # None: not applicable, or there is no such gate in this run
    excused: bool = False  # it failed and was let pass: waived, or a warning only


class Check(NamedTuple):
    """The runs that one `check` recorded, one for each suite."""

    runs: tuple[RecordedRun, ...]

    @property
    def newest(self) -> RecordedRun:
        return self.runs[-1]

    @property
    def verdict(self) -> str:
        return verdict_of(run.decision for run in self.runs)


class Changes(NamedTuple):
    """What fails in a run, and what changed with it."""

    failing: dict[str, str]  # question → reason
    new: list[str]
    repaired: list[str]


def verdict_of(decisions: Iterable[str]) -> str:
    """One verdict of several suites, as `check` gives it."""
    found = {decision.removesuffix(" (subset)") for decision in decisions}
    for verdict in (NO_SHIP, NO_VERDICT):
        if verdict in found:
            return verdict
    return SHIP if SHIP in found else MEASURED if MEASURED in found else NO_VERDICT


class Source:
    """An open history that is only read. With `redact` no answer leaves it."""

    def __init__(self, history: History, redact: bool = False) -> None:
        self.history, self.redact = history, redact
        self._reports: dict[int, Report] = {}
        self._rows: dict[int, dict[str, Mapping[str, Any]]] = {}

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.history.read(sql, values)

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """Projects and branches, by name. Runs without a project belong to the projects that share their branch."""
        rows = self.rows("SELECT DISTINCT project, branch FROM shipworthy_runs")
        named = {branch for project, branch in rows if project}
        return sorted((project, branch) for project, branch in rows if project or branch not in named)

    def branch(self, project: str, name: str, window: int = WINDOW) -> Branch:
        return Branch(self, project, name, window)

    def runs(self, where: str, values: Sequence[Any], limit: int) -> list[RecordedRun]:
        """The last runs that fit, oldest first."""
        sql = f"SELECT {{columns}} FROM shipworthy_runs WHERE {where} ORDER BY seq DESC LIMIT {limit}"
        return [run_of(row, self.history.url) for row in reversed(self.rows(sql, values))]

    def report(self, run: RecordedRun) -> Report:
        """The report of a run, as it was recorded; the last few stay at hand."""
        if run.seq not in self._reports:
            if len(self._reports) == _AT_HAND:
                oldest = next(iter(self._reports))
                del self._reports[oldest]
                self._rows.pop(oldest, None)
            self._reports[run.seq] = next(self.history.reports([run]))
        return self._reports[run.seq]

    def items_of(self, run: RecordedRun) -> dict[str, Mapping[str, Any]]:
        """The rows of a run's report by question: made once, since every question asks. Redacted, without answers."""
        report = self.report(run)
        if run.seq not in self._rows:
            shown = ("question", "slices", "answerable")
            self._rows[run.seq] = {
                shown_name(row_name(row)): {key: row[key] for key in shown if key in row} if self.redact else row
                for row in report.get("items") or ()
            }
        return self._rows[run.seq]

    def among(self, sql: str, values: Sequence[Any], *more: Any) -> Iterator[tuple[Any, ...]]:
        """A statement with `{list}` for the values, some of them at a time; `more` are values behind the list."""
        for start in range(0, len(values), _TOGETHER):
            some = values[start : start + _TOGETHER]
            yield from self.rows(sql.replace("{list}", ", ".join("?" * len(some))), (*some, *more))

    @cached_property
    def stamp(self) -> tuple[int, int]:
        """What changes when a run is recorded or deleted: how many there are, and the number of the newest."""
        count, newest = self.rows("SELECT count(*), max(seq) FROM shipworthy_runs")[0]
        return int(count), int(newest or 0)


@contextmanager
def reading(url: str, redact: bool = False) -> Iterator[Source]:
    """The history at a URL, which nothing that is done here can change."""
    history = History(url)
    with history.reading() as store:
        if url.startswith(("postgresql://", "postgres://")):
            store.rows("SET TRANSACTION READ ONLY")
        else:
            store.rows("PRAGMA query_only = ON")
            store.rows("BEGIN")  # every page of a site is of the same moment
        yield Source(history, redact)


def bring_up_to_date(url: str) -> None:
    """Migrate the database, and keep the items of runs that an earlier version recorded. Pages never write."""
    history = History(url)
    history.runs(limit=1)  # says so where there is none
    with opened(url, history.timeout):
        pass
    history.fill_items()


class Branch:
    """A branch of a project: its runs by suite, its checks, its questions."""

    def __init__(self, source: Source, project: str, name: str, window: int = WINDOW) -> None:
        self.source, self.project, self.name, self.window = source, project, name, window
        self.item_pages: Any = None  # which `questions` makes once
        self._grids: dict[str, dict[str, list[Cell | None]]] = {}
        self._now: dict[str, dict[str, Cell]] = {}
        self._outages: dict[str, set[int]] = {}
        self._where, self._values = "branch = ? AND project IN (?, '')", (name, project)

    @cached_property
    def series(self) -> dict[str, list[RecordedRun]]:
        """The last runs of each suite, oldest first, subsets too."""
        suites = self.source.rows(
            f"SELECT DISTINCT suite FROM shipworthy_runs WHERE {self._where} ORDER BY suite", self._values
        )
        return {
            suite: self.source.runs(f"{self._where} AND suite = ?", (*self._values, suite), self.window)
            for (suite,) in suites
        }

    @cached_property
    def full(self) -> dict[str, list[RecordedRun]]:
        """The runs on all questions."""
        found = {suite: [run for run in runs if not run.subset] for suite, runs in self.series.items()}
        return {suite: runs for suite, runs in found.items() if runs}

    @cached_property
    def runs(self) -> dict[int, RecordedRun]:
        """By number, oldest first."""
        runs = (run for one in self.series.values() for run in one)
        return {run.seq: run for run in sorted(runs, key=lambda run: run.seq)}

    @cached_property
    def checks(self) -> list[Check]:
        """Runs that were recorded together, oldest first."""
        groups = groupby(self.runs.values(), key=lambda run: (run.recorded_at, run.commit, run.label, run.subset))
        return [Check(tuple(runs)) for _, runs in groups]

    @cached_property
    def first(self) -> int:
        """The number of the oldest run that is kept: it changes when runs are deleted."""
        return int(
            self.source.rows(f"SELECT min(seq) FROM shipworthy_runs WHERE {self._where}", self._values)[0][0] or 0
        )

    @cached_property
    def latest(self) -> dict[str, RecordedRun]:
        """The newest run of each suite on all questions, of suites that the newest full check still has or that ran
        within the last twenty checks: a suite that was removed from the config decides nothing."""
        recent = {run.seq for check in self.checks[-20:] for run in check.runs}
        return {suite: runs[-1] for suite, runs in self.full.items() if runs[-1].seq in recent}

    @cached_property
    def verdict(self) -> str:
        return verdict_of(run.decision for run in self.latest.values())

    @cached_property
    def _before(self) -> dict[int, RecordedRun]:
        return {two.seq: one for runs in self.full.values() for one, two in pairwise(runs)}

    def before(self, run: RecordedRun) -> RecordedRun | None:
        """The run of the same suite before this one."""
        return self._before.get(run.seq)

    def run(self, seq: int) -> RecordedRun | None:
        """A run by its number, also one from before the window."""
        if seq in self.runs:
            return self.runs[seq]
        return next(iter(self.source.runs("seq = ?", (seq,), 1)), None)

    def find(self, name: str) -> RecordedRun | None:
        """A run of this branch by the beginning of its id."""
        where = f"{self._where} AND substr(id, 1, ?) = ?"
        return next(iter(self.source.runs(where, (*self._values, len(name), name), 1)), None)

    def cells(self, run: RecordedRun) -> dict[str, Cell]:
        """Every question of a run."""
        sql = "SELECT qid, passed, reason, since FROM shipworthy_items WHERE run = ? ORDER BY qid"
        return {
            qid: Cell(bool(passed), reason, since) for qid, passed, reason, since in self.source.rows(sql, (run.seq,))
        }

    def now(self, suite: str) -> dict[str, Cell]:
        """Every question of a suite as it ended last."""
        if suite not in self._now:
            self._now[suite] = self.cells(self.latest[suite])
        return self._now[suite]

    def changes_of(self, seqs: Sequence[int]) -> dict[int, Changes]:
        """What fails in each of these runs, what is new and what was repaired."""
        found = {seq: Changes({}, [], []) for seq in seqs}
        sql = (
            "SELECT run, qid, passed, reason, since FROM shipworthy_items WHERE run IN ({list}) "
            "AND (passed = 0 OR since = run) ORDER BY run, qid"
        )
        for seq, qid, passed, reason, since in self.source.among(sql, seqs):
            if not passed:
                found[seq].failing[qid] = reason
            if since == seq:
                (found[seq].repaired if passed else found[seq].new).append(qid)
        return found

    def strips(self, suite: str, names: Sequence[str], last: int = STRIP) -> dict[str, list[Cell | None]]:
        """The last runs of each question, oldest first; None where a run did not have it."""
        seqs = [run.seq for run in self.full[suite]][-last:]
        place = {seq: number for number, seq in enumerate(seqs)}
        found: dict[str, list[Cell | None]] = {name: [None] * len(seqs) for name in names}
        # By question and span of runs, which is how items lie on disk; where many branches share the span, by run.
        dense = seqs[-1] - seqs[0] < 8 * len(seqs)
        if dense:
            sql = (
                "SELECT run, qid, passed, reason, since FROM shipworthy_items WHERE qid IN ({list}) "
                "AND run BETWEEN ? AND ?"
            )
            rows = self.source.among(sql, names, seqs[0], seqs[-1])
        else:
            sql = "SELECT run, qid, passed, reason, since FROM shipworthy_items WHERE run IN ({list})"
            rows = self.source.among(sql, seqs)
        for seq, qid, passed, reason, since in rows:
            if seq in place and qid in found:
                found[qid][place[seq]] = Cell(bool(passed), reason, since)
        return found

    def grid(self, suite: str) -> dict[str, list[Cell | None]]:
        """The strips of all questions of a suite as it is now."""
        if suite not in self._grids:
            self._grids[suite] = self.strips(suite, list(self.now(suite)))
        return self._grids[suite]

    def failed_in_each(self, suite: str) -> list[tuple[int, int]]:
        """How many questions of how many failed in each run of the strips."""
        columns = ([cell.passed for cell in column if cell] for column in zip(*self.grid(suite).values(), strict=True))
        return [(len(passed) - sum(passed), len(passed)) for passed in columns]

    def is_flaky(self, suite: str, qid: str) -> bool:
        """Whether a question failed at least three separate times in the last runs, outages aside."""
        if suite not in self._outages:
            self._outages[suite] = unusual(self.failed_in_each(suite)) if suite in self.latest else set()
        cells = self.grid(suite).get(qid, ()) if suite in self.latest else ()
        seen = [cell.passed for place, cell in enumerate(cells) if cell and place not in self._outages[suite]]
        return failures(seen) >= FAILURES

    def steps(self, suite: str, qid: str) -> list[Step]:
        """One question over the runs of the window, oldest first, subsets too."""
        runs = {run.seq: run for run in self.series.get(suite, ())}
        if not runs:
            return []
        sql = (
            "SELECT run, passed, reason, answer, since FROM shipworthy_items WHERE qid = ? AND run BETWEEN ? AND ? "
            "ORDER BY run"
        )
        rows = self.source.rows(sql, (qid, min(runs), max(runs)))
        return [Step(runs[row[0]], bool(row[1]), *row[2:]) for row in rows if row[0] in runs]

    def count_since(self, suite: str, seq: int) -> int:
        """How many runs on all questions there are from that one on."""
        inside = self.full.get(suite, [])
        if inside and inside[0].seq <= seq:
            return sum(run.seq >= seq for run in inside)
        sql = f"SELECT count(*) FROM shipworthy_runs WHERE {self._where} AND suite = ? AND seq >= ?"
        return int(self.source.rows(sql, (*self._values, suite, seq))[0][0])

    def last_before(self, suite: str, qid: str, seq: int, passed: bool) -> RecordedRun | None:
        """The last run of the suite before that number in which a question ended so."""
        sql = (
            "SELECT r.seq FROM shipworthy_items i JOIN shipworthy_runs r ON r.seq = i.run WHERE i.qid = ? "
            "AND i.run < ? AND i.passed = ? AND r.suite = ? AND r.branch = ? AND r.project IN (?, '') "
            "ORDER BY i.run DESC LIMIT 1"
        )
        found = self.source.rows(sql, (qid, seq, int(passed), suite, self.name, self.project))
        return self.run(found[0][0]) if found else None

    def known_items(self) -> list[tuple[str, str]]:
        """Every question that a run of the window has, by suite."""
        found = []
        for suite, runs in self.series.items():
            sql = "SELECT DISTINCT qid FROM shipworthy_items WHERE run IN ({list})"
            names = {qid for (qid,) in self.source.among(sql, [run.seq for run in runs])}
            found += [(suite, qid) for qid in sorted(names)]
        return found

    @cached_property
    def gates(self) -> dict[tuple[str, str], None]:
        """Suites and what the gates of their runs measure."""
        found: dict[tuple[str, str], None] = {}
        for suite, runs in self.full.items():
            sql = "SELECT DISTINCT gate FROM shipworthy_gates WHERE run_id IN ({list})"
            texts = {text for (text,) in self.source.among(sql, [run.id for run in runs])}
            found |= {(suite, gate.key): None for gate in map(parsed, sorted(texts)) if gate}
        return found

    def kept_texts(self, answers: Sequence[str]) -> dict[str, str]:
        """The answers that history keeps as text, by digest."""
        return {} if self.source.redact else self.source.history.texts_of(answers)

    def cut_name(self, suite: str, matches: Any) -> str | None:
        """The question whose address, which was cut, fits."""
        rows = self.source.among(
            "SELECT DISTINCT qid FROM shipworthy_items WHERE run IN ({list})",
            [run.seq for run in (self.series.get(suite) or [])[-STRIP:]],
        )
        return next((qid for (qid,) in rows if matches(qid)), None)

    def points(self, suite: str, keys: Sequence[str], last: int = STRIP) -> dict[str, list[Point]]:
        """Gates over the last runs, by what they measure."""
        runs = self.full[suite][-last:]
        ids = [run.id for run in runs]
        values: dict[tuple[str, str], tuple[Any, ...]] = {}
        sql = "SELECT run_id, name, kind, num, den FROM shipworthy_metrics WHERE run_id IN ({list})"
        wanted = set(keys)
        for run, name, *rest in self.source.among(sql, ids):
            if name in wanted:
                values[run, name] = tuple(rest)
        bounds: dict[tuple[str, str], tuple[Any, ...]] = {}
        for run, text, state, holds in self.source.among(
            "SELECT run_id, gate, state, holds FROM shipworthy_gates WHERE run_id IN ({list})", ids
        ):
            if (gate := parsed(text)) is not None and gate.key in wanted:
                judged = None if state == "NOT-APPLICABLE" else bool(holds)
                bounds[run, gate.key] = (bound_of(gate), judged, bool(holds) and state.startswith("FAIL"))
        return {
            key: [
                Point(run, *measured(values.get((run.id, key))), *bounds.get((run.id, key), (None, None)))
                for run in runs
            ]
            for key in keys
        }


def parsed(text: str) -> Gate | None:
    try:
        return Gate.parse(text)
    except (ShipworthyError, ValueError):
        return None  # of a subset, or of a version whose gates were written otherwise


def bound_of(gate: Gate) -> float | None:
    """The threshold where it is a number of its own."""
    return None if gate.bound.sign else float(gate.bound.number)


def measured(row: tuple[Any, ...] | None) -> tuple[Fraction | None, tuple[float, float] | None]:
    """A metric's value, and its interval where it counts cases."""
    from ..stats import wilson

    if row is None or row[1] is None or not int(row[2] or 0):
        return None, None
    kind, num, den = row[0], int(row[1]), int(row[2])
    return Fraction(num, den), wilson(num, den) if kind == "rate" and 0 <= num <= den else None


def key_of(outcome: Mapping[str, Any]) -> str:
    """What a gate measures: `precision`, or `precision[type=table]`."""
    gate = parsed(str(outcome.get("gate", "")))
    return gate.key if gate else ""


def op_of(outcome: Mapping[str, Any]) -> str:
    gate = parsed(str(outcome.get("gate", "")))
    return gate.op if gate else ">="


def number_of(point: Point) -> str:
    if point.value is None:
        return "undefined"
    return str(point.value) if point.value.denominator == 1 else decimal(point.value)


def rows_of(report: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = report.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def texts_of(report: Mapping[str, Any], name: str) -> list[str]:
    found = report.get(name)
    return [str(one) for one in found][:20] if isinstance(found, list) else []
