"""Quarantine: flaky questions listed from history, and left out of the gates by name, with an owner and a last day."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import UsageError, check, verify
from shipworthy.config import load_config
from shipworthy.history import History

ITEMS = [*(gold(f"A{i}") for i in range(5)), unanswerable("U1")]
DAY = datetime.date(2026, 11, 16)


def traces(*wrong: str) -> list[dict[str, Any]]:
    rows = [trace(f"A{i}", "no idea at all" if f"A{i}" in wrong else "The right answer.") for i in range(5)]
    return [*rows, refusal("U1")]


def configure(folder: Path, *entries: tuple[str, str], rest: str = "") -> Path:
    path = folder / "shipworthy.toml"
    listed = "".join(
        f'[[quarantine]]\nqid = "{qid}"\nowner = "Ada"\nreason = "index is being rebuilt"\nexpires = {day}\n'
        for qid, day in entries
    )
    suite = '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\ngates = ["precision >= 0.9"]\n'
    path.write_text(f"{suite}{listed}{rest}")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_lines(tmp_path / "gold.jsonl", ITEMS)
    write_lines(tmp_path / "trace.jsonl", traces("A1"))
    return tmp_path


def test_a_quarantined_question_does_not_block_and_is_shown(project: Path, cli: Cli) -> None:
    assert check(configure(project), record=False).verdict == "NO-SHIP"
    path = configure(project, ("A1", "2099-12-31"))
    ran = cli("check", "--config", path, "--no-record", "--json")
    report = ran.json["suites"]["answers"]
    first = "1 question quarantined and counted by no gate: A1; 1 of 1 fail; with them the decision is NO-SHIP"
    assert ran.code == 0 and report["reasons"][0] == first
    assert report["metrics"]["precision"]["denominator"] == 4 and report["counts"]["quarantined"] == 1
    assert report["quarantine"]["items"][0]["qid"] == "A1" and report["named"]["quarantined"] == ["A1"]
    assert report["options"]["quarantine"] == ["A1"]
    assert "quarantine of A1, which fails now, until 2099-12-31 (Ada: index is being rebuilt)" in ran.json["notes"]
    shown = cli("check", "--config", path, "--no-record").out
    assert "quarantined and counted by no gate: A1" in " ".join(shown.split())


def test_it_expires_loudly(project: Path) -> None:
    path = configure(project, ("A1", "2026-11-15"))
    board = check(path, record=False, today=DAY)
    assert board.verdict == "NO-SHIP"
    assert board.notes[0].startswith("quarantine of A1 EXPIRED on 2026-11-15: it counts again and fails")
    assert check(path, record=False, today=DAY - datetime.timedelta(1)).verdict == "SHIP"


def test_a_quarantine_can_not_hide_another_failure_nor_everything(project: Path) -> None:
    write_lines(project / "trace.jsonl", traces("A1", "A2"))
    path = configure(project, ("A1", "2099-12-31"))
    assert check(path, record=False).verdict == "NO-SHIP"
    every = [(item["qid"], "2099-12-31") for item in ITEMS]
    board = check(configure(project, *every), record=False)
    assert "quarantine-all" in board.failures["answers"] and board.exit_code == 2


def test_mistakes(project: Path) -> None:
    with pytest.raises(UsageError, match="no question 'A9'"):
        check(configure(project, ("A9", "2099-12-31")), record=False)
    for entry, words in (
        ('[[quarantine]]\nqid = "A1"\n', "owner is missing"),
        ('[[quarantine]]\nqid = "A1"\nowner = " "\nreason = "x"\nexpires = 2027-01-01\n', "is blank"),
        ('[quarantine]\nqid = "A1"\n', "double brackets"),
    ):
        with pytest.raises(UsageError) as error:
            load_config(configure(project, rest=entry))
        assert words in str(error.value)
    twice = configure(project, ("A1", "2027-01-01"), ("A1", "2028-01-01"))
    with pytest.raises(UsageError, match="quarantined twice"):
        load_config(twice)


def test_verified_and_not_compared_with_runs_without_it(project: Path) -> None:
    plain = configure(project)
    check(plain, label="plain")
    history = History(load_config(plain).history_url())
    history.bless("main", "last", by="Ada", reason="first")
    path = configure(project, ("A1", "2099-12-31"), rest="[baseline]\nname = 'main'\n")
    board = check(path, record=False)
    assert board.verdict == "NO VERDICT" and "the options differ" in " ".join(board.decisions[0].reasons)
    report = project / "report.json"
    report.write_text(json.dumps(check(configure(project, ("A1", "2099-12-31")), record=False).report()))
    assert all(one.agrees for one in verify(report))


def test_flaky_questions_are_listed_from_history(project: Path, cli: Cli) -> None:
    path = configure(project)
    for night, wrong in enumerate(((), ("A1",), (), ("A1", "A2"), ("A2",), ("A2",))):
        write_lines(project / "trace.jsonl", traces(*wrong))
        check(path, label=f"n{night}")
    url = load_config(path).history_url()
    ran = cli("history", "flaky", "--history", url)
    assert ran.code == 0 and ran.out.startswith("no question failed 3 separate times in 6 comparable runs")
    ran = cli("history", "flaky", "--history", url, "--failures", "2")
    assert ran.out.split() == ["A1", "✓✗✓✗✓✓", "passed", "4", "of", "6,", "failed", "2", "separate", "times"]
    ran = cli("history", "flaky", "--history", url, "--failures", "1", "--json")
    assert [one["qid"] for one in ran.json["flaky"]] == ["A1", "A2"] and len(ran.json["runs"]) == 6
    ran = cli("history", "flaky", "--history", url, "--last", "2", "--failures", "1")
    assert ran.out.split()[:2] == ["A2", "✗✗"]
