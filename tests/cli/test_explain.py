"""`shipworthy explain`: a metric, a code, a question of a report."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from conftest import ROOT, Cli
from shipworthy.codes import CODES

HELLO = ROOT / "examples" / "hello"


@pytest.fixture
def report(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report of three questions: one correct, one wrong, one refused as it should be."""
    monkeypatch.chdir(tmp_path)
    traces = [json.loads(line) for line in (HELLO / "trace.jsonl").read_text("utf-8").splitlines()]
    for trace in traces:
        if trace["qid"] == "H2":
            trace["answer_json"]["claim"] = "Every plan includes phone support."
    Path("trace.jsonl").write_text("".join(json.dumps(trace) + "\n" for trace in traces), "utf-8")
    cli("score", "--gold", HELLO / "gold.jsonl", "--trace", "trace.jsonl", "-o", "report.json")
    return tmp_path / "report.json"


def test_a_metric_is_defined_with_formula_and_gate(cli: Cli) -> None:
    ran = cli("explain", "chr")
    assert ran.code == 0
    assert ran.out.startswith("cited right (chr): a metric of answers")
    assert "Formula: " in ran.out
    assert "Default gate: chr >= 0.75" in ran.out


def test_a_metric_with_its_depth_is_understood(cli: Cli) -> None:
    assert "first 7 retrieved" in cli("explain", "recall@7").out


def test_a_code_is_explained_with_or_without_brackets(cli: Cli) -> None:
    for spelled in ("gate-unknown", "[gate-unknown]"):
        assert CODES["gate-unknown"] in cli("explain", spelled).out


def test_a_failing_question_is_told_with_answer_and_reason(cli: Cli, report: Path) -> None:
    out = cli("explain", "H2").out
    assert "From report.json:" in out
    assert "answers: H2 fails" in out
    assert "Which plan includes phone support?" in out
    assert "Every plan includes phone support." in out
    assert "expected  Business plan" in out
    assert "why       the answer" in out


def test_a_passing_question_is_read_from_the_inputs(cli: Cli, report: Path) -> None:
    out = cli("explain", "H1", "--report", report).out
    assert "answers: H1 passes" in out
    assert "Refunds are possible within 30 days" in out


def test_a_correct_refusal_is_called_one(cli: Cli, report: Path) -> None:
    out = cli("explain", "H3").out
    assert "expected  a refusal" in out
    assert "why       correctly refused" in out


def test_without_the_inputs_the_verdict_alone_is_told(cli: Cli, report: Path) -> None:
    os.unlink("trace.jsonl")
    assert "answers: H1 passes" in cli("explain", "H1").out


def test_the_newest_report_is_chosen_and_other_json_is_passed_over(cli: Cli, report: Path) -> None:
    Path("package.json").write_text("{}", "utf-8")
    Path("broken.json").write_text("{", "utf-8")
    os.utime(report, (1, 1))
    assert "From report.json:" in cli("explain", "H1").out


def test_an_unknown_name_suggests_the_nearest(cli: Cli, report: Path) -> None:
    ran = cli("explain", "chrr")
    assert ran.code == 2
    assert "Did you mean chr?" in ran.err
    assert "[explain-unknown]" in ran.err


def test_without_any_report_it_says_how_to_get_one(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHIPWORTHY_HISTORY", str(tmp_path / "none.db"))
    ran = cli("explain", "Q99999")
    assert ran.code == 2
    assert "--report" in ran.err


def test_hostile_text_of_a_report_is_escaped(cli: Cli, report: Path) -> None:
    told = json.loads(report.read_text("utf-8"))
    told["offenders"][0]["claim"] = "\x1b[31m\n::error::no"
    report.write_text(json.dumps(told), "utf-8")
    out = cli("explain", "H2").out
    assert "\x1b" not in out
    assert "\n::error" not in out


def test_the_newer_of_report_and_history_is_looked_up(cli: Cli, report: Path) -> None:
    cli("score", "--gold", HELLO / "gold.jsonl", "--trace", HELLO / "trace.jsonl", "-o", "runs/good.json")
    assert cli("history", "record", "runs/good.json").code == 0
    os.unlink("runs/good.json")
    os.utime(report, (1, 1))
    out = cli("explain", "H2").out
    assert out.startswith("From the last run of the history:") and "answers: H2 passes" in out
    os.utime(report)
    assert cli("explain", "H2").out.startswith("From report.json:")


def test_every_suite_of_the_last_check_is_looked_up(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shipworthy.toml").write_text(
        f"""[suites.answers]
gold = "{HELLO}/gold.jsonl"
trace = "{HELLO}/trace.jsonl"
[suites.agreement]
gold = "{HELLO}/gold.jsonl"
trace = "{HELLO}/trace.jsonl"
"""
    )
    assert cli("check").code in (0, 1)
    out = cli("explain", "H1").out
    assert "answers: H1 passes" in out and "agreement: H1 passes" in out


def test_a_check_of_a_few_questions_hides_no_other(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shipworthy.toml").write_text(
        f'[suites.answers]\ngold = "{HELLO}/gold.jsonl"\ntrace = "{HELLO}/trace.jsonl"\n'
    )
    cli("check")
    cli("check", "--where", "answerable=false")
    assert "answers: H1 passes" in cli("explain", "H1").out
