"""A baseline that is a committed report: saved, compared with, and refused before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, write_lines

CONFIG = """
[target]
url = "py:pipeline:answer"
[suites.answers]
gold = "gold.jsonl"
trace = "runs/trace.jsonl"
gates = ["precision >= 0.5"]
only_gates = true
{more}
"""
PIPELINE = """
import os
def answer(q):
    with open("sent", "a") as log: log.write(q + "\\n")
    if os.path.exists("down") and q == open("down").read(): raise RuntimeError("down")
    right = not (os.path.exists("wrong") and q in open("wrong").read().split("|"))
    claim = "The right answer." if right else "Something else."
    return {"answer_json": {"claim": claim, "citations": ["d1"]}, "retrieved_ids": ["d1"]}
"""
ITEMS = [gold(f"q{n}", question=f"Question {n}?") for n in range(6)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Path:
    write_lines(tmp_path / "gold.jsonl", ITEMS)
    configure(tmp_path)
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    monkeypatch.chdir(tmp_path)
    assert cli("check", "--run").code == 0
    assert cli("baseline", "save").code == 0
    (tmp_path / "sent").unlink()
    return tmp_path


def configure(project: Path, more: str = "") -> None:
    (project / "shipworthy.toml").write_text(CONFIG.format(more=more))


def sent(project: Path) -> int:
    return len((project / "sent").read_text().splitlines()) if (project / "sent").exists() else 0


def test_a_saved_baseline_is_the_report_without_anything_of_the_machine(project: Path, cli: Cli) -> None:
    text = (project / "baseline.json").read_text("utf-8")
    assert str(project) not in text
    again = cli("baseline", "save", "again.json")
    assert "answers on 6 questions" in again.out and "--baseline again.json" in again.out
    assert (project / "again.json").read_text("utf-8") == text
    cli("check", "-o", "report.json")
    assert cli("baseline", "save", "copy.json", "--report", "report.json").code == 0
    assert json.loads((project / "copy.json").read_text())["digest"] == json.loads(text)["digest"]


@pytest.mark.parametrize("how", ["flag", "config"])
def test_a_regression_against_a_committed_report_stops_the_ship(project: Path, cli: Cli, how: str) -> None:
    flags = ("--baseline", "baseline.json") if how == "flag" else ()
    configure(project, "" if flags else '[baseline]\nname = "baseline.json"')
    same = cli("check", "--run", *flags)
    assert same.code == 0 and sent(project) == 6
    (project / "wrong").write_text("Question 1?")
    worse = cli("check", "--run", *flags, "--json")
    assert worse.code == 1, worse.err
    reasons = " ".join(worse.json["suites"]["answers"]["reasons"])
    assert "worse than baseline.json" in reasons and "q1" in reasons
    assert "q1" in cli("check", *flags, "--comment", "-").out


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_case_that_only_the_baseline_has_is_a_regression_even_where_missing_ones_are_allowed(
    project: Path, cli: Cli, allowed: int
) -> None:
    configure(project, f'[baseline]\nname = "{project / "baseline.json"}"')
    path = project / "shipworthy.toml"
    path.write_text(path.read_text().replace("only_gates", f"allow_missing = {allowed}\nonly_gates"))
    assert cli("baseline", "save").code == 0
    (project / "down").write_text("Question 3?")
    ran = cli("check", "--run", "--json")
    assert ran.code == 1
    assert "1 case of the baseline" in ran.out and "missing from this run: q3" in ran.out


def edited(project: Path) -> None:
    path = project / "baseline.json"
    path.write_text(path.read_text().replace('"decision": "SHIP"', '"decision": "NO-SHIP"', 1))


def other_gold(project: Path) -> None:
    write_lines(project / "gold.jsonl", [*ITEMS[:5], gold("q5", gold_claim_substr=["left"])])


def fewer_questions(project: Path) -> None:
    write_lines(project / "gold.jsonl", ITEMS[:5])


def other_options(project: Path) -> None:
    path = project / "shipworthy.toml"
    path.write_text(path.read_text().replace("only_gates", 'refusal = "natural"\nonly_gates'))


def other_definitions(project: Path) -> None:
    from shipworthy.reading.reports import digest

    report: dict[str, Any] = json.loads((project / "baseline.json").read_text())
    for one in (report["suites"]["answers"], report):
        one["shipworthy"]["definitions"] = "0"
        one["digest"] = digest(one)
    (project / "baseline.json").write_text(json.dumps(report))


def no_such_suite(project: Path) -> None:
    from shipworthy.reading.reports import digest

    report = json.loads((project / "baseline.json").read_text())
    report["suites"] = {}
    (project / "baseline.json").write_text(json.dumps(report | {"digest": digest(report)}))


REFUSED = [
    (lambda project: (project / "baseline.json").unlink(), 2, "shipworthy baseline save baseline.json"),
    (lambda project: (project / "baseline.json").write_text("{}"), 3, "is not a report"),
    (edited, 3, "was edited after it was written"),
    (other_gold, 3, "the gold sets differ"),
    (fewer_questions, 3, "the gold sets differ"),
    (other_options, 3, "the options differ"),
    (other_definitions, 3, "the definitions versions differ"),
    (no_such_suite, 3, "has no run of this suite"),
]


@pytest.mark.parametrize(("change", "code", "says"), REFUSED)
def test_a_baseline_that_can_not_be_compared_with_fails_before_the_first_request(
    project: Path, cli: Cli, change: Any, code: int, says: str
) -> None:
    change(project)
    ran = cli("check", "--run", "--baseline", "baseline.json")
    assert ran.code == code and says in ran.err, (ran.out, ran.err)
    assert sent(project) == 0
    assert "baseline" in ran.err and not ran.out
    assert cli("check", "--baseline", "baseline.json").code == code  # without sending it does not ship either


def test_a_named_baseline_is_checked_before_the_first_request_too(project: Path, cli: Cli) -> None:
    assert cli("baseline", "bless", "main", "last", "--by", "Ada", "--reason", "why").code == 0
    assert cli("check", "--run", "--baseline", "main").code == 0 and sent(project) == 6
    other_gold(project)
    ran = cli("check", "--run", "--baseline", "main")
    assert ran.code == 3 and "Nothing was sent" in ran.err and "baseline bless main last" in ran.err
    assert sent(project) == 6
    assert cli("check", "--run", "--baseline", "mian").code == 2 and sent(project) == 6
    configure(project, '[baseline]\non_incomparable = "warn"')
    assert cli("check", "--run", "--baseline", "main").code in (0, 1) and sent(project) == 12


def test_a_run_that_could_not_be_judged_is_no_baseline(project: Path, cli: Cli) -> None:
    (project / "down").write_text("Question 3?")
    assert cli("check", "--run").code == 3
    before = (project / "baseline.json").read_bytes()
    ran = cli("baseline", "save")
    assert ran.code == 3 and "[baseline-incomplete]" in ran.err and (project / "baseline.json").read_bytes() == before
    (project / "runs" / "trace.jsonl").unlink()
    assert cli("baseline", "save").code == 3


def test_a_run_that_does_not_ship_may_be_the_baseline(project: Path, cli: Cli) -> None:
    (project / "wrong").write_text("|".join(f"Question {n}?" for n in range(4)))
    assert cli("check", "--run").code == 1
    ran = cli("baseline", "save")
    assert ran.code == 0 and "does not ship by its own gates" in ran.out
