"""Standard streams that are closed, full, or that nobody reads: no traceback, and the exit code of the verdict."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy.core.board import Board

PROGRAM = (sys.executable, "-m", "shipworthy")


@pytest.fixture(params=["SHIP", "NO-SHIP", "NO VERDICT"])
def wanted(request: pytest.FixtureRequest, tmp_path: Path) -> int:
    """The exit code of what lies in the folder."""
    verdict: str = request.param
    make(tmp_path, verdict)
    return {"SHIP": 0, "NO-SHIP": 1, "NO VERDICT": 3}[verdict]


def make(folder: Path, verdict: str, items: int = 3) -> None:
    write_lines(folder / "gold.jsonl", [*(gold(f"A{n}") for n in range(items)), unanswerable("U")])
    claims = {"NO-SHIP": "Something else."}
    traces = [trace(f"A{n}", claims.get(verdict, "The right answer.")) for n in range(items)]
    write_lines(folder / "trace.jsonl", [*traces, *([refusal("U")] if verdict != "NO VERDICT" else [])])
    (folder / "shipworthy.toml").write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n')


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The script in bash; `$S` is the program."""
    env = {**os.environ, "S": " ".join(PROGRAM), "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", script], check=False, cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr
    return done


COMMANDS = [
    "score --gold gold.jsonl --trace trace.jsonl",
    "check",
    "score --gold gold.jsonl --trace trace.jsonl --json",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_closed_standard_output(wanted: int, tmp_path: Path, command: str) -> None:
    done = shell(f"$S {command} -o r.json >&-", tmp_path)
    assert done.returncode == wanted and done.stderr == ""
    assert json.loads((tmp_path / "r.json").read_bytes())["exit_code"] == wanted


@pytest.mark.parametrize("streams", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_of_all_kinds(wanted: int, tmp_path: Path, streams: str) -> None:
    done = shell(f"$S check -o r.json {streams}", tmp_path)
    assert done.returncode == wanted
    assert json.loads((tmp_path / "r.json").read_bytes())["exit_code"] == wanted
    connection = sqlite3.connect(tmp_path / ".shipworthy" / "history.db")  # no output went into a file of ours
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_goes_away(wanted: int, tmp_path: Path, command: str) -> None:
    assert shell(f"$S {command} | true; exit ${{PIPESTATUS[0]}}", tmp_path).returncode == wanted


def test_a_reader_that_goes_away_in_the_middle(tmp_path: Path) -> None:
    make(tmp_path, "NO-SHIP", items=3000)  # more than a pipe holds
    for command in COMMANDS:
        assert shell(f"$S {command} | head -c 100 >&2; exit ${{PIPESTATUS[0]}}", tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("--help", 0),
        ("score --help", 0),
        ("schema gold", 0),
        ("history list", 0),
        ("gold lint gold.jsonl", 0),
        ("gold diff gold.jsonl trace.jsonl", 1),
        ("run --gold gold.jsonl --target demo --out t.jsonl --overwrite", 0),
        ("nonsense", 2),
        ("verify absent.json", 2),
    ],
)
def test_a_reader_that_goes_away_from_anything_else(tmp_path: Path, command: str, code: int) -> None:
    make(tmp_path, "SHIP")
    shell("$S check", tmp_path)
    expected = shell(f"$S {command}", tmp_path).returncode
    for streams in ("| true", "2>&1 | true", "> >(true) 2> >(true)", ">&-"):
        end = "${PIPESTATUS[0]}"
        assert shell(f"$S {command} {streams}; exit {end}", tmp_path).returncode == expected, streams
    assert expected == code


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("command", [*COMMANDS, "--help", "schema gold", "gold lint gold.jsonl"])
def test_a_full_disk_behind_standard_output_is_exit_4(tmp_path: Path, command: str) -> None:
    make(tmp_path, "SHIP")
    done = shell(f"$S {command} > /dev/full", tmp_path)
    assert done.returncode == 4 and "No space left" in done.stderr
    if command in COMMANDS:
        assert "it is SHIP" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_behind_standard_error_changes_nothing(wanted: int, tmp_path: Path) -> None:
    assert shell("$S check 2> /dev/full", tmp_path).returncode == wanted
    assert shell("$S score --nonsense 2> /dev/full", tmp_path).returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_reports_and_history_are_written_though_nothing_can_be_printed(tmp_path: Path) -> None:
    make(tmp_path, "SHIP")
    assert shell("$S check -o r.json > /dev/full", tmp_path).returncode == 4
    assert json.loads((tmp_path / "r.json").read_bytes())["decision"] == "SHIP"
    assert "answers" in shell("$S history list", tmp_path).stdout


def test_a_terminal_that_knows_no_unicode(wanted: int, tmp_path: Path) -> None:
    done = shell("PYTHONIOENCODING=ascii $S check; exit $?", tmp_path)
    assert done.returncode == wanted and done.stdout


# Destinations that were asked for


@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_an_unwritable_report_is_exit_4_and_the_verdict_is_printed(
    cli: Cli, wanted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (("check",), ("score", "--gold", "gold.jsonl", "--trace", "trace.jsonl")):
        plain = cli(*command, "--format", form)
        ran = cli(*command, "--format", form, "-o", "gold.jsonl/r.json", "-o", "r.md")
        assert (plain.code, ran.code) == (wanted, 4)
        assert ran.out == plain.out or form == "json"  # whose run block has a clock
        assert "[unwritable]" in ran.err and (tmp_path / "r.md").exists()
        (tmp_path / "r.md").unlink()


def test_other_files_beside_the_verdict(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path, "SHIP")
    derived = ("agreement", "score", "--gold", "gold.jsonl", "--trace", "trace.jsonl")
    plain, ran = cli(*derived), cli(*derived, "--disagreements", "gold.jsonl/d.tsv")
    assert ran.code == 4 and ran.out == plain.out and "[unwritable]" in ran.err


def test_a_job_summary_that_can_not_be_written_is_a_warning(
    cli: Cli, wanted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "gold.jsonl" / "summary.md"))
    ran = cli("check")
    assert ran.code == wanted and "[summary]" in ran.err


# History


@pytest.mark.parametrize("form", ["text", "markdown", "github", "junit", "tsv"])
def test_the_verdict_is_printed_before_anything_waits_for_history(
    cli: Cli,
    wanted: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    form: str,
) -> None:
    printed = []

    def wait(board: Board, *_: object) -> None:
        printed.append(capfd.readouterr().out)
        board.run["warnings"] = ["history is locked"]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shipworthy.cli.check.record_board", wait)
    ran = cli("check", "--format", form)
    assert ran.code == wanted and printed[0] and not ran.out
    assert "history is locked" in ran.err


def test_a_locked_history_changes_no_exit_code(wanted: int, tmp_path: Path) -> None:
    shell("$S check", tmp_path)
    holder = sqlite3.connect(tmp_path / ".shipworthy" / "history.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    done = shell("$S check -o r.html", tmp_path)
    holder.close()
    assert done.returncode == wanted and done.stdout and (tmp_path / "r.html").exists()
