"""`check --run` writes traces that tell what is missing of them, whatever part of the questions was sent again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import REAL_DATA, Cli, gold, planned, trace, write_lines
from waiting import FOREVER, wait_until

ITEMS = [gold(f"q{n}", tier="smoke" if n < 2 else "full") for n in range(6)]
CONFIG = """
[target]
url = "py:pipeline:answer"
[suites.answers]
gold = "gold.jsonl"
trace = "runs/trace.jsonl"
target = "target"
seeds = [0, 1]
gates = ["precision >= 0.9"]
only_gates = true
[suites.stability]
gold = "gold.jsonl"
runs = "runs/stability.jsonl"
target = "target"
seeds = [0, 1]
jitters = ["none", "ws"]
gates = ["acr >= 0.9"]
only_gates = true
"""
PIPELINE = """
import os, time
def answer(q):
    if os.path.exists("hold"):
        open(f"held-{os.getpid()}", "w").close()
        while os.path.exists("hold"): time.sleep(0.01)
    return {"answer_json": {"claim": "The right answer.", "citations": ["d1"]}, "retrieved_ids": ["d1"]}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_lines(tmp_path / "gold.jsonl", ITEMS)
    (tmp_path / "shipworthy.toml").write_text(CONFIG)
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


RUNS = {"answers": "trace", "stability": "stability"}


@pytest.mark.parametrize("suite", RUNS)
def test_a_part_that_is_sent_again_leaves_the_plan_complete(project: Path, cli: Cli, suite: str) -> None:
    ran = cli("check", "--suite", suite, "--run")
    assert ran.code == 0, ran.err + ran.out
    path = project / "runs" / f"{RUNS[suite]}.jsonl"
    before = rows(path)
    assert cli("check", "--suite", suite, "--run", "--where", "tier=smoke").code == 0
    after = rows(path)
    assert {row["run_id"] for row in after} == {row["run_id"] for row in before} and len(after) == len(before)
    assert len({(row["sweep_id"], row["planned_runs"]) for row in after}) == 1 and after[0] != before[0]
    again = cli("check", "--suite", suite)
    assert again.code == 0, again.out


@pytest.mark.parametrize("suite", RUNS)
@pytest.mark.parametrize("where", ["tier=smoke", "tier=full"])
@pytest.mark.parametrize("old", [False, True])
def test_a_part_that_is_sent_again_hides_no_run_that_is_missing(
    project: Path, cli: Cli, suite: str, where: str, old: bool
) -> None:
    """A run of q4 is lost. It is known to be missing until q4 is sent again."""
    assert cli("check", "--suite", suite, "--run").code == 0
    path = project / "runs" / f"{RUNS[suite]}.jsonl"
    held = [row for row in rows(path) if not (row["qid"] == "q4" and row["seed"] == 1)]
    if old:
        head = {"shipworthy_journal": 1, "sweep_id": held[0]["sweep_id"], "planned": held[0]["planned_runs"]}
        held = [head, *({name: row[name] for name in row if name != "planned_runs"} for row in held)]
    write_lines(path, held)
    assert cli("check", "--suite", suite).code == 3
    assert cli("check", "--suite", suite, "--run", "--where", where).code == (3 if where == "tier=smoke" else 0)
    found = cli("check", "--suite", suite)
    assert found.code == (3 if where == "tier=smoke" else 0), found.out
    assert ("planned run" in found.out) == (found.code == 3)


def test_a_plan_of_other_runs_is_not_completed_by_these(project: Path, cli: Cli) -> None:
    """The old traces were made with three seeds, one of which is lost on q5; smoke is sent again with two."""
    grid = [{**trace(item["qid"]), "seed": seed} for item in ITEMS for seed in range(3)]
    old = [{**row, "run_id": f"{row['qid']}#seed={row['seed']};j=none"} for row in grid]
    (project / "runs").mkdir()
    path = write_lines(project / "runs" / "trace.jsonl", planned(old, 18)[:-1])
    assert cli("check", "--suite", "answers", "--run", "--where", "tier=smoke").code == 3
    found = cli("check", "--suite", "answers")
    assert found.code == 3 and "trace has 15 of 16 planned runs" in " ".join(found.out.split())
    assert len({row["sweep_id"] for row in rows(path)}) == 1


def test_traces_of_nobodys_plan_stay_so(project: Path, cli: Cli) -> None:
    (project / "runs").mkdir()
    path = write_lines(project / "runs" / "trace.jsonl", [trace(item["qid"]) for item in ITEMS])
    assert cli("check", "--suite", "answers", "--run", "--where", "tier=smoke").code == 0
    assert len(rows(path)) == 8 and not any("sweep_id" in row for row in rows(path))
    assert cli("check", "--suite", "answers").code == 0


def test_a_second_check_in_the_same_folder_is_told_who_is_at_it(project: Path, cli: Cli) -> None:
    assert cli("check", "--run").code == 0
    before = (project / "runs" / "trace.jsonl").read_bytes()
    (project / "hold").touch()
    code = "import sys; from shipworthy.cli import main; sys.exit(main(['check', '--run']))"
    first = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: any(project.glob("held-*")))
        for arguments in (
            ["check", "--run"],
            ["check", "--suite", "stability", "--run"],
            ["check", "--run", "--where", "tier=smoke"],
        ):
            second = cli(*arguments)
            said = " ".join(second.err.split())
            assert second.code == 4 and f"pid {first.pid} " in said and "[run-locked]" in said, said
            assert "--out" not in said and "Wait" in said
        assert (project / "runs" / "trace.jsonl").read_bytes() == before
        assert cli("check").code == 0, "what is there can be judged meanwhile"
    finally:
        os.unlink(project / "hold")
        out, err = first.communicate(timeout=FOREVER)
    assert first.returncode == 0, out + err
    assert (project / "runs" / "trace.jsonl").read_bytes() != before
    assert cli("check", "--run").code == 0
    assert not list(project.glob("**/*.lock"))


def test_stability_run_a_second_time_says_resume_and_goes_on_with_it(project: Path, cli: Cli) -> None:
    call = ("stability", "run", "--gold", "gold.jsonl", "--target", "py:pipeline:answer", "--stability", "s.jsonl")
    call += ("--seeds", "0,1", "--jitters", "none,ws", "--gates", "acr=0.9", "--only-gates")
    assert cli(*call, "--max-requests", 5, "--concurrency", 1).code == 3
    begun = rows(project / "s.jsonl")
    again = cli(*call)
    assert again.code == 2 and f"holds {len(begun)} finished runs" in again.err and "--resume" in again.err
    assert cli(*call, "--resume").code == 0
    assert rows(project / "s.jsonl")[: len(begun)] == begun and len(rows(project / "s.jsonl")) == 24


def test_the_original_scorer_reads_what_run_writes(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that reads JSON lines, takes every line for a trace and keeps the last of each question."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    gold_file = write_lines(tmp_path / "gold.jsonl", ITEMS)
    assert cli("run", "--gold", gold_file, "--target", "py:pipeline:answer", "--out", "t.jsonl").code == 0
    found = rows(tmp_path / "t.jsonl")
    assert sorted(row["qid"] for row in found) == [item["qid"] for item in ITEMS]
    script = REAL_DATA.parent / "reference" / "score_eval.py"
    if not script.exists():
        pytest.skip("the original script is not on this machine (beside SHIPWORTHY_DATA)")
    said = subprocess.run(
        [sys.executable, script, "--gold", gold_file, "--trace", "t.jsonl"], capture_output=True, text=True, check=True
    )
    ours = cli("score", "--gold", gold_file, "--trace", "t.jsonl", "--profile", "reference", "--json").json
    theirs = json.loads(said.stdout)
    assert theirs["precision"] == 1.0 and {name: ours[name] for name in theirs if name != "gates"} == {
        name: value for name, value in theirs.items() if name != "gates"
    }
