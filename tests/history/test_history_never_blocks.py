"""History never blocks a verdict: damaged spools, names that collide, databases that are locked, corrupt or newer."""

from __future__ import annotations

import ctypes
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from histories import made, record_or_keep, recorded_before, sealed, small

from conftest import Cli, gold, trace, write_lines
from shipworthy.errors import DataError, EnvironmentFailure, UsageError
from shipworthy.history import History
from shipworthy.history import store as storing

pytest_plugins = ("databases",)  # the fixture url: SQLite, and PostgreSQL where it is installed

# What a spool file may hold; none of these was written by us.
DAMAGED: dict[str, Any] = {
    "torn": b'{"rep',
    "a list": [],
    "a report that is none": {"report": 5},
    "an empty report": {"report": {}},
    "no head": {"report": {"digest": "x"}},
    "a board": {"report": {"shipworthy": {"board": True}, "digest": "x"}},
    "a strange key": {"report": {"shipworthy": {}, "digest": "x"}, "branch": 3, "colour": "red"},
    "metrics that are a list": {"report": small(1) | {"metrics": [1]}},
    "a number that is none": {"report": sealed(small(1) | {"metrics": {"a": {"value": "x", "exact": "1/0"}}})},
    "outcomes without a gate": {"report": small(1) | {"outcomes": [{}]}},
    "slices of text": {"report": small(1) | {"slices": {"type=a": "x"}}},
    "inputs that are text": {"report": small(1) | {"inputs": "x"}},
    "edited": {"report": small(1) | {"decision": "NO-SHIP"}},
    "nested too deep": b"[" * 200_000,
    "not UTF-8": b'{"report": "\xff"}',
}


def spooled(tmp_path: Path, name: str, content: Any) -> Path:
    path = tmp_path / "history.spool" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_spool_file_is_named_and_left_and_the_run_is_recorded(tmp_path: Path, name: str) -> None:
    path, history = spooled(tmp_path, "a", DAMAGED[name]), History(tmp_path / "history.db")
    before = path.read_bytes()
    run, warning = record_or_keep(history, small(7), label="tonight")
    assert history.find("tonight").id == run
    recorded = name == "a number that is none"  # a report all the same, with a metric that has no value
    assert ("a.json can't be added to history" in warning) is not recorded
    assert path.exists() is not recorded and (recorded or path.read_bytes() == before)


def test_a_pipe_and_a_link_in_the_spool_make_nobody_wait(tmp_path: Path) -> None:
    folder = tmp_path / "history.spool"
    folder.mkdir()
    os.mkfifo(folder / "pipe.json")
    (folder / "folder.json").mkdir()
    (tmp_path / "elsewhere").write_text(json.dumps({"report": small(1)}))
    (folder / "link.json").symlink_to(tmp_path / "elsewhere")
    _, warnings = History(tmp_path / "history.db").record_all([small(7)])
    assert [warning.split(" can't")[0].rsplit("/")[-1] for warning in warnings] == [
        "folder.json",
        "link.json",
        "pipe.json",
    ]
    assert len(History(tmp_path / "history.db").runs()) == 1


def test_a_good_file_behind_a_damaged_one_is_still_recorded(tmp_path: Path) -> None:
    spooled(tmp_path, "0", {"report": small(1) | {"metrics": 3}, "recorded_at": "2026-01-01"})
    good = spooled(tmp_path, "1", {"report": small(2), "label": "kept", "recorded_at": "2026-01-02"})
    history = History(tmp_path / "history.db")
    record_or_keep(history, small(3), label="tonight")
    assert [run.label for run in history.runs()] == ["kept", "tonight"] and not good.exists()


def test_names_that_are_the_same_once_escaped_are_both_kept(url: str) -> None:
    """They broke the table's key; the run was put aside, and every later one behind it."""
    measure = {"kind": "rate", "value": 0.5, "n": 2, "numerator": 1, "denominator": 2}
    other = measure | {"value": 1.0, "numerator": 2}
    changed = {
        "slices": {"type=a\n": {"precision": measure}, "type=a\\n": {"precision": other}},
        "outcomes": [
            {"gate": f"precision[{name}] >= 0.1", "state": "PASS", "holds": True} for name in ("a\x00", "a\\x00")
        ],
    }
    odd = sealed(small(1) | changed)
    history = History(url)
    name, warning = record_or_keep(history, odd, label="odd")
    assert warning == "" and history.report(name)["slices"] == odd["slices"]
    assert history.trend("precision[type=a\\n]")[0].num == 2  # the name as it is written keeps it
    assert len(history.gate_health(least=1)) == 2
    metrics = {"\U0001f600\u202e" * 2000: measure, "\U0001f600\u202e" * 2000 + "x": measure}
    long = sealed(small(2) | {"metrics": metrics})
    assert record_or_keep(history, long)[1] == ""
    assert history.trend("\U0001f600\u202e" * 2000)[0].den == 2


def test_characters_that_a_database_refuses_are_written_out(url: str) -> None:
    head = {"suite": "an\x00swers\ud800", "definitions": "\udcff"}
    odd = sealed(small(1) | {"shipworthy": head, "decision": "SHIP\x00"})
    name, warning = record_or_keep(History(url), odd, label="\ud800", recorded_at="2026\x00\ud800")
    assert warning == "" and History(url).find(name).suite == "an\\x00swers\\ud800"


def test_a_report_that_is_none_is_not_kept_for_later(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db")
    ids, warnings = history.record_all([{}, small(1)])
    assert ids[0] == "" and history.find("last").id == ids[1]
    assert "history-not-report" in warnings[0] and not (tmp_path / "history.spool").exists()


def test_a_lock_is_waited_for_once_however_many_suites_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.db"
    History(path).record(small(0))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    opened: list[str] = []

    def counted(url: str, timeout: float, *, write: bool = True) -> AbstractContextManager[storing.HistoryStore]:
        opened.append(url)
        return storing.opened(url, timeout, write=write)

    monkeypatch.setattr("shipworthy.history.opened", counted)
    ids, warnings = History(path, timeout=0.1).record_all([small(index) for index in range(5)], label="x")
    assert len(opened) == 1 and len(ids) == 5 and all("history-locked" in warning for warning in warnings)
    holder.close()
    History(path).record_all([])
    assert {run.id for run in History(path).runs() if run.label} == set(ids)


def broken_newer(path: Path) -> None:
    History(path).record(small(0))
    with storing.opened(str(path), 5) as newer:
        newer.rows("INSERT INTO shipworthy_schema (version) VALUES (?)", (storing.VERSION + 1,))


def broken_version(path: Path) -> None:
    History(path).record(small(0))
    with storing.opened(str(path), 5) as odd:
        odd.rows("INSERT INTO shipworthy_schema (version) VALUES ('many')")


def broken_table(path: Path) -> None:
    History(path).record(small(0))
    with storing.opened(str(path), 5) as odd:
        odd.rows("ALTER TABLE shipworthy_metrics RENAME COLUMN num TO other")


BROKEN = {
    "junk": lambda path: path.write_bytes(b"this is not a database" * 500),
    "short": lambda path: path.write_bytes(b"x"),
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "newer": broken_newer,
    "a version that is no number": broken_version,
    "another table": broken_table,
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("spool", ["can be written", "is a file"])
def test_a_database_that_can_t_be_used_is_a_warning(tmp_path: Path, name: str, spool: str) -> None:
    BROKEN[name](tmp_path / "history.db")
    if spool == "is a file":
        (tmp_path / "history.spool").write_text("in the way")
    ids, warnings = History(tmp_path / "history.db", timeout=0.2).record_all([small(1), small(2)])
    assert len(warnings) == 2 and all("the run is not in history" in warning for warning in warnings)
    assert all("[history-" in warning for warning in warnings)
    if spool == "is a file":
        assert ids == ["", ""] and all("Nor could it be kept" in warning for warning in warnings)
    else:
        assert sorted(path.stem for path in (tmp_path / "history.spool").iterdir()) == sorted(ids)


@pytest.mark.parametrize("report", ["[]", "5", "null", "{broken", '"x"'])
def test_a_recorded_report_of_another_shape_is_told(tmp_path: Path, report: str) -> None:
    path = tmp_path / "history.db"
    History(path).record(small(1), label="a")
    History(path).bless("main", "a", by="Ada", reason="ok")
    with storing.opened(str(path), 5) as database:
        database.rows("UPDATE shipworthy_reports SET report = ?", (report,))
    for read in (lambda: History(path).baseline("main"), lambda: History(path).report("a")):
        with pytest.raises(EnvironmentFailure, match="history-corrupt"):
            read()


def test_an_exported_run_of_another_shape_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="history-not-report"):
        History(tmp_path / "history.db").import_runs(iter([{"report": small(1) | {"metrics": [1]}}]))


def test_passwords_with_any_character_are_not_shown() -> None:
    for address in (
        "postgresql://ada:p@ss:w/rd@db.example/x",
        "postgresql://ada:two words@db.example/x",
        "postgresql://db.example/x?user=ada&password=two words&sslmode=off",
        "mysql://ada:p@ss@db/x",
    ):
        shown = storing.masked(address)
        assert "***" in shown and not any(part in shown for part in ("ss:w", "rd@", "words", "@ss", "two"))
        with pytest.raises((UsageError, EnvironmentFailure)) as caught:
            History(address, timeout=0.2).runs()
        assert not any(part in str(caught.value) for part in ("ss:w", "rd@", "words", "@ss", "two"))


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="root gives up its rights")
def test_a_database_that_may_only_be_read_can_be_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "history.db")
        History(path).record(small(1), label="a")
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)
        labels, kept, warning = as_nobody(lambda: _read_and_record(path))
    assert labels == ["a"] and kept == ""
    assert warning.startswith("the run is not in history: ") and "Nor could it be kept for later" in warning


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="root gives up its rights")
def test_a_database_of_before_that_may_only_be_read_can_be_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "history.db")
        recorded_before(path, [small(1)])
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)
        assert as_nobody(lambda: History(path).report("r0")) == small(1)


def _read_and_record(path: str) -> list[Any]:
    history = History(path)
    return [[run.label for run in history.runs()], *record_or_keep(history, history.report("a"), label="b")]


def _give_up_rights() -> None:
    """Root without any capability: it owns the package and the temporary folder, wherever they are, and may not write
    where its own rights say so. Another user could not even reach them in a folder of root's own.
    """
    version, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(version, none) == 0


def as_nobody(work: Callable[[], Any]) -> Any:
    """What the work gives in a process without rights; JSON comes back through a pipe."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            _give_up_rights()
            os.write(writer, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        found = stream.read()
    os.waitpid(child, 0)
    return json.loads(found)


CONFIG = '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n\n[history]\nurl = "history.db"\n'


@pytest.mark.parametrize("name", [*BROKEN, "damaged spool", "locked"])
def test_check_decides_as_without_history(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shipworthy.jobs.record.RECORD_TIMEOUT", 0.1)
    (tmp_path / "shipworthy.toml").write_text(CONFIG)
    write_lines(tmp_path / "gold.jsonl", [gold(f"Q{index}") for index in range(9)])
    write_lines(tmp_path / "trace.jsonl", [trace(f"Q{index}") for index in range(9)])
    plain = cli("check", "--no-record")
    holder = None
    if name == "damaged spool":
        for number, content in enumerate(DAMAGED.values()):
            spooled(tmp_path, str(number), content)
    elif name == "locked":
        History(tmp_path / "history.db").record(made())
        holder = sqlite3.connect(tmp_path / "history.db", isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
    else:
        BROKEN[name](tmp_path / "history.db")
    ran = cli("check")
    if holder is not None:
        holder.close()
    assert (ran.code, ran.out) == (plain.code, plain.out) and plain.out
    assert "history" in ran.err and "Traceback" not in ran.err
