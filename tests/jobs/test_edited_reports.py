"""A report that was edited after it was written is believed by no door that takes a report's word."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import DataError, check, compare, evaluate
from shipworthy.history import History
from shipworthy.history.store import compressed
from shipworthy.reading.reports import digest

ITEMS = [gold("A"), gold("B"), unanswerable("U")]
CONFIG = """
[suites.answers]
gold = "gold.jsonl"
trace = "trace.jsonl"
target = "t"
gates = ["precision >= 0.1", "chr >= 0.1"]
[targets.t]
demo = "healthy"
"""


def report(**claims: str) -> dict[str, Any]:
    return evaluate(ITEMS, [trace("A", claims.get("A", "The right answer.")), trace("B"), refusal("U")]).report()


def shipping(stated: dict[str, Any]) -> dict[str, Any]:
    """The report with a better verdict, and otherwise as it was."""
    assert stated["decision"] == "NO-SHIP"
    return stated | {"decision": "SHIP", "exit_code": 0, "pass": True}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a good report, one that was edited from NO-SHIP to SHIP, and boards of both."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "gold.jsonl", ITEMS)
    write_lines(tmp_path / "trace.jsonl", [trace("A"), trace("B"), refusal("U")])
    (tmp_path / "shipworthy.toml").write_text(CONFIG)
    good, bad = report(), report(A="Wrong.")
    (tmp_path / "good.json").write_text(json.dumps(good))
    (tmp_path / "edited.json").write_text(json.dumps(shipping(bad)))
    board = {"shipworthy": {"report": 1, "definitions": "1", "board": True}, "decision": "NO-SHIP"}
    board |= {"suites": {"answers": bad}, "failures": {}}
    board["digest"] = digest(board)
    (tmp_path / "board.json").write_text(json.dumps(board))
    (tmp_path / "edited-board.json").write_text(json.dumps(board | {"decision": "SHIP"}))
    inside = board | {"suites": {"answers": shipping(bad)}}
    (tmp_path / "edited-inside.json").write_text(json.dumps(inside))
    return tmp_path


EDITED = ("edited.json", "edited-board.json", "edited-inside.json")
DOORS = [
    "history record {}",
    "compare {} good.json",
    "compare good.json {}",
    "aa {} good.json",
    "aa good.json {}",
    "power {}",
    "explain A --report {}",
    "run --filter-failing {} --gold gold.jsonl --target demo: --out runs.jsonl",
    "check --run --filter-failing {} --no-record",
    "latency score --gold gold.jsonl --trace trace.jsonl --baseline {}",
]


@pytest.mark.parametrize("name", EDITED)
@pytest.mark.parametrize("door", DOORS)
def test_no_door_believes_an_edited_report(cli: Cli, folder: Path, door: str, name: str) -> None:
    ran = cli(*door.format(name).split())
    assert ran.code == 3 and f"{name}: the report was edited after it was written" in ran.err, ran
    assert "[report-edited]" in ran.err and not (folder / "runs.jsonl").exists()


@pytest.mark.parametrize("door", DOORS[:-1])
def test_the_same_doors_take_one_that_was_not(cli: Cli, folder: Path, door: str) -> None:
    assert "report-edited" not in cli(*door.format("good.json").split()).err


def test_nothing_of_an_edited_report_is_in_the_history(cli: Cli, folder: Path) -> None:
    assert cli("history", "record", "board.json").code == 0
    exported = [json.loads(line) for line in cli("history", "export").out.splitlines()]
    exported[0]["report"] = shipping(exported[0]["report"])
    write_lines(folder / "runs.jsonl", [{**exported[0], "report": report()}, *exported])
    ran = cli("history", "import", "runs.jsonl", "--history", "other.db")
    assert ran.code == 3 and "run 2: the report was edited" in ran.err
    assert [run.decision for run in History("other.db").runs()] == ["SHIP"]
    with pytest.raises(DataError, match="report-edited"):
        History("other.db").record(exported[0]["report"])
    assert History("other.db").record_all([exported[0]["report"]])[1]


def test_a_recorded_report_that_was_edited_is_neither_blessed_nor_shown_nor_compared(cli: Cli, folder: Path) -> None:
    for name in ("good.json", "board.json"):
        assert cli("history", "record", name, "--history", "h.db").code == 0
    with sqlite3.connect("h.db") as base:
        (kept,) = base.execute("SELECT report FROM shipworthy_reports WHERE run = 2").fetchone()
        edited = compressed(json.dumps(shipping(json.loads(zlib.decompress(kept)))))
        base.execute("UPDATE shipworthy_reports SET report = ? WHERE run = 2", (edited,))
    for call in (
        "baseline bless main 2 --by me --reason good",
        "history show 2",
        "compare 1 2",
        "compare 2 good.json",
    ):
        ran = cli(*call.split(), "--history", "h.db")
        assert ran.code == 4 and "[history-corrupt]" in ran.err, ran
    assert cli("history", "show", "1", "--history", "h.db").code == 0
    assert History("h.db").baselines() == []


def test_a_baseline_that_lacks_a_gated_metric_gives_no_verdict(folder: Path) -> None:
    """Its digest is right, so it was made by other means: what is not in it can't be compared."""
    kept = check("shipworthy.toml", record=False).decisions[0].report()
    for missing in (["chr"], ["precision", "chr"], []):
        made = kept | {"metrics": {name: one for name, one in kept["metrics"].items() if name not in missing}}
        made |= {"digest": digest(made)}
        history = History(folder / ".shipworthy" / "history.db")
        history.bless("main", history.record(made, label="x".join(missing)), by="me", reason="a release")
        board = check("shipworthy.toml", record=False, baseline="main")
        named = ", ".join(sorted(missing))
        assert board.verdict == ("NO VERDICT" if missing else "SHIP")
        told = f"the baseline main has no {named}, which a gate of this run needs"
        assert (told in board.decisions[0].reasons) is bool(missing)


def test_compare_takes_no_edited_report_from_python_either() -> None:
    with pytest.raises(DataError, match="report-edited"):
        compare(report(), shipping(report(A="Wrong.")))
