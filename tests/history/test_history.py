"""History on SQLite and on a real PostgreSQL server: nothing recorded twice, nothing lost, nothing rounded."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest
from histories import made, record_or_keep, recorded_before, schema_of, sealed, small
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT, Cli, gold, trace
from shipworthy import evaluate
from shipworthy.core.decision import report
from shipworthy.errors import DataError, EnvironmentFailure, ShipworthyError, UsageError
from shipworthy.history import History, exact_value
from shipworthy.history import store as storing
from shipworthy.history.flaky import flaky
from shipworthy.history.nightly import nightly, nightly_of
from shipworthy.history.page import sparkline, trend_svg, write_page

pytest_plugins = ("databases",)  # the fixture url: SQLite, and PostgreSQL where it is installed


def test_what_is_recorded_comes_back(url: str) -> None:
    history = History(url)
    made_report = made(2, by=["type"])
    name = history.record(made_report, commit="c0ffee", branch="main", label="nightly ü\x00?%s")
    (run,) = history.runs()
    assert (run.id, run.suite, run.decision, run.commit, run.branch) == (name, "answers", "NO-SHIP", "c0ffee", "main")
    assert run.digest == made_report["digest"] and run.gold == made_report["inputs"]["gold"]["content"]
    assert history.report(name) == made_report and run.label == "nightly ü\\x00?%s"


def test_recording_twice_is_recording_once(url: str) -> None:
    history = History(url)
    assert history.record(made(), label="a") == history.record(made(), label="a")
    history.record(made(), label="b")
    history.record(made(1), label="a")
    assert [run.label for run in history.runs()] == ["a", "b", "a"]


def test_runs_are_found_by_id_start_number_label_and_last(url: str) -> None:
    history = History(url)
    names = [history.record(small(index), label=f"n{index}") for index in range(3)]
    for word in (names[1], names[1][:12], "n1"):
        assert history.find(word).id == names[1]
    assert history.find(str(history.runs()[1].seq)).id == names[1]
    assert history.find("last").id == names[2]
    newer = [history.record(small(index), label="n1") for index in (3, 4)][-1]
    assert history.find("n1").id == newer and history.report("n1")["digest"] == small(4)["digest"]
    with pytest.raises(UsageError, match="history-no-run"):
        history.find("nope")


def test_a_number_names_its_run_and_not_an_id_that_begins_so(url: str) -> None:
    """Ids are hexadecimal: of forty, some begin with any digit."""
    history = History(url)
    for index in range(40):
        history.record(small(index))
    runs = history.runs()
    for run in runs[:16]:
        assert history.find(str(run.seq)).id == run.id
    history.record(small(99), label=runs[0].id[:3])
    assert history.find(runs[0].id[:3]).seq == 41  # a label that was given comes before an id that begins so


def test_numbers_are_kept_exactly(url: str) -> None:
    history = History(url)
    history.record(made(1, 7))
    (point,) = history.trend("precision")
    assert (point.num, point.den, point.value) == (6, 7, Fraction(6, 7))
    odd = small(1)
    odd["metrics"]["mean"] = {"kind": "mean", "value": 0.3, "exact": f"{10**30 + 1}/{3 * 10**30}", "n": 3}
    odd["metrics"]["gone"] = {"kind": "mean", "value": None, "n": 0}
    history.record(sealed(odd))
    assert history.trend("mean")[0].value == Fraction(10**30 + 1, 3 * 10**30)
    assert history.trend("gone")[0].value is None and str(history.trend("gone")[0]) == "undefined"
    assert exact_value({"value": 0.1, "kind": "mean"}) == Fraction(1, 10)


def test_trends_by_suite_branch_and_limit(url: str) -> None:
    history = History(url)
    for index in range(4):
        history.record(small(index), branch="main" if index % 2 else "topic")
    assert [point.run.branch for point in history.trend("precision", branch="main")] == ["main", "main"]
    assert len(history.trend("precision", limit=3)) == 3
    with pytest.raises(UsageError, match="Recorded: precision"):
        history.trend("precison")


def test_prune_keeps_the_last_and_the_blessed(url: str) -> None:
    history = History(url)
    names = [history.record(small(index)) for index in range(6)]
    history.bless("main", names[0], by="Ada", reason="released")
    assert history.prune(2) == 3
    assert [run.id for run in history.runs()] == [names[0], *names[4:]]
    assert len(history.trend("precision")) == 3
    with pytest.raises(UsageError):
        history.prune(0)


def test_prune_keeps_the_last_of_each_suite_on_each_branch(url: str) -> None:
    history = History(url)
    groups = [(suite, branch) for suite in ("answers", "latency") for branch in ("main", "topic")]
    numbers = itertools.count()
    for suite, branch in [*groups, *groups, *groups[:3], groups[0]]:
        report = small(next(numbers))
        history.record(sealed(report | {"shipworthy": report["shipworthy"] | {"suite": suite}}), branch=branch)
    newest = {group: [run.id for run in history.runs(suite=group[0], branch=group[1])][-2:] for group in groups}
    assert history.prune(2) == 4
    assert {group: [run.id for run in history.runs(suite=group[0], branch=group[1])] for group in groups} == newest
    assert all(len(kept) == 2 for kept in newest.values()) and history.prune(2) == 0


def test_baselines_have_names_and_a_past(url: str) -> None:
    history = History(url)
    first, second = (history.record(made(wrong)) for wrong in (0, 1))
    history.bless("main", first, by="Ada", reason="released")
    history.bless("main", second, by="Bo", reason="better wording")
    assert [(one.run_id, one.blessed_by) for one in history.baselines()] == [(first, "Ada"), (second, "Bo")]
    assert history.baseline("main")["answers"]["digest"] == made(1)["digest"]
    with pytest.raises(UsageError, match="There are: main"):
        history.baseline("mian")
    with pytest.raises(UsageError, match="baseline-blank"):
        history.bless("main", first, by="", reason="x")


def test_export_and_import_move_a_history(url: str, tmp_path: Path) -> None:
    history = History(url)
    for wrong in range(3):
        history.record(made(wrong), commit="c", branch="b", label=str(wrong))
    rows = [json.loads(json.dumps(row)) for row in history.export()]
    other = History(tmp_path / "other.db")
    assert other.import_runs(iter(rows)) == 3 and other.import_runs(iter(rows)) == 3
    assert [(run.id, run.recorded_at) for run in other.runs()] == [(run.id, run.recorded_at) for run in history.runs()]
    with pytest.raises(DataError, match="history-export"):
        other.import_runs(iter([{"label": "x"}]))


def test_gate_health(url: str) -> None:
    history = History(url)
    for wrong in range(6):
        history.record(made(wrong, gates=["precision >= 0.5", "chr >= 1.0", "over_refusal <= 0.1"], only_gates=True))
    health = {one.gate: (one.held, one.runs, one.says) for one in history.gate_health()}
    assert health == {
        "chr >= 1.0": (1, 6, ""),
        "over_refusal <= 0.1": (6, 6, "never failed"),
        "precision >= 0.5": (4, 6, ""),
    }
    assert history.gate_health(least=7) == []


def test_a_gate_that_did_not_apply_did_not_hold(url: str) -> None:
    """Without unanswerable questions the gate on leaks has nothing to look at: that is no run that it passed."""
    history = History(url)
    gates = ["precision >= 0.5", "under_refusal <= 0.1"]
    for wrong in range(5):
        history.record(made(wrong, gates=gates, only_gates=True))
    assert [one.gate for one in history.gate_health(least=1)] == ["precision >= 0.5"]
    items = [gold("Q0"), gold("U0", answerable=False)]
    refusal = trace("U0", claim="not in context", cite=())
    history.record(report(evaluate(items, [trace("Q0"), refusal], gates=gates, only_gates=True)))
    health = {one.gate: (one.held, one.runs) for one in history.gate_health(least=1)}
    assert health["under_refusal <= 0.1"] == (1, 1) and health["precision >= 0.5"] == (5, 6)


def test_flaky_looks_at_the_last_runs(url: str) -> None:
    history = History(url)
    for number, wrong in enumerate((0, 1, 0, 1, 0, 0, 0, 0)):
        history.record(made(wrong), label=f"n{number}")
    found = flaky(history, last=4, failures=1)  # restless early, calm late
    assert found.items == [] and [run.label for run in found.runs] == ["n4", "n5", "n6", "n7"]
    assert flaky(history, last=8).items == []  # twice may be a fix
    found = flaky(history, last=8, failures=2)
    assert [(one.qid, one.runs, one.passed, one.failures) for one in found.items] == [("Q0", 8, 6, 2)]
    for number in range(2):
        history.record(made(1 - number), label=f"again {number}")
    assert [(one.failures, one.strip) for one in flaky(history).items] == [(3, "✓✗✓✗✓✓✓✓✗✓")]


def test_a_break_and_an_outage_are_not_flaky_and_other_branches_do_not_count(url: str) -> None:
    """One question is a coin, one breaks for good, and six runs are an outage of half of the sixty questions."""
    history = History(url)
    chance = random.Random(7)
    coin = [chance.random() < 0.5 for _ in range(61)]
    for number in range(61):
        failing = ({"Q0"} if coin[number] else set()) | ({"Q1"} if number >= 31 else set())
        failing |= {f"Q{index}" for index in range(5, 35)} if number in (8, 9, 20, 40, 41, 50) else set()
        items = [gold(f"Q{index}") for index in range(60)]
        traces = [trace(item["qid"], "No." if item["qid"] in failing else "The right answer.") for item in items]
        history.record(report(evaluate(items, traces)), label=f"n{number}", branch="main", project="shop")
        if number % 10 == 0:
            history.record(made(number % 7), label=f"p{number}", branch="fix", project="shop")
    found = flaky(history, branch="main", last=61)
    assert [one.qid for one in found.items] == ["Q0"]
    assert [run.label for run in found.outages] == ["n8", "n9", "n20", "n40", "n41", "n50"]
    assert found.items[0].strip.count("·") == 6 and found.items[0].runs == 55
    nights, left_out = nightly_of(history, suite="answers", branch="main", project="shop")
    assert len(nights.nights) == 61 and left_out == 0


def test_nightly_says_when_the_gold_set_changed(url: str) -> None:
    history = History(url)
    for number in range(3):
        history.record(made(0, 3), label=f"old {number}", branch="main", gold_release="2026.1")
    for number in range(7):
        history.record(made(0, 4), label=f"new {number}", branch="main", gold_release="2026.2")
    history.record(made(1, 4), label="elsewhere", branch="fix")
    found, left_out = nightly_of(history, suite="answers", branch="main")
    assert left_out == 3 and "the gold set changed to release 2026.2 before run 4" in found.lines(left_out)[-1]


def test_what_is_not_a_report_is_not_recorded(url: str) -> None:
    for odd in ({}, {"shipworthy": {}}, {"shipworthy": {"board": True}, "digest": "x"}):
        with pytest.raises(DataError, match="history-not-report"):
            History(url).record(odd)


def test_two_hundred_writers_at_once_lose_nothing(url: str) -> None:
    failures: list[str] = []

    def write(index: int) -> None:
        try:
            History(url, timeout=60).record(small(index))
        except ShipworthyError as error:
            failures.append(str(error))

    threads = [threading.Thread(target=write, args=(index,)) for index in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {run.digest for run in History(url).runs()} == {small(index)["digest"] for index in range(200)}


def test_a_history_that_is_just_being_made_is_nobody_elses(tmp_path: Path) -> None:
    failures: list[str] = []

    def write(path: str, start: threading.Barrier, index: int) -> None:
        start.wait()
        try:
            History(path, timeout=60).record(small(index))
        except ShipworthyError as error:
            failures.append(str(error))

    for number in range(25):
        start = threading.Barrier(12)
        made = (str(tmp_path / f"{number}.db"), start)
        threads = [threading.Thread(target=write, args=(*made, index)) for index in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_threads_in_several_processes_leave_a_sound_file(tmp_path: Path) -> None:
    script = (
        "import sys, json, threading\nfrom shipworthy.history import History\n"
        "lines = [json.loads(line) for line in sys.stdin]\n"
        "write = lambda report: History(sys.argv[1], timeout=60).record(report)\n"
        "threads = [threading.Thread(target=write, args=(report,)) for report in lines]\n"
        "[thread.start() for thread in threads], [thread.join() for thread in threads]\n"
    )
    path = str(tmp_path / "history.db")

    def start(part: int) -> int:
        lines = "\n".join(json.dumps(small(index)) for index in range(part * 15, part * 15 + 15))
        return subprocess.run([sys.executable, "-c", script, path], input=lines, text=True, check=False).returncode

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(start, range(4))) == [0] * 4
    assert len(History(path).runs()) == 60
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_an_older_schema_is_brought_up_to_date_with_its_runs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(storing, "VERSION", 1)
        with storing.opened(url, 5) as old:
            old.rows(
                "INSERT INTO shipworthy_runs (id, recorded_at, suite, profile, decision, definitions, digest, inputs, "
                "commit_id, branch, label, report) "
                "VALUES ('x', 't', 'answers', '', 'SHIP', '1', 'd', '{}', '', '', 'old', '{}')"
            )
    assert [run.label for run in History(url).runs()] == ["old"]
    History(url).record(small(1))
    assert History(url).baselines() == []


def bytes_of(url: str) -> int:
    with storing.opened(url, 5, write=False) as store:
        return int(store.rows("SELECT sum(length(report)) FROM shipworthy_runs")[0][0])


def test_reports_are_stored_compressed(url: str) -> None:
    report = made(2, 200)
    History(url).record(report, label="a")
    assert bytes_of(url) < len(json.dumps(report)) / 8
    assert History(url).report("a") == report


def test_reports_that_were_recorded_before_are_read_and_compressed_by_the_next_run(url: str) -> None:
    reports = [made(wrong, 60) for wrong in range(3)]
    recorded_before(url, reports)
    text = bytes_of(url)
    history = History(url)
    assert [history.report(f"r{index}") for index in range(3)] == reports and len(flaky(history).runs) == 3
    assert schema_of(url) == 2 and bytes_of(url) == text  # who only reads changes nothing
    history.record(made(4, 60), branch="main", label="new")
    assert schema_of(url) == storing.VERSION and bytes_of(url) < text / 4
    assert [history.report(f"r{index}") for index in range(3)] == reports and len(flaky(history).runs) == 4
    assert [run.label for run in history.runs()] == ["r0", "r1", "r2", "new"]


def test_compressing_gives_the_room_back(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    recorded_before(str(path), [made(wrong, 200) for wrong in range(20)])
    before = path.stat().st_size
    History(path).record(small(1))
    assert path.stat().st_size < before / 4 and path.stat().st_size / 21 < 15_000


KILLED = """
import os, signal, sys
from shipworthy.history import History, store
compress, left = store.compressed, [2]
def stop(report):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return compress(report)
store.compressed = stop
History(sys.argv[1]).bless("main", "r0", by="Ada", reason="ok")
"""


def test_a_program_killed_while_it_compresses_loses_nothing(url: str) -> None:
    reports = [made(wrong, 60) for wrong in range(4)]
    recorded_before(url, reports)
    text = bytes_of(url)
    assert subprocess.run([sys.executable, "-c", KILLED, url], check=False).returncode == -signal.SIGKILL
    history = History(url)
    assert schema_of(url) == 2 and bytes_of(url) == text
    assert [history.report(f"r{index}") for index in range(4)] == reports
    history.record(small(1))
    assert [history.report(f"r{index}") for index in range(4)] == reports and bytes_of(url) < text / 4


def test_several_programs_that_compress_at_once(url: str) -> None:
    reports = [made(wrong, 60) for wrong in range(4)]
    recorded_before(url, reports)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda index: History(url, timeout=60).record(small(index)), range(4)))
    assert [History(url).report(f"r{index}") for index in range(4)] == reports and len(History(url).runs()) == 8


def test_a_newer_schema_is_left_alone(url: str) -> None:
    History(url).record(small(1))
    with storing.opened(url, 5) as newer:
        newer.rows("INSERT INTO shipworthy_schema (version) VALUES (?)", (storing.VERSION + 1,))
    for use in (lambda: History(url).record(small(2)), lambda: History(url).runs()):
        with pytest.raises(EnvironmentFailure, match="history-newer"):
            use()


def test_statements_have_no_sign_that_the_placeholder_swap_would_break() -> None:
    text = "".join(statement for statements in storing.MIGRATIONS.values() for statement in statements)
    assert "?" not in text and "%" not in text


def test_a_locked_database_says_so_in_time(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    History(path).record(small(1))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(EnvironmentFailure, match="history-locked"):
        History(path, timeout=0.2).record(small(2))
    holder.close()
    assert History(path).record(small(2))


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 8192, 12_288])
def test_a_database_cut_short_is_never_taken_for_whole_nor_touched(tmp_path: Path, size: int) -> None:
    path = tmp_path / "history.db"
    for index in range(20):
        History(path).record(small(index))
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    path.write_bytes(path.read_bytes()[:size])
    before = path.read_bytes()
    if size == 0:
        assert History(path).record(small(1))  # an empty file is a new database
        return
    with pytest.raises(EnvironmentFailure) as caught:
        History(path).record(small(99))
        History(path).runs()
    assert caught.value.code in ("history-corrupt", "history-unusable")
    assert path.read_bytes() == before or size >= 4096  # beyond the first page SQLite may write to its own file


def test_junk_is_left_in_place(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"this is not a database" * 500)
    with pytest.raises(EnvironmentFailure, match="left as it is"):
        History(path).record(small(1))
    assert path.read_bytes() == b"this is not a database" * 500
    name, warning = record_or_keep(History(path), small(1), label="kept")
    assert "history-corrupt" in warning
    path.unlink()
    (tmp_path / "history.spool" / "torn.json").write_bytes(b'{"rep')
    assert History(path).record_all([])[0] == []
    assert [left.name for left in (tmp_path / "history.spool").iterdir()] == ["torn.json"]  # not ours to judge, so kept
    assert History(path).find("kept").id == name


def test_what_was_kept_beside_the_database_comes_back_in_the_order_in_which_it_happened(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"this is not a database" * 500)
    for day in (3, 1, 2, 5, 4):
        record_or_keep(History(path), small(day), label=f"day {day}", recorded_at=f"2026-11-0{day}T00:00:00+00:00")
    path.unlink()
    History(path).record_all([])
    assert [run.label for run in History(path).runs()] == [f"day {day}" for day in range(1, 6)]


def test_a_recorded_report_that_went_bad_is_told(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    History(path).record(made(), label="a")
    History(path).bless("main", "a", by="Ada", reason="ok")
    edited = zlib.compress(json.dumps(made()).replace("shipped", "refused").encode())
    with storing.opened(str(path), 5) as database:
        database.rows("UPDATE shipworthy_reports SET report = ?", (edited,))
    with pytest.raises(EnvironmentFailure, match="history-corrupt"):
        History(path).baseline("main")
    for broken in ("'{broken'", "x'00ff'", "CAST(x'ff' AS TEXT)", "x''", "7", f"x'{edited[:-9].hex()}'"):
        with storing.opened(str(path), 5) as database:
            database.rows(f"UPDATE shipworthy_reports SET report = {broken}")
        for read in (lambda: History(path).report("a"), lambda: flaky(History(path))):
            with pytest.raises(EnvironmentFailure, match="history-corrupt"):
                read()


def test_there_is_no_history_yet(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="history-absent"):
        History(tmp_path / "none.db").runs()
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(UsageError, match="history-url"):
        History("mysql://root:secret@db/x").runs()


def test_a_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("mysql://root:hunter2@db/x", "postgresql://root:hunter2@127.0.0.1:1/x"):
        with pytest.raises(ShipworthyError) as caught:
            History(address, timeout=1).runs()
        assert "hunter2" not in str(caught.value) and "root:***@" in str(caught.value)
    assert (
        storing.masked("postgresql://h/db?user=u&password=hunter2&x=1") == "postgresql://h/db?user=u&password=***&x=1"
    )
    assert storing.masked("postgresql://:hunter2@h/db") == "postgresql://:***@h/db"


# --- nightly ---------------------------------------------------------------------------------------------------------


def night(failing: set[int], of: int = 200) -> dict[str, bool]:
    return {f"Q{index}": index not in failing for index in range(of)}


def runs_of(*nights: dict[str, bool]) -> list[tuple[str, dict[str, bool]]]:
    return [(f"n{index}", items) for index, items in enumerate(nights)]


def alarms(*nights: dict[str, bool]) -> int:
    """The number of the first night with an alarm, counted from one; 0 without."""
    found = nightly(runs_of(*nights)).nights
    return next((number for number, night in enumerate(found, 1) if night.alarm), 0)


@pytest.mark.parametrize("quiet", [5, 10, 20, 40])
@pytest.mark.parametrize("broken", [1, 10])
def test_a_break_is_found_after_five_nights(quiet: int, broken: int) -> None:
    """Without flaky items the nights fall apart into better and worse ones, however few items are broken."""
    assert alarms(*[night(set())] * quiet, *[night(set(range(broken)))] * 10) == quiet + 5


def test_the_items_that_broke_are_listed() -> None:
    found = nightly(runs_of(*[night({9})] * 8, *[night(set(range(7)))] * 6))
    assert found.alarm and found.lost == [f"Q{index}" for index in range(7)] and found.gained == ["Q9"]
    assert (found.items, found.reliable, found.nights[-1].passed, found.nights[-1].held) == (200, 199, 193, 192)
    assert found.lines()[0].startswith("ALARM  14 runs, 200 items: 199 passed in each of the first 5 runs, 0 differed")


def test_one_bad_night_and_a_change_for_the_better_are_no_alarm() -> None:
    assert not alarms(*[night(set())] * 20, night(set(range(150))), *[night(set())] * 20)
    assert not alarms(*[night(set(range(40)))] * 10, *[night(set())] * 20)


def test_flaky_items_are_listed_and_don_t_hide_a_loss() -> None:
    """A fifth of the items is flaky; ten reliable ones break after 12 nights."""
    chance = random.Random(4)
    flaky = [{index for index in range(100, 140) if chance.random() < 0.5} for _ in range(30)]
    nights = [night(failing | (set(range(10)) if number >= 12 else set())) for number, failing in enumerate(flaky)]
    found = nightly(runs_of(*nights))
    assert found.alarm and {f"Q{index}" for index in range(10)} <= set(found.lost)
    assert set(found.flaky) <= {f"Q{index}" for index in range(100, 140)} and len(found.flaky) > 30
    assert 13 <= alarms(*nights) <= 18


def test_one_bad_night_is_only_waiting() -> None:
    found = nightly(runs_of(*[night(set())] * 5, night({3}), night(set()), night({3, 4})))
    assert found.lost == [] and found.waiting == ["Q3", "Q4"]


def test_an_item_that_is_gone_is_lost_and_a_new_one_is_listed() -> None:
    gone = {name: passed for name, passed in night(set()).items() if name != "Q0"} | {"NEW": True}
    found = nightly(runs_of(*[night(set())] * 5, gone, gone, gone))
    assert found.lost == ["Q0"] and found.new == ["NEW"] and found.nights[-1].passed == 199


def test_evidence_needs_six_runs() -> None:
    assert nightly(runs_of(night(set()), night(set()))).missing_runs == 4
    assert "4 more runs" in nightly(runs_of(night(set()), night(set()))).lines()[0]


@pytest.mark.parametrize(("rate", "flip"), [(1.0, 0.2), (0.8, 0.2), (0.95, 0.05)])
def test_unchanged_histories_alarm_at_most_once_in_twenty(rate: float, flip: float) -> None:
    """60 histories of 40 nights in which each result may flip: with items chosen by five runs, up to 95 % alarmed.

    `benchmarks/nightly.py` takes 2,000 histories of 90 nights. At a true 5 %, 10 of 60 happen once in 1,000 times.
    """
    chance = random.Random(f"{rate} {flip}")
    false = 0
    for _ in range(60):
        usual = {f"Q{index}": chance.random() < rate for index in range(200)}
        nights = [{name: passed != (chance.random() < flip) for name, passed in usual.items()} for _ in range(40)]
        false += nightly(runs_of(*nights)).alarm
    assert false <= 9


@settings(max_examples=10 * EFFORT, deadline=None)
@given(st.lists(st.sets(st.integers(0, 11), max_size=4), min_size=5, max_size=12))
def test_nightly_counts_each_item_at_most_once(failing: list[set[int]]) -> None:
    found = nightly(runs_of(*[night(set(one), 12) for one in failing]))
    assert len(set(found.lost) | set(found.gained)) == len(found.lost) + len(found.gained)
    assert not set(found.flaky) & (set(found.lost) | set(found.gained) | set(found.waiting))
    assert [one.evidence for one in found.nights] == [
        one.evidence for one in nightly(runs_of(*[night(set(one), 12) for one in failing])).nights
    ]


def test_nightly_over_recorded_runs_leaves_out_other_gold_sets(url: str) -> None:
    history = History(url)
    history.record(made(0, 3), label="other gold")
    for index in range(10):
        history.record(made(7 if index >= 5 else 0), label=f"night {index}")
    found, left_out = nightly_of(history, suite="answers")
    assert left_out == 1 and found.alarm and len(found.lost) == 7
    since, _ = nightly_of(history, suite="answers", since="night 5")
    assert since.missing_runs == 1


# --- page ------------------------------------------------------------------------------------------------------------


def test_the_page_has_runs_and_pictures(url: str, tmp_path: Path) -> None:
    history = History(url)
    for wrong in (0, 1, 3):
        history.record(made(wrong), label="<b>|`x`](http://evil)", branch="a|b")
    page, *pictures = write_page(history, str(tmp_path / "eval" / "report.md"))
    text = Path(page).read_text("utf-8")
    assert "## answers" in text and "0.571 \\(4/7\\)" in text
    assert "<b>" not in text and "](http" not in text.replace("](report.trends/", "")
    assert text.count("NO\\-SHIP") == 1 and len(pictures) == 5
    for picture in pictures:
        root = ElementTree.parse(picture).getroot()
        assert root.tag.endswith("svg") and root[0].text
        assert Path(picture).parent == tmp_path / "eval" / "report.trends"
        assert f"](report.trends/{Path(picture).name})" in text


def test_sparklines_show_gaps_and_never_fail() -> None:
    assert sparkline([Fraction(0), None, Fraction(1)]) == "▁ █"
    assert sparkline([]) == "" and sparkline([Fraction(1)]) == "▁"
    for values in ([], [None], [Fraction(1, 2)], [Fraction(0), None, Fraction(1), Fraction(1, 3)]):
        root = ElementTree.fromstring(trend_svg("a <b> & \x1b", values, ["2025-03-01<x>"] * len(values), [("≤", 2.0)]))
        assert root[0].text is not None and "\\x1b" in root[0].text


def _drawn(picture: str) -> tuple[list[str], list[float], list[float], list[float]]:
    """The texts of a picture, the heights of its dots, those of its lines for gates, and every place across."""
    root = ElementTree.fromstring(picture)
    named = {name: root.findall(f"{{*}}{name}") for name in ("text", "circle", "path")}
    dots, gates = (
        [float(one.get("cy", "")) for one in named["circle"]],
        [float(one.get("d", "").split(" ")[1].split("H")[0]) for one in named["path"]],
    )
    across = [float(one.get("x", one.get("cx", ""))) for one in (*named["text"], *named["circle"])]
    return [one.text or "" for one in named["text"]], dots, gates, across


def test_a_trend_has_the_gate_its_values_and_its_dates() -> None:
    values = [Fraction(9, 10), Fraction(7, 10), None, Fraction(17, 20), Fraction(4, 5)]
    dates = [f"2025-03-0{day}T04:00:00Z" for day in range(1, 6)]
    picture = trend_svg("answers precision", values, dates, [("≥", 0.8)])
    texts, dots, gates, across = _drawn(picture)
    assert {"≥ 0.8", "0.9", "0.7", "0.8", "2025-03-01", "2025-03-05"} == set(texts)
    assert len(dots) == 4 and len(gates) == 1
    # Higher up is better here: a dot on the gate is on its line, those above it above, those below it below.
    assert dots[0] < gates[0] and dots[1] > gates[0] and dots[2] < gates[0] and dots[3] == gates[0]
    assert all(0 <= place <= 360 for place in across)
    assert "0.9 to 0.8 over 5 runs, 2025-03-01 to 2025-03-05, gate ≥ 0.8" in picture
    several = _drawn(trend_svg("latency p95", [1900.0, 2100.0], dates[:2], [("≤", 2000.0), ("≤", 2010.0)]))
    assert {"≤ 2,000", "≤ 2,010", "1,900", "2,100"} <= set(several[0]) and len(several[2]) == 2
    calm = _drawn(trend_svg("answers chr", [1.0, 1.0], dates[:2], [("≥", 0.75)]))
    assert set(calm[0]) == {"1", "≥ 0.75", "2025-03-01", "2025-03-02"} and calm[1][0] == calm[1][1] < calm[2][0]
    one_day = _drawn(trend_svg("m", [1.0, 1.0], ["2025-03-01T04:00:00Z", "2025-03-01T16:30:00Z"]))[0]
    assert "2025-03-01 04:00" in one_day and "16:30" in one_day


def test_the_page_draws_the_newest_runs_gates(tmp_path: Path) -> None:
    history = History(str(tmp_path / "h.db"))
    older = made(0) | {"outcomes": [{**one, "bound": 0.123} for one in made(0)["outcomes"]]}
    history.record(sealed(older), label="one")
    history.record(made(3), label="two")
    _, *pictures = write_page(history, str(tmp_path / "report.md"))
    precision = next(picture for picture in pictures if "precision" in picture)
    texts = _drawn(Path(precision).read_text("utf-8"))[0]
    assert "≥ 0.8" in texts and not any("0.123" in text for text in texts) and "0.571" in texts


def test_the_command_line(url: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHIPWORTHY_HISTORY", url)
    for index, wrong in enumerate((0, 0, 0, 0, 0, 1)):
        (tmp_path / "report.json").write_text(json.dumps(made(wrong)))
        assert cli("history", "record", "report.json", "--label", f"r{index}").code == 0
    assert cli("history", "list").out.count("answers") == 6
    assert [run["label"] for run in cli("history", "list", "--limit", 2, "--json").json] == ["r4", "r5"]
    assert "6 of 7 answers were correct and correctly cited" in cli("history", "show", "r5").out
    assert cli("history", "show", "r5", "--json").json["digest"] == made(1)["digest"]
    trend = cli("history", "trend", "precision")
    assert trend.out.splitlines()[0] == "precision  █████▁" and "0.857 (6/7)" in trend.out
    ran = cli("history", "nightly")
    assert ran.code == 0 and "changed, not yet confirmed: Q0" in ran.out
    assert "passed 6 of 6  never failed" in cli("history", "gates").out
    assert cli("history", "report").code == 0 and (tmp_path / "eval" / "report.md").exists()
    assert cli("compare", "r0", "r5").code == 1
    assert cli("baseline", "bless", "main", "r0", "--by", "Ada", "--reason", "ok").code == 0
    assert cli("baseline", "list").out.startswith("* main")
    exported = cli("history", "export").out
    (tmp_path / "all.jsonl").write_text(exported)
    assert "6 runs read" in cli("history", "import", "all.jsonl", "--history", "copy.db").out
    assert "5 runs deleted" in cli("history", "prune", "--keep", 1, "--history", "copy.db").out
    assert cli("history", "show", "nope").code == 2
