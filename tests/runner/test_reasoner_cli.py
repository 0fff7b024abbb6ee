"""`shipworthy reason run` and `reason score`: a reasoner or its answers in, a decision and its exit code out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Ran, write_lines
from shipworthy.demo.reasoner import load_notes, reason
from shipworthy.suites.reasoning.contracts import read_fixture

Cli = Callable[..., Ran]
REASONER = f"{sys.executable} -m shipworthy.demo.reasoner"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def script(folder: Path, body: str) -> Path:
    path = folder / "reasoner"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_demo_reasoner_ships_through_the_command(tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "report.json"
    ran = cli("reason", "run", "--binary", REASONER, "-o", out, "--output-dir", tmp_path / "cases", "--max-cases", 6)
    assert ran.code == 0 and ran.out.startswith("SHIP  all 6 gates pass")
    body = json.loads(out.read_text())
    assert body["summary"]["passed"] and body["results"][0]["answer"]
    assert body["results"][0]["model"] == "note-store"
    assert len(os.listdir(tmp_path / "cases")) == 7
    assert json.loads((tmp_path / "cases" / "reason-report.json").read_text())["digest"] == body["digest"]


def test_a_run_with_nothing_but_errors_still_ends_with_a_report(tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "r.json"
    ran = cli("reason", "run", "--binary", script(tmp_path, "echo no"), "-o", out, "--max-cases", 2)
    assert ran.code == 3 and "2/2" in ran.err
    summary = json.loads(out.read_text())["summary"]
    assert summary["error_cases"] == 2 and summary["pass_rate"] is None and not summary["passed"]


def test_dry_run_prints_command_lines_and_asks_nobody(cli: Cli) -> None:
    ran = cli("reason", "run", "--dry-run", "--binary", "./no-such", "--max-cases", 2, "--model", "m")
    lines = ran.out.splitlines()
    assert ran.code == 0 and len(lines) == 2
    assert all(line.startswith("./no-such reason ") and "--model m" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        ([], 2, "reason-target"),
        (["--binary", "x", "--url", "http://y"], 2, "reason-target"),
        (["--binary", "/no/such"], 4, "reason-binary-missing"),
        (["--binary", "reasoner 'half"], 2, "reason-binary"),
        (["--dry-run", "--binary", "'"], 2, "reason-binary"),
        (["--python", "nowhere:nothing"], 2, "reason-callable"),
        (["--binary", "true", "--fixture", "f.json"], 3, "fixture-field"),
    ],
)
def test_usage_errors(cli: Cli, tmp_path: Path, arguments: list[str], code: int, error: str) -> None:
    (tmp_path / "f.json").write_text("{}")
    ran = cli("reason", "run", *arguments)
    assert ran.code == code and f"[{error}]" in ran.err


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e999", "0", "-1", "soon"])
def test_a_time_limit_is_a_number_of_seconds(cli: Cli, seconds: str) -> None:
    assert cli("reason", "run", "--binary", "true", "--timeout-sec", seconds).code == 2


def test_a_wrong_flag_is_told_before_anybody_is_asked(cli: Cli, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    binary = script(tmp_path, f"touch {asked}")
    for wrong, error in (("--gates", "precision=0.9"), "gate-unknown"), (("-o", "report.docx"), "report-format"):
        ran = cli("reason", "run", "--binary", binary, *wrong)
        assert ran.code == 2 and error in ran.err
    assert not asked.exists()


def test_score_exits_by_the_decision(cli: Cli, tmp_path: Path) -> None:
    cases = read_fixture().cases
    rows = [{"id": c.id, **reason(c.prompt, load_notes(project=c.project))} for c in cases]
    good = write_lines(tmp_path / "good.jsonl", rows)
    bad = write_lines(tmp_path / "bad.jsonl", [{"id": c.id, "content": "Summary: fine."} for c in cases])
    ran = cli("reason", "score", "--answers", good, "--json")
    assert ran.code == 0 and ran.json["summary"]["passed"] is True
    assert cli("reason", "score", "--answers", bad).code == 1
    write_lines(good, [*rows[1:], {**rows[0], "content": "Fine."}])
    assert cli("reason", "score", "--answers", good).code == 0
    assert cli("reason", "score", "--answers", good, "--suite-min-pass-rate", "1").code == 1


def test_errors_stop_a_suite_only_when_asked_to(cli: Cli, tmp_path: Path) -> None:
    rows = [{"id": c.id, **reason(c.prompt, load_notes(project=c.project))} for c in read_fixture().cases[1:]]
    most = write_lines(tmp_path / "most.jsonl", rows)
    assert cli("reason", "score", "--answers", most).code == 3, "a lost answer is no verdict"
    assert cli("reason", "score", "--answers", most, "--allow-missing", "1").code == 0
    assert cli("reason", "score", "--answers", most, "--allow-missing", "1", "--fail-on-errors").code == 1
