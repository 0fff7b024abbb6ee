"""HistoryStore: SQLite or PostgreSQL behind the same few statements, with numbered migrations."""

from __future__ import annotations

import os
import re
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from ..errors import EnvironmentFailure, UsageError, needs_extra
from ..text import visible

if TYPE_CHECKING:
    import psycopg

Value = str | int | bytes | None
Values = Sequence[Value]
DatabaseRow = tuple[Any, ...]  # what the statement that was asked says it is
T = TypeVar("T")

COMMIT_COLUMNS = ("project", "committed_at", "subject", "parent")
BUILD_COLUMNS = ("author", "gold_release", "commit_url", "run_url", "pull_url")

KNOWN = ("commit", "branch", "label", "recorded_at", *COMMIT_COLUMNS, *BUILD_COLUMNS)  # what is kept with a report

# Numbered; what was published is never edited, only added to. No literal question mark or per cent sign:
# placeholders are rewritten by plain replacement.
MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        """CREATE TABLE shipworthy_runs (
            seq {serial}, id TEXT NOT NULL UNIQUE, recorded_at TEXT NOT NULL, suite TEXT NOT NULL,
            profile TEXT NOT NULL, decision TEXT NOT NULL, definitions TEXT NOT NULL, digest TEXT NOT NULL,
            inputs TEXT NOT NULL,
            commit_id TEXT NOT NULL, branch TEXT NOT NULL, label TEXT NOT NULL, report TEXT NOT NULL)""",
        """CREATE TABLE shipworthy_metrics (
            run_id TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, num TEXT, den TEXT,
            PRIMARY KEY (run_id, name))""",
        "CREATE INDEX shipworthy_runs_suite ON shipworthy_runs (suite, seq)",
    ),
    2: (
        """CREATE TABLE shipworthy_gates (
            run_id TEXT NOT NULL, gate TEXT NOT NULL, state TEXT NOT NULL, holds BIGINT NOT NULL,
            PRIMARY KEY (run_id, gate))""",
        """CREATE TABLE shipworthy_baselines (
            seq {serial}, name TEXT NOT NULL, suite TEXT NOT NULL, run_id TEXT NOT NULL, blessed_by TEXT NOT NULL,
            blessed_at TEXT NOT NULL, reason TEXT NOT NULL)""",
    ),
    3: (),  # reports are compressed: HistoryStore._compress_reports
    4: (
        *(f"ALTER TABLE shipworthy_runs ADD COLUMN {name} TEXT NOT NULL DEFAULT ''" for name in COMMIT_COLUMNS),
        "ALTER TABLE shipworthy_runs ADD COLUMN has_items BIGINT NOT NULL DEFAULT 0",  # whether they are kept below
        """CREATE TABLE shipworthy_items (
            run BIGINT NOT NULL, qid TEXT NOT NULL, passed BIGINT NOT NULL, reason TEXT NOT NULL, answer TEXT NOT NULL,
            PRIMARY KEY (qid, run)){compact}""",
        "CREATE INDEX shipworthy_items_run ON shipworthy_items (run)",
        "CREATE INDEX shipworthy_runs_items ON shipworthy_runs (has_items)",
    ),
    # Reports in a table of their own: a list of runs is read without them. `since` is the run that turned a question
    # in its project, branch and suite, or the first that has it, negative; has_items is 2 where it is known.
    5: (
        *(
            f"ALTER TABLE shipworthy_runs ADD COLUMN {name} TEXT NOT NULL DEFAULT ''"
            for name in (*BUILD_COLUMNS, "gold")
        ),
        "CREATE TABLE shipworthy_reports (run BIGINT NOT NULL PRIMARY KEY, report {bytes} NOT NULL)",
        "INSERT INTO shipworthy_reports (run, report) SELECT seq, report FROM shipworthy_runs ORDER BY seq",
        "UPDATE shipworthy_runs SET report = ''",
        "ALTER TABLE shipworthy_items ADD COLUMN since BIGINT NOT NULL DEFAULT 0",
        "CREATE TABLE shipworthy_texts (answer TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL){compact}",
        "CREATE INDEX shipworthy_metrics_name ON shipworthy_metrics (name, run_id)",
        "CREATE INDEX shipworthy_runs_series ON shipworthy_runs (branch, suite, seq)",
    ),
    # Who may add runs over HTTP, to which project; of a token itself only a digest is kept.
    6: (
        """CREATE TABLE shipworthy_tokens (
            id TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL UNIQUE, project TEXT NOT NULL, name TEXT NOT NULL,
            created_at TEXT NOT NULL, revoked_at TEXT NOT NULL DEFAULT '')""",
    ),
}
VERSION = max(MIGRATIONS)
COMPRESSED = 3
ITEMS = 4
SINCE = 5
READABLE = 2  # from this one on a database can be read as it is; only who writes brings it up to date

_LOCK = 7_312_004_119  # of PostgreSQL, so that two programs don't migrate at once
# Up to the last @ and the next &, whatever is between: a password may hold any character.
_PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):.*@|((?:ssl)?password\s*=\s*)[^&]+", re.IGNORECASE)
_SMALLEST = 512  # bytes of SQLite's smallest page
_SQLITE_TABLE = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'shipworthy_schema'"
_BUSY = ("locked", "busy", "lock timeout", "too many clients", "connection slots", "starting up")
_DAMAGED = ("not a database", "malformed", "corrupt", "could not decode")


class HistoryStore:
    """An open database. Statements are written for SQLite and mean the same on PostgreSQL."""

    def __init__(self, connection: sqlite3.Connection | psycopg.Connection, postgres: bool) -> None:
        self._connection, self._postgres = connection, postgres

    def rows(self, sql: str, values: Values = ()) -> list[DatabaseRow]:
        cursor = self._run(sql, values)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def count(self, sql: str, values: Values = ()) -> int:
        """Run a statement and say how many rows it changed."""
        return int(self._run(sql, values).rowcount)

    def many(self, sql: str, rows: Sequence[Values]) -> None:
        if rows:
            self._connection.cursor().executemany(self._written(sql), [tuple(row) for row in rows])

    def version(self) -> int:
        """The schema's number; 0 where there is none yet."""
        found = "SELECT to_regclass('shipworthy_schema')" if self._postgres else _SQLITE_TABLE
        if not (there := self.rows(found)) or there[0][0] is None:
            return 0
        found = self.rows("SELECT max(version) FROM shipworthy_schema")[0][0]
        if not isinstance(found, int | None):
            raise sqlite3.DatabaseError("the schema's version is malformed")
        return found or 0

    def rest(self) -> None:
        """Let go of what was read: a migration waits for everybody who reads."""
        if self._postgres:
            self._connection.commit()

    def take_turns(self) -> None:
        """Wait until nobody else adds a run: what is kept of one follows from the one before."""
        if self._postgres:  # where SQLite has but one writer
            self.rows(f"SELECT pg_advisory_xact_lock({_LOCK + 1})")

    def migrate(self, name: str) -> None:
        """Bring the schema up to date; the caller holds the lock."""
        serial = "BIGSERIAL PRIMARY KEY" if self._postgres else "INTEGER PRIMARY KEY AUTOINCREMENT"
        compact, binary = ("", "BYTEA") if self._postgres else (" WITHOUT ROWID", "BLOB")
        if self._postgres:
            self.rows("SET LOCAL statement_timeout = 0")
        self.rows("CREATE TABLE IF NOT EXISTS shipworthy_schema (version BIGINT NOT NULL)")
        for number in range(_known(self.version(), name) + 1, VERSION + 1):
            for statement in MIGRATIONS[number]:
                statement = statement.replace("{serial}", serial).replace("{compact}", compact)
                self.rows(statement.replace("{bytes}", binary))
            if number == COMPRESSED:
                self._compress_reports()
            self.rows("INSERT INTO shipworthy_schema (version) VALUES (?)", (number,))

    def _compress_reports(self) -> None:
        """Compress the reports that an earlier version recorded, one at a time: however long it takes, all or none."""
        if self._postgres:
            self.rows("ALTER TABLE shipworthy_runs ALTER COLUMN report TYPE BYTEA USING convert_to(report, 'UTF8')")
        for (name,) in self.rows("SELECT id FROM shipworthy_runs"):
            ((text,),) = self.rows("SELECT report FROM shipworthy_runs WHERE id = ?", (name,))
            self.rows("UPDATE shipworthy_runs SET report = ? WHERE id = ?", (compressed(text), name))

    def _run(self, sql: str, values: Values) -> sqlite3.Cursor | psycopg.Cursor:
        return self._connection.execute(self._written(sql), tuple(values))

    def _written(self, sql: str) -> str:
        return sql.replace("?", "%s") if self._postgres else sql


def compressed(report: str | bytes) -> bytes:
    """A report as it is stored. Nothing depends on these bytes: a digest is of what they hold."""
    return zlib.compress(report.encode() if isinstance(report, str) else report)


@contextmanager
def opened(url: str, timeout: float, *, write: bool = True) -> Iterator[HistoryStore]:
    """The database with its schema up to date, in a transaction that is rolled back on an error."""
    if "://" in url and not url.startswith(("postgresql://", "postgres://", "sqlite:///")):
        raise UsageError(
            "is not a history URL", where=masked(url), hint="Write a file name or postgresql://….", code="history-url"
        )
    if url.startswith(("postgresql://", "postgres://")):
        yield from _postgres(url, timeout, write)
    else:
        yield from _sqlite(url.removeprefix("sqlite:///"), timeout, write)


def masked(url: str) -> str:
    """A URL as it may be shown: without its password."""
    return visible(_PASSWORD.sub(lambda found: f"{found[2]}***" if found[2] else f"{found[1]}:***@", url))


def retried(work: Callable[[], T], timeout: float) -> T:
    """Do it again while somebody else is writing, until the time is up."""
    end, pause = time.monotonic() + timeout, 0.01
    while True:
        try:
            return work()
        except EnvironmentFailure as error:
            if error.code != "history-locked" or time.monotonic() + pause > end:
                raise
            time.sleep(pause)
            pause = min(pause * 1.5, 0.25)


def _sqlite(path: str, timeout: float, write: bool) -> Iterator[HistoryStore]:
    name = visible(path)
    if not write and not os.path.exists(path):
        raise UsageError(
            "there is no history yet", where=name, hint="`shipworthy check` records runs.", code="history-absent"
        )
    connection = None
    try:
        _check_size(path, name)
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        connection = _connected(path, timeout, write)
        store = HistoryStore(connection, False)
        # Read in one statement: between two, somebody else may make the tables of a new history.
        tables = store.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
        if tables and ("shipworthy_schema",) not in tables:
            raise EnvironmentFailure(
                "is the database of another program",
                where=name,
                hint="It is left as it is: name another file.",
                code="history-foreign",
            )
        before = _known(store.version(), name)
        if write or _may_write(path):  # only now: the file of another program stays as it is
            connection.execute("PRAGMA journal_mode = WAL")
        if write or before < READABLE:
            connection.execute("BEGIN IMMEDIATE")
            store.migrate(name)
        yield store
        if connection.in_transaction:
            connection.execute("COMMIT")
            if 0 < before < SINCE:
                with suppress(sqlite3.Error):  # gives the room back; where it can't, later runs use it
                    connection.execute("VACUUM")
    except sqlite3.Error as error:
        raise _failure(name, error) from None
    except OSError as error:
        raise EnvironmentFailure(f"can't be opened: {error.strerror}", where=name, code="history-unusable") from None
    finally:
        if connection is not None:
            connection.close()  # an open transaction is rolled back


def _connected(path: str, timeout: float, write: bool) -> sqlite3.Connection:
    """A connection that writes where it can; a database that may only be read can still be read."""
    if write or _may_write(path):
        connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        return connection
    # Where the folder can't be written either, there is no place for SQLite's own files, and nobody who writes.
    how = "mode=ro" if os.access(os.path.dirname(os.path.abspath(path)), os.W_OK) else "immutable=1"
    return sqlite3.connect(
        f"file:{quote(os.path.abspath(path))}?{how}", uri=True, timeout=timeout, isolation_level=None
    )


def _may_write(path: str) -> bool:
    return os.access(path, os.W_OK) and os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)


def _check_size(path: str, name: str) -> None:
    """A file too short to be a database is left alone: SQLite itself would take it for empty and overwrite it.

    Its size is all that may be looked at: to open and close the file here would drop the locks that other threads of
    this process hold on it, and so let two writers in at once.
    """
    if os.path.isfile(path) and 0 < os.path.getsize(path) < _SMALLEST:
        raise _failure(name, sqlite3.DatabaseError("file is not a database"))


def _postgres(url: str, timeout: float, write: bool) -> Iterator[HistoryStore]:
    try:
        import psycopg
    except ImportError:
        raise needs_extra("a PostgreSQL history needs the package psycopg", "postgres") from None
    name = masked(url)
    try:
        with psycopg.connect(url, connect_timeout=max(2, int(timeout)), application_name="shipworthy") as connection:
            for limit in ("lock_timeout", "statement_timeout"):
                connection.execute(f"SET {limit} = {int(timeout * 1000)}".encode())
            store = HistoryStore(connection, True)
            if _known(store.version(), name) < (VERSION if write else READABLE):
                connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})".encode())
                store.migrate(name)
            yield store
    except psycopg.ProgrammingError as error:
        if error.sqlstate is None:  # the URL can't be read; what the driver says about it may quote the password
            raise UsageError(
                "is not a history URL", where=name, hint="Percent-encode special characters.", code="history-url"
            ) from None
        raise _failure(name, error) from None
    except psycopg.Error as error:
        raise _failure(name, error) from None


def _known(version: int, name: str) -> int:
    """The version, where this program knows it."""
    if version > VERSION:
        raise EnvironmentFailure(
            f"was written by a newer program (schema {version}, this one knows {VERSION})",
            where=name,
            hint="Update shipworthy; nothing was changed.",
            code="history-newer",
        )
    return version


def _failure(name: str, error: Exception) -> EnvironmentFailure:
    """What went wrong with the database, without what its driver may tell about the connection."""
    first = masked((str(error).splitlines() or ["unknown error"])[0])[:200]
    words = first.lower()
    if any(sign in words for sign in _BUSY):
        return EnvironmentFailure(
            f"is in use by another program: {first}", where=name, hint="Try again.", code="history-locked"
        )
    if any(sign in words for sign in _DAMAGED):
        return EnvironmentFailure(
            f"is damaged: {first}",
            where=name,
            code="history-corrupt",
            hint="It is left as it is: move it away to begin a new one, or restore it.",
        )
    return EnvironmentFailure(
        f"can't be used: {first}",
        where=name,
        hint="Check the path, the server and the rights.",
        code="history-unusable",
    )
