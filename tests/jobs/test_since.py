"""Since when a question fails, wherever it is shown; new and repaired questions; links to commit, run and request."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import Cli, gold, trace, write_lines

Check = Callable[..., Any]
QIDS = ("Q0", "Q1", "Q2", "<b>Q3</b>")


@pytest.fixture
def check(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Check:
    """A check of four questions at a commit, of which some fail."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_HEAD_REF", "GITHUB_BASE_REF", "GITHUB_REF", "GITHUB_SERVER_URL", "GITHUB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/shop")
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    write_lines(tmp_path / "gold.jsonl", [gold(qid) for qid in QIDS])
    (tmp_path / "shipworthy.toml").write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n')

    def run(commit: str, failing: str, *flags: str) -> Any:
        monkeypatch.setenv("GITHUB_SHA", commit * 40)
        right = {qid: str(place) not in failing for place, qid in enumerate(QIDS)}
        lines = [trace(qid, "The right answer." if good else "No idea.", ts=1) for qid, good in right.items()]
        write_lines(tmp_path / "trace.jsonl", lines)
        return cli("check", *flags)

    return run


def test_every_surface_says_new_or_since_when(check: Check, tmp_path: Path) -> None:
    assert "since" not in check("a", "2").out  # nothing is known before the first run
    check("b", "12")
    ran = check("c", "013", "--comment", "c.md", "-o", "r.xml", "-o", "r.html", "-o", "r.md", "-o", "r.json")
    assert "1 question failed in the run before and passes now: Q2" in ran.out
    assert "2 questions passed in the run before and fail now: <b>Q3</b>, Q0" in ran.out
    lines = ran.out.splitlines()
    assert any(line.startswith("  Q1  ") and "since run 2 (bbbbbbbb)" in line for line in lines)
    assert any(line.startswith("  Q0  ") and "  new" in line for line in lines)
    for name in ("c.md", "r.md"):
        text = (tmp_path / name).read_text("utf-8")
        assert "| `Q1` | run 2 (bbbbbbbb) |" in text and "| `Q0` | new |" in text
    cases = ElementTree.parse(tmp_path / "r.xml").iter("testcase")
    told = {
        case.get("name"): case[0].get("message", "")
        for case in cases
        if len(case) and "items" in case.get("classname", "")
    }
    assert told["Q1"].startswith("since run 2 (bbbbbbbb): ") and told["Q0"].startswith("new: ")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "since run 2 (bbbbbbbb)" in page and "<b>Q3</b>" not in page.partition('id="data"')[0]
    noted = json.loads((tmp_path / "r.json").read_text("utf-8"))["suites"]["answers"]["run"]["since"]
    assert noted["before"] == "run 2 (bbbbbbbb)" and noted["repaired"] == ["Q2"]
    assert noted["failing"]["Q0"] == {"new": True} and noted["failing"]["Q1"]["run"] == 2


def test_the_same_run_again_says_the_same(check: Check) -> None:
    check("a", "2")
    first, again = check("b", "12").out, check("b", "12").out
    assert first == again and "  new" in first


def test_a_pull_request_is_compared_with_the_branch_that_it_goes_to(
    check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check("a", "2")
    check("b", "2")
    for name, value in {
        "GITHUB_HEAD_REF": "fix",
        "GITHUB_BASE_REF": "main",
        "GITHUB_REF": "refs/pull/17/merge",
        "GITHUB_SERVER_URL": "https://git.example",
        "GITHUB_RUN_ID": "4711",
    }.items():
        monkeypatch.setenv(name, value)
    ran = check("c", "12", "-o", "r.html", "-o", "r.json", "--comment", "c.md")
    assert "since run 1 (aaaaaaaa)" in ran.out and "1 question passed in the run before and fails now: Q1" in ran.out
    page = (tmp_path / "r.html").read_text("utf-8")
    for link in ("commit/" + "c" * 40, "actions/runs/4711", "pull/17"):
        assert f'href="https://git.example/acme/shop/{link}"' in page
    build = json.loads((tmp_path / "r.json").read_text("utf-8"))["run"]["build"]
    assert build["pull_url"] == "https://git.example/acme/shop/pull/17"


@pytest.mark.parametrize("value", ["javascript:alert(1)", 'https://x/"onclick="', "https://x/ y", "file:///etc"])
def test_an_address_that_is_none_is_no_link(
    check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY")
    monkeypatch.setenv("BUILD_URL", value)
    check("a", "2", "-o", "r.json")
    assert "run_url" not in json.loads((tmp_path / "r.json").read_text("utf-8"))["run"]["build"]


def test_the_author_is_kept_only_where_the_config_says_so(check: Check, tmp_path: Path, cli: Cli) -> None:
    import subprocess

    def git(*words: str) -> str:
        who = ("-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.org")
        return subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "Raise the limit")
    commit = git("rev-parse", "HEAD").strip()
    settings = (tmp_path / "shipworthy.toml").read_text("utf-8")
    for author, label in (("false", "without"), ("true", "with")):
        (tmp_path / "shipworthy.toml").write_text(f"{settings}[history]\nauthor = {author}\n")
        monkeypatched = pytest.MonkeyPatch()
        with monkeypatched.context() as patch:
            check("a", "2", "--no-record")
            patch.setenv("GITHUB_SHA", commit)
            cli("check", "--label", label)
    without, named = cli("history", "list", "--json").json
    assert (without["author"], named["author"]) == ("", "Ada Lovelace") and named["subject"] == "Raise the limit"


def test_a_history_that_cannot_be_read_says_nothing_and_stops_nothing(check: Check, tmp_path: Path) -> None:
    check("a", "2")
    (tmp_path / ".shipworthy" / "history.db").write_bytes(b"not a database" * 100)
    ran = check("b", "12")
    assert ran.code == 1 and "since run" not in ran.out and "is damaged" in ran.err


def test_a_history_of_another_program_is_left_alone(check: Check, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / ".shipworthy").mkdir()
    path = tmp_path / ".shipworthy" / "history.db"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT)")
    ran = check("b", "12")
    assert ran.code == 1 and "another program" in ran.err
    with sqlite3.connect(path) as base:
        assert [name for (name,) in base.execute("SELECT name FROM sqlite_master")] == ["moz_places"]
    listed = cli("history", "list")
    assert listed.code == 4 and "[history-foreign]" in listed.err
