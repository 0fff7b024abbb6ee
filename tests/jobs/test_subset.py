"""Subsets: `--where tier=smoke` judges some of the questions, says so first, and never counts as the whole verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import DataError, check, compare, evaluate, verify
from shipworthy.config import load_config
from shipworthy.history import History
from shipworthy.history.nightly import nightly_of

ITEMS = [
    gold("A1", tier="smoke", type="table"),
    gold("A2", tier="full"),
    gold("A3", tier="full"),
    unanswerable("U1", tier="smoke"),
]
TRACES = [trace("A1"), trace("A2", "wrong", cite=("d2",)), trace("A3"), refusal("U1")]
FIRST = "a subset: tier=smoke, 2 of 4 questions; not the whole verdict"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_lines(tmp_path / "gold.jsonl", ITEMS)
    write_lines(tmp_path / "trace.jsonl", TRACES)
    write_lines(tmp_path / "runs.jsonl", [{**one, "seed": seed} for one in TRACES for seed in (0, 1)])
    suites = '[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n'
    suites += '[suites.stability]\ngold = "gold.jsonl"\nruns = "runs.jsonl"\n'
    (tmp_path / "shipworthy.toml").write_text(suites)
    return tmp_path


def call(project: Path, *more: object) -> tuple[object, ...]:
    return ("score", "--gold", project / "gold.jsonl", "--trace", project / "trace.jsonl", *more)


def test_score_on_a_subset_says_so_first(project: Path, cli: Cli) -> None:
    assert cli(*call(project)).code == 1
    ran = cli(*call(project, "--where", "tier=smoke", "--json"))
    assert ran.code == 0 and ran.json["reasons"][0] == FIRST
    assert ran.json["subset"] == {"where": ["tier=smoke"], "questions": 2, "of": 4}
    assert [row["qid"] for row in ran.json["items"]] == ["A1", "U1"]
    assert ran.json["metrics"]["unknown_qids"]["value"] == 0 and ran.json["metrics"]["missing"]["value"] == 0
    assert FIRST in cli(*call(project, "--where", "tier=smoke")).out
    assert cli(*call(project, "--where", "tier=smoke", "--closed")).code == 0
    assert cli(*call(project, "--where", "tier=full")).code == 1


def test_a_run_of_the_subset_alone_is_complete(project: Path, cli: Cli) -> None:
    write_lines(project / "trace.jsonl", [TRACES[0], TRACES[3]])
    assert cli(*call(project)).code == 3
    assert cli(*call(project, "--where", "tier=smoke")).code == 0
    write_lines(project / "trace.jsonl", [TRACES[0]])
    assert cli(*call(project, "--where", "tier=smoke")).code == 3


def test_alternatives_fields_of_the_contract_and_records(project: Path) -> None:
    def asked(*where: str) -> list[str]:
        return [row["qid"] for row in evaluate(iter(ITEMS), iter(TRACES), where=where).items]

    assert asked("tier=smoke", "tier=full") == ["A1", "A2", "A3", "U1"]
    assert asked("tier=smoke", "answerable=true") == ["A1"]
    assert asked("type=table") == ["A1"]


@pytest.mark.parametrize(
    ("where", "code", "words"),
    [
        ("tier=smok", 3, "The gold set has tier: full, smoke"),
        ("tear=smoke", 3, "no field tear; its fields are: answerable, tier, type"),
        ("tier", 2, "FIELD=VALUE"),
        ("tier=", 2, "FIELD=VALUE"),
        ("=smoke", 2, "FIELD=VALUE"),
        ("tier=\x1b[31m", 3, "\\x1b"),
    ],
)
def test_mistakes(project: Path, cli: Cli, where: str, code: int, words: str) -> None:
    ran = cli(*call(project, "--where", where))
    assert ran.code == code and words in ran.err and "\x1b" not in ran.err
    with pytest.raises(DataError if code == 3 else Exception):
        evaluate(ITEMS, TRACES, where=[where])


def test_check_says_it_on_the_first_line_and_history_keeps_it_apart(project: Path, cli: Cli) -> None:
    path = project / "shipworthy.toml"
    cli("check", "--config", path)
    ran = cli("check", "--config", path, "--where", "tier=smoke")
    assert ran.code == 0 and FIRST in ran.out.replace("\n", " ").replace("  ", " ")
    history = History(load_config(path).history_url())
    assert [run.decision for run in history.runs(suite="answers")] == ["NO-SHIP", "SHIP (subset)"]
    assert [(one.num, one.den) for one in history.trend("precision", suite="answers")] == [(2, 3)]
    assert [(one.num, one.den) for one in history.trend("precision{tier=smoke}", suite="answers")] == [(1, 1)]
    assert nightly_of(history, suite="answers")[1] == 1
    assert check(path, where=["tier=smoke"], record=False).decisions[1].tolerated[0] == FIRST


def test_a_subset_is_not_compared_with_the_whole(project: Path, cli: Cli) -> None:
    path = project / "shipworthy.toml"
    cli("check", "--config", path)
    history = History(load_config(path).history_url())
    for run in history.runs():
        history.bless("main", run.id, by="Ada", reason="first")
    board = check(path, where=["tier=smoke"], baseline="main", record=False)
    assert board.verdict == "NO VERDICT" and "the options differ" in " ".join(board.decisions[0].reasons)
    whole, some = (evaluate(ITEMS, TRACES, where=where).report() for where in ([], ["tier=smoke"]))
    with pytest.raises(DataError, match="different options"):
        compare(whole, some, rescore=False)


def test_suites_without_a_gold_set_are_not_run_and_named(project: Path) -> None:
    path = project / "shipworthy.toml"
    write_lines(project / "pairs.jsonl", [{"qid": "A1", "scholar": "VALID", "auditor": "VALID"}])
    path.write_text(path.read_text() + '[suites.agreement]\npairs = "pairs.jsonl"\n')
    board = check(path, where=["tier=smoke"], record=False)
    assert [one.suite for one in board.decisions] == ["answers", "stability"]
    assert "not run, because they take no --where: agreement" in board.notes


def test_a_report_of_a_subset_is_verified(project: Path) -> None:
    report = check(project / "shipworthy.toml", where=["tier=smoke"], record=False).report()
    path = project / "report.json"
    path.write_text(json.dumps(report))
    assert all(one.agrees for one in verify(path))


def traces_of(path: Path) -> dict[str, Any]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["qid"]: row for row in rows if "qid" in row}


def test_run_and_check_run_ask_only_the_subset(project: Path, cli: Cli) -> None:
    out = project / "out.jsonl"
    asked = ("run", "--gold", project / "gold.jsonl", "--target", f"replay:{project / 'trace.jsonl'}", "--out", out)
    assert cli(*asked, "--where", "tier=smoke").code == 0 and set(traces_of(out)) == {"A1", "U1"}
    better = write_lines(project / "better.jsonl", [trace("A1", "The right answer, again."), *TRACES[1:]])
    (project / "shipworthy.toml").write_text(
        f'[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n[target]\nreplay = "{better.name}"\n'
    )
    ran = cli("check", "--config", project / "shipworthy.toml", "--run", "--where", "tier=smoke", "--no-record")
    kept = traces_of(project / "trace.jsonl")
    assert ran.code == 0 and "Sending 2 requests" in ran.err and len(kept) == 4
    assert kept["A1"]["answer_json"]["claim"] == "The right answer, again."
