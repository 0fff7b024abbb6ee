"""`check --run --repeat N`: the verdict of the first run, and how often the same pipeline would decide otherwise."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, write_lines
from shipworthy.jobs.evaluate import evaluate
from shipworthy.jobs.power import flips
from waiting import wait_until
from webserver import serving

CONFIG = """
[target]
url = "py:pipeline:answer"
[suites.answers]
gold = "gold.jsonl"
trace = "runs/trace.jsonl"
gates = ["precision >= {bound}"]
only_gates = true
"""
# Of each question it counts how often it was sent: two of them are answered wrongly the second time, or the third.
PIPELINE = """
def answer(q):
    with open("sent", "a") as log: log.write(q + "\\n")
    times = open("sent").read().count(q)
    wrong = times == {"Question 1?": 2, "Question 2?": 3}.get(q)
    claim = "Something else." if wrong else "The right answer."
    return {"answer_json": {"claim": claim, "citations": ["d1"]}, "retrieved_ids": ["d1"]}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_lines(tmp_path / "gold.jsonl", [gold(f"q{n}", question=f"Question {n}?") for n in range(6)])
    (tmp_path / "shipworthy.toml").write_text(CONFIG.format(bound="0.9"))
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_runs_say_how_often_the_decision_flips_and_what_to_gate_on(project: Path, cli: Cli) -> None:
    ran = cli("check", "--run", "--repeat", "2", "--json")
    assert ran.code == 0 and len((project / "sent").read_text().splitlines()) == 12, ran.err
    notes = " | ".join(ran.json["notes"])
    assert "sent 2 times (SHIP, NO-SHIP)" in notes and "would ship in 50.0% of cases" in notes
    assert "decide differently in 50.0%" in notes and "unsteady questions: q1 (1 of 6)" in notes
    assert "0.833 to 1.000 by chance alone, so a threshold up to 0.833 does not flip" in notes
    assert "to prove precision >= 0.9: 29 items" in notes
    rows = [json.loads(line) for line in (project / "runs" / "trace.jsonl.repeat2").read_text().splitlines()]
    assert len(rows) == 6 and {row["planned_runs"] for row in rows} == {6}
    assert cli("check", "--json").json["decision"] == "SHIP"  # of the first run, as it was


def test_three_runs_count_as_three(project: Path, cli: Cli) -> None:
    notes = " | ".join(cli("check", "--run", "--repeat", "3", "--json").json["notes"])
    assert "sent 3 times (SHIP, NO-SHIP, NO-SHIP)" in notes and "unsteady questions: q1, q2 (2 of 6)" in notes
    assert "would ship in 44.4% of cases" in notes  # both right: 2/3 of 2/3
    assert "0.666 to 1.000 by chance alone" not in notes and "a threshold up to 0.666 does not flip" in notes


def test_a_steady_pipeline_is_said_to_be_steady(project: Path, cli: Cli) -> None:
    (project / "shipworthy.toml").write_text(CONFIG.format(bound="0.6"))
    (project / "pipeline.py").write_text(PIPELINE.replace("times ==", "0 =="))
    notes = " | ".join(cli("check", "--run", "--repeat", "2", "--json").json["notes"])
    assert "would ship in 100.0% of cases; two runs would decide differently in 0.0%" in notes
    assert "no question is unsteady (0 of 6)" in notes and "by chance alone" not in notes


def test_a_repeat_needs_runs_of_everything(project: Path, cli: Cli) -> None:
    for flags in (("--repeat", "2"), ("--run", "--repeat", "2", "--filter-failing", "report.json")):
        ran = cli("check", *flags)
        assert ran.code == 2 and "[check-repeat]" in ran.err
    assert cli("init", "--repeat", "2").code == 2


def test_a_threshold_that_is_said_not_to_flip_holds_in_every_mixture() -> None:
    items = [gold(f"q{n}") for n in range(3)]

    def report(wrong: int) -> dict[str, Any]:
        traces = [
            {
                "qid": f"q{n}",
                "answer_json": {"claim": "no" if n < wrong else "The right answer.", "citations": ["d1"]},
                "retrieved_ids": ["d1"],
            }
            for n in range(3)
        ]
        return evaluate(items, traces, gates="precision=0.5", only_gates=True).report()

    (gate,) = flips(report(0), report(1), report(1)).gates
    assert (gate.low, gate.high) == (Fraction(2, 3), Fraction(1))
    assert "up to 0.666" in gate.thresholds() and gate.holds == 1


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = "The right answer." if "Question" in str(body) else "not in context"
        reply = json.dumps({"answer": known, "sources": [{"id": "d1"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Handler) as address:
        yield address


def test_init_gives_the_first_verdict_with_its_noise(tmp_path: Path, cli: Cli, url: str) -> None:
    waits = cli("init", tmp_path / "empty", "--url", f"{url}/ask", "--repeat", "2")
    assert waits.code == 0 and "shipworthy check --run --repeat 2" in waits.out, waits.err
    folder = tmp_path / "full"
    folder.mkdir()
    write_lines(folder / "gold.jsonl", [gold(f"q{n}", question=f"Question {n}?") for n in range(3)])
    (folder / "gold.jsonl").rename(folder / "mine.jsonl")
    named = cli("init", folder, "--url", f"{url}/ask", "--repeat", "2", "--gold", "mine.jsonl")
    assert "sent 2 times" in named.out, named.err
    (folder / "mine.jsonl").rename(folder / "gold.jsonl")
    ran = cli("init", folder, "--url", f"{url}/ask", "--repeat", "2", "--force")
    assert ran.code in (0, 1) and "sent 2 times" in ran.out and "no question is unsteady" in ran.out, ran.err


def test_an_interrupted_series_goes_on_where_it_was(project: Path, cli: Cli) -> None:
    steady = PIPELINE.replace("times ==", "0 ==")
    wait = 'import time; time.sleep(60 * (len(open("sent").readlines()) > 8))\n    with'
    (project / "pipeline.py").write_text(steady.replace("with", wait, 1))
    (project / "sent").touch()
    command = [sys.executable, "-m", "shipworthy", "check", "--run", "--repeat", "2"]
    started = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len((project / "sent").read_text().splitlines()) > 8)
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
    assert not (project / "runs" / "trace.jsonl").exists()  # a series counts as a whole
    (project / "pipeline.py").write_text(steady)
    ran = cli("check", "--run", "--repeat", "2", "--resume", "--json")
    assert ran.code == 0, ran.err
    assert "0 responses saved" in ran.err and "6 resumed" in ran.err  # the first run was whole
    assert len((project / "sent").read_text().splitlines()) < 12 + 6  # what was sent is not sent again
    assert "sent 2 times (SHIP, SHIP)" in " | ".join(ran.json["notes"])
    assert not list((project / "runs").glob("*.rerun"))


def test_a_resume_needs_a_run(project: Path, cli: Cli) -> None:
    assert cli("check", "--resume").code == 2
