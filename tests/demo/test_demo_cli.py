"""`shipworthy demo`: healthy it ships, and each fault is stopped by the suite that should see it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import Ran
from shipworthy.demo import gold_path, pipeline
from shipworthy.demo.pipeline import striking

Cli = Callable[..., Ran]


def board(cli: Cli, folder: Path, suite: str, *arguments: str) -> tuple[Ran, dict]:
    ran = cli("demo", "--out", folder, "--suite", suite, *arguments)
    return ran, json.loads((folder / "report.json").read_text())["suites"][suite]


@pytest.mark.parametrize("suite", ["answers", "stability", "latency", "agreement", "retrieval", "reasoning"])
def test_the_healthy_pipeline_ships(suite: str, cli: Cli, tmp_path: Path) -> None:
    ran, report = board(cli, tmp_path, suite)
    assert ran.code == 0, ran.out
    assert report["decision"] == "SHIP"
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")


FAULTS = [
    ("drop_evidence", "answers", "over_refusal"),
    ("wrong_citation", "answers", "chr"),
    ("leak_refusal", "answers", "under_refusal"),
    ("unlock_constraint", "answers", "scu_violations"),
    ("jitter_flip", "stability", "fail_rate"),
    ("slow_tail", "latency", "p95"),
    ("degraded_index", "retrieval", "recall@5"),
]


@pytest.mark.parametrize(("fault", "suite", "metric"), FAULTS)
def test_each_fault_makes_the_right_gate_fail(fault: str, suite: str, metric: str, cli: Cli, tmp_path: Path) -> None:
    ran, report = board(cli, tmp_path, suite, "--fault", fault)
    assert ran.code == 1
    failed = {
        outcome["metric"] for outcome in report["outcomes"] if not outcome["holds"] and outcome["severity"] == "block"
    }
    assert metric in failed


def test_a_jitter_that_flips_answers_is_named(cli: Cli, tmp_path: Path) -> None:
    _, report = board(cli, tmp_path, "stability", "--fault", "jitter_flip")
    assert any("punct" in hint for hint in report["diagnosis"])


def test_a_slow_tail_is_the_tail_alone(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(pipeline, "time", SimpleNamespace(perf_counter=time.perf_counter, sleep=slept.append))
    board(cli, tmp_path, "latency", "--fault", "slow_tail")
    questions = [json.loads(line)["question"] for line in gold_path().read_text("utf-8").splitlines()]
    slow = [question for question in questions if striking(frozenset({"slow_tail"}), question)]
    assert 0.05 < len(slow) / len(questions) < 0.15
    assert len(slow) <= len(slept) <= len(slow) + 5, "each slow question waits once, and once more in the warm-up"


def test_a_degraded_index_fails_on_tables_alone(cli: Cli, tmp_path: Path) -> None:
    _, report = board(cli, tmp_path, "retrieval", "--fault", "degraded_index")
    assert report["slices"]["type=table"]["recall@5"]["value"] < 0.8
    assert all(report["slices"][f"type={kind}"]["recall@5"]["value"] == 1 for kind in ("prose", "code", "figure"))


def test_an_unknown_fault_is_told(cli: Cli, tmp_path: Path) -> None:
    ran = cli("demo", "--out", tmp_path, "--suite", "answers", "--fault", "gremlins")
    assert ran.code == 2
    assert "gremlins" in ran.err
