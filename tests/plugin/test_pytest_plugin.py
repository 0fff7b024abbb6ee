"""The pytest plugin in real pytest runs: plain, with workers, failing, and not asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shipworthy.config.starter import write_starter

SRC = str(Path(__file__).parents[2] / "src")


def run_pytest(folder: Path, *arguments: str, plugin: bool = True) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "PYTHONPATH": SRC, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "160"}
    known.pop("PYTEST_ADDOPTS", None)
    chosen = ("-p", "shipworthy.pytest_plugin") if plugin else ()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *chosen, *arguments]
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_starter(tmp_path)
    return tmp_path


def break_answer(project: Path, claim: str = "nobody knows", which: int = 0) -> str:
    """The trace of an answerable question, with a wrong answer; its qid."""
    path = project / "eval" / "trace.jsonl"
    traces = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    traces[which]["answer_json"]["claim"] = claim
    path.write_text("".join(json.dumps(trace) + "\n" for trace in traces), "utf-8")
    return str(traces[which]["qid"])


def test_a_test_for_each_gate_and_each_gold_item(project):
    gold = (project / "eval" / "gold.jsonl").read_text("utf-8").splitlines()
    done = run_pytest(project, "--shipworthy", "-v")
    assert done.returncode == 0, done.stdout
    assert "shipworthy/answers::gates::precision >= 0.80 PASSED" in done.stdout
    for line in gold:
        assert f"shipworthy/answers::items::{json.loads(line)['qid']} PASSED" in done.stdout
    assert f"collected {len(gold) + 5} items" in done.stdout


def test_failures_can_be_read(project):
    qid = break_answer(project)
    done = run_pytest(project, "--shipworthy")
    assert done.returncode == 1
    assert f"FAILED shipworthy/answers::items::{qid}" in done.stdout
    assert "FAILED shipworthy/answers::gates::precision" in done.stdout
    assert "answer: nobody knows" in done.stdout
    assert "pytest_plugin.py" not in done.stdout  # no line of ours stands between the reader and the answer


def test_the_session_agrees_with_the_decision(project):
    break_answer(project)
    (project / "shipworthy.toml").write_text(
        '[suites.answers]\ngold = "eval/gold.jsonl"\ntrace = "eval/trace.jsonl"\n'
        'gates = ["precision >= 0.1", "chr >= 0.1", "under_refusal <= 1", "over_refusal <= 1"]\n'
    )
    done = run_pytest(project, "--shipworthy", "-rs")
    assert done.returncode == 0, done.stdout
    assert "within the gates" in done.stdout


def test_missing_traces_fail(project):
    (project / "eval" / "trace.jsonl").write_text((project / "eval" / "trace.jsonl").read_text().splitlines()[0] + "\n")
    done = run_pytest(project, "--shipworthy")
    assert done.returncode == 1


def test_workers_judge_nothing_and_run_everything(project):
    qid = break_answer(project)
    plain = run_pytest(project, "--shipworthy", "-p", "no:terminal", "--junitxml", "plain.xml")
    spread = run_pytest(project, "--shipworthy", "-p", "xdist.plugin", "-n", "2", "--junitxml", "spread.xml")
    assert plain.returncode == spread.returncode == 1, spread.stdout + spread.stderr
    assert f"shipworthy/answers::items::{qid}" in spread.stdout
    assert results(project / "plain.xml") == results(project / "spread.xml")


def results(path: Path) -> set[tuple[str, str, str]]:
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {(case.get("classname", ""), case.get("name", ""), case[0].tag if len(case) else "") for case in cases}


def test_workers_read_no_data_themselves(project):
    """The config is there when the session starts, and gone when the workers collect."""
    (project / "conftest.py").write_text(
        "import os\n"
        "def pytest_sessionstart(session):\n"
        "    if not hasattr(session.config, 'workerinput') and os.path.exists('shipworthy.toml'):\n"
        "        os.remove('shipworthy.toml')\n"
    )
    done = run_pytest(project, "--shipworthy", "-p", "xdist.plugin", "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "9 passed" in done.stdout


def test_without_the_flag_nothing_is_imported_and_nothing_runs(project):
    (project / "test_nothing.py").write_text(
        "import sys\n"
        "def test_nothing():\n"
        "    ours = sorted(name for name in sys.modules if name.startswith('shipworthy'))\n"
        "    assert ours == ['shipworthy', 'shipworthy._version', 'shipworthy.pytest_plugin'], ours\n"
        "    assert not {'msgspec', 'click', 'rich', 'jinja2', 'httpx2'} & set(sys.modules)\n"
    )
    done = run_pytest(project)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_a_wrong_config_ends_the_session_with_its_message(project):
    (project / "shipworthy.toml").write_text("[suites.anwsers]\n")
    done = run_pytest(project, "--shipworthy")
    assert done.returncode == 4
    assert "anwsers" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_config(tmp_path):
    done = run_pytest(tmp_path, "--shipworthy", "--rootdir", str(tmp_path))
    assert done.returncode == 4
    assert "shipworthy init" in done.stderr


def test_tests_can_be_chosen_by_name(project):
    done = run_pytest(project, "--shipworthy", "-k", "precision")
    assert "1 passed, 8 deselected" in done.stdout


def test_the_fixture(project):
    (project / "test_mine.py").write_text(
        "def test_mine(shipworthy):\n    assert shipworthy('eval/gold.jsonl', 'eval/trace.jsonl').ships\n"
    )
    assert run_pytest(project).returncode == 0
    break_answer(project)
    done = run_pytest(project)
    assert done.returncode == 1
    assert "<NO-SHIP answers: " in done.stdout


def test_hostile_names_and_claims_stay_text(project):
    gold, trace = (project / "eval" / name for name in ("gold.jsonl", "trace.jsonl"))
    name = "::error::x\x1b[31m\nq]]>"
    item = {"qid": name, "question": "?", "answerable": True, "gold_claim_substr": ["wanted"], "gold_citations": ["a"]}
    gold.write_text(json.dumps(item) + "\n")
    trace.write_text(
        json.dumps({"qid": name, "retrieved_ids": ["a"], "answer_json": {"claim": "::set-output::\x1b[2J"}}) + "\n"
    )
    done = run_pytest(project, "--shipworthy", "--junitxml", "out.xml", "--color", "no")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert not any(line.lstrip().startswith("::") for line in done.stdout.splitlines())
    assert ElementTree.parse(project / "out.xml")


def test_history_is_left_alone(project):
    run_pytest(project, "--shipworthy")
    assert not list((project / ".shipworthy").glob("*.db"))


@pytest.mark.parametrize(
    "order", ["##vso[task.complete result=Succeeded]", "::error::forged", "##[endgroup]", "a\u202eb"]
)
def test_no_qid_claim_or_waiver_gives_orders_to_a_ci_system(project, order):
    """The name of a test, its failure and the reason of a skip: `-v`, `-rA` and the summary print them all."""
    gold, traces = project / "eval" / "gold.jsonl", project / "eval" / "trace.jsonl"
    qid = break_answer(project)
    for path in (gold, traces):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        said = {"answer_json": {"claim": f"It is so.\n{order}", "citations": []}} if path == traces else {}
        rows = [row | ({"qid": order} | said if row["qid"] == qid else {}) for row in rows]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    waiver = f'gate = "precision"\nowner = "Ada"\nreason = {json.dumps(order)}\nexpires = 2099-01-01\n'
    with (project / "shipworthy.toml").open("a", encoding="utf-8") as config:
        config.write(f"\n[[waivers]]\n{waiver}")
    done = run_pytest(project, "--shipworthy", "-v", "-rA")
    assert done.returncode == 1, done.stdout
    printed = done.stdout + done.stderr
    assert "##vso[" not in printed and "##[" not in printed and "\u202e" not in printed
    assert not [line for line in printed.splitlines() if line.strip().startswith("::")]
