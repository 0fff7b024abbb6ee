"""A question that a rewording leaves as it is goes out once, and its other runs take the response."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import Ran, gold, write_lines
from faultserver import GOOD, FaultServer
from shipworthy import evaluate
from shipworthy.runner import Ask, run
from shipworthy.runner.targets import AskFailed

Cli = Callable[..., Ran]
UNTOUCHED = "What is unit 1?"  # neither ws nor syn changes it; punct does
GRID: dict[str, Any] = {"seeds": (0, 1), "jitters": ("none", "ws", "punct", "syn")}


def item(question: str = UNTOUCHED, qid: str = "A", paraphrases: tuple[str, ...] = ()) -> Any:
    return SimpleNamespace(qid=qid, question=question, paraphrases=paraphrases)


def records(path: Path) -> dict[str, dict[str, Any]]:
    return {row["run_id"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}


class Counting:
    """A target in the test itself: each response says which request it was."""

    name, replays, by_wording = "test", False, True

    def __init__(self, *failing: int) -> None:
        self.asked: list[str] = []
        self.failing = failing

    async def ask(self, ask: Ask) -> dict[str, Any]:
        self.asked.append(ask.run_id)
        if len(self.asked) in self.failing:
            raise AskFailed("http-400", "HTTP 400")
        return GOOD | {"number": len(self.asked), "cost_usd": 0.5, "reused_from": "a forged mark"}

    async def close(self) -> None:
        pass


def test_an_unchanged_question_is_sent_once_for_each_seed(tmp_path: Path) -> None:
    out, announced = tmp_path / "runs.jsonl", list[str]()
    with FaultServer() as server:
        summary = run([item()], server.url("/qa"), out, announce=announced.append, **GRID)
        sent = [(body["q"], body["seed"]) for _, _, body in server.seen]
    assert sorted(sent) == [(text, seed) for text in ("What is unit 1 ?", UNTOUCHED) for seed in (0, 1)]
    assert (summary.planned, summary.finished, summary.requests, summary.reused) == (8, 8, 4, 4) and summary.complete
    assert announced == [f"Sending 4 requests (8 runs, 4 reused) to {server.url('/qa')}"]
    found = records(out)
    assert len(found) == 8 and {row["planned_runs"] for row in found.values()} == {8}
    first, other = found["A#seed=1;j=none"], found["A#seed=1;j=syn"]
    assert (other["reused_from"], other["jitter"], other["seed"]) == ("A#seed=1;j=none", "syn", 1)
    assert other["answer_json"] == first["answer_json"] and other["e2e_ms"] == first["e2e_ms"]
    assert other["sweep_id"] == first["sweep_id"] and other["attempts"] == 0
    assert {name for name, row in found.items() if "reused_from" in row} == {
        f"A#seed={seed};j={jitter}" for seed in (0, 1) for jitter in ("ws", "syn")
    }


def test_seeds_temperatures_and_arms_are_never_merged(tmp_path: Path) -> None:
    target = Counting()
    grid = {"seeds": (0, 1), "temperatures": (0, 0.5), "arms": {"a": {"k": 1}, "b": {"k": 1}}}
    summary = run([item()], target, tmp_path / "o.jsonl", jitters=("none", "ws"), **grid)  # type: ignore[arg-type]
    assert (len(target.asked), summary.reused) == (8, 8)
    for run_id, row in records(tmp_path / "o.jsonl").items():
        assert row.get("reused_from", run_id) == run_id.replace("j=ws", "j=none")


def test_two_questions_of_the_same_words_and_a_paraphrase(tmp_path: Path) -> None:
    target = Counting()
    run([item(paraphrases=(UNTOUCHED, "Unit 1?")), item(qid="B")], target, tmp_path / "o.jsonl", paraphrases=True)
    assert target.asked == ["A#seed=0;j=none", "A#seed=0;j=none;p=2", "B#seed=0;j=none"]
    assert records(tmp_path / "o.jsonl")["A#seed=0;j=none;p=1"]["paraphrase"] == 1


def test_a_response_is_paid_for_once_and_cannot_mark_itself_as_reused(tmp_path: Path) -> None:
    summary = run([item()], Counting(), tmp_path / "o.jsonl", **GRID)
    found = records(tmp_path / "o.jsonl")
    assert summary.cost_usd == "2.0" and sum(row.get("cost_usd", 0) for row in found.values()) == 2
    assert "reused_from" not in found["A#seed=0;j=none"]


def test_a_failure_is_no_response_to_reuse(tmp_path: Path) -> None:
    target = Counting(1)
    summary = run([item()], target, tmp_path / "o.jsonl", jitters=("none", "ws", "syn"))
    found = records(tmp_path / "o.jsonl")
    assert target.asked == ["A#seed=0;j=none", "A#seed=0;j=ws"] and (summary.failed, summary.reused) == (1, 1)
    assert "error" in found["A#seed=0;j=none"] and found["A#seed=0;j=syn"]["reused_from"] == "A#seed=0;j=ws"


def test_no_dedupe_sends_everything_and_a_resume_may_dedupe_the_rest(tmp_path: Path) -> None:
    target, out, announced = Counting(), tmp_path / "o.jsonl", list[str]()
    summary = run([item()], target, out, dedupe=False, announce=announced.append, concurrency=1, **GRID)
    assert (summary.requests, summary.reused, len(set(target.asked))) == (8, 0, 8)
    assert announced == ["Sending 8 requests to test"]
    kept = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(kept[:2]))  # none and ws of seed 0 are finished; syn, which asks the same, is not
    announced.clear()
    summary = run([item()], target, out, resume=True, announce=announced.append, **GRID)
    assert (summary.resumed, summary.finished, summary.requests, summary.reused) == (2, 6, 4, 2) and summary.complete
    assert announced == ["Sending 4 requests (6 runs, 2 reused) to test"]


@pytest.mark.parametrize("after", range(1, 8))
def test_a_journal_cut_anywhere_is_completed_by_a_resume(tmp_path: Path, after: int) -> None:
    out = tmp_path / "o.jsonl"
    whole = run([item()], Counting(), out, **GRID)
    out.write_bytes(b"".join(out.read_bytes().splitlines(keepends=True)[:after]) + b'{"qid":"A","run_')
    again = run([item()], Counting(), out, resume=True, **GRID)
    assert again.complete and again.resumed == after and len(records(out)) == whole.planned
    for row in records(out).values():
        assert row.get("reused_from", row["run_id"]) in records(out)


def test_a_budget_counts_requests_and_the_rest_is_asked_by_a_resume(tmp_path: Path) -> None:
    out, announced = tmp_path / "o.jsonl", list[str]()
    limits = {"max_requests": 3, "concurrency": 1}
    first = run([item()], Counting(), out, warmup=1, announce=announced.append, **limits, **GRID)
    assert announced == ["Sending 3 of 5 requests (8 runs, 4 reused, 1 to warm up) to test"]
    assert not first.complete and (first.finished, first.reused) == (4, 2)
    assert run([item()], Counting(), out, resume=True, **GRID).complete


def test_what_reads_the_name_of_the_rewording_is_told_each_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function with a parameter for it, a command with a placeholder, a replay: there the requests do differ."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dedupe_app.py").write_text(
        "def named(question, jitter):\n    return jitter\n\ndef plain(question, seed):\n    return 'x'\n"
    )
    (tmp_path / "say.py").write_text("import json, sys\nprint(json.dumps({'answer_json': {'claim': sys.argv[1]}}))\n")
    program = f"cmd:{sys.executable} say.py"
    for number, (target, reused) in enumerate(
        {
            "py:dedupe_app:named": 0,
            "py:dedupe_app:plain": 1,
            f"{program} {{jitter}} {{question}}": 0,
            f"{program} {{question}}": 1,
            "replay:1.jsonl": 0,
        }.items()
    ):
        out = tmp_path / f"{number}.jsonl"
        assert run([item()], target, out, jitters=("none", "ws")).reused == reused, target
    assert records(tmp_path / "0.jsonl")["A#seed=0;j=ws"]["answer_json"]["claim"] == "ws"
    assert records(tmp_path / "4.jsonl")["A#seed=0;j=ws"]["reused_from"] == "A#seed=0;j=none"


def test_reused_runs_have_no_latency(tmp_path: Path) -> None:
    out, questions = tmp_path / "o.jsonl", write_lines(tmp_path / "gold.jsonl", [gold("A", question=UNTOUCHED)])
    run(str(questions), Counting(), out, **GRID)
    report = evaluate("latency", gold=str(questions), trace=str(out), gates=["p95<=100000"]).report()
    assert (report["counts"]["runs"], report["counts"]["reused"]) == (4, 4)


def test_the_commands_say_what_they_send_before(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "gold.jsonl", [gold("A", question=UNTOUCHED), gold("B", question=UNTOUCHED)])
    with FaultServer() as server:
        asked = ("--gold", "gold.jsonl", "--seeds", "0", "--jitters", "none,ws")
        ran = cli("stability", "run", *asked, "--http", server.url("/qa"), "--stability", "s.jsonl")
        assert ran.err.startswith(f"Sending 2 requests (4 runs, 2 reused) to {server.url('/qa')}\n")
        ran = cli("run", *asked, "--target", server.url("/qa"), "--out", "r.jsonl", "--no-dedupe")
        assert ran.err.startswith(f"Sending 4 requests to {server.url('/qa')}\n") and len(server.seen) == 6
        (tmp_path / "shipworthy.toml").write_text(
            '[suites.stability]\ngold = "gold.jsonl"\nruns = "c.jsonl"\ntarget = "app"\nseeds = [0]\n'
            f'jitters = ["none", "ws"]\n[targets.app]\nurl = "{server.url("/qa")}"\n'
        )
        ran = cli("check", "--run", "--no-record")
        assert "Sending 2 requests (4 runs, 2 reused) to" in ran.err and len(server.seen) == 8, ran.err
        cli("check", "--run", "--no-record", "--no-dedupe")
        assert len(server.seen) == 12
