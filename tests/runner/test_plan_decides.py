"""The plan decides what a run was: no answer changes that, none is lost without being counted, and a file says how
many runs it was to hold."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import Cli, write_lines
from conftest import gold as gold_item
from faultserver import GOOD, FaultServer
from shipworthy import run
from shipworthy.errors import ShipworthyError, UsageError
from shipworthy.reading.plans import HEADER_KEY
from shipworthy.runner import run_load
from shipworthy.runner.mirror import mirror
from shipworthy.runner.targets import parse_target

# What an answer may claim about its run, and must not be believed.
LIES = {
    "qid": "other",
    "q_id": "other",
    "run_id": "other#seed=0;j=none",
    "seed": 99,
    "jitter": "other",
    "paraphrase": 7,
    "arm": "other",
    "knobs": {"other": 1},
    "sweep_id": "other",
    "planned_runs": 1,
    "load_rps": 0.001,
    "ts": 1.5,
    "e2e_ms": 0.001,
    "total_ms": 0.001,
    "attempts": 99,
    "scheduled_ms": 0.001,
    "started_ms": 0.001,
    "late_ms": -1e9,
    "service_ms": 0.001,
    "warmup": True,
    "score_sources": {"tone": "HUMAN"},
    "q": "other",
    "query": "other",
    "question": "other",
    "reported_e2e_ms": -1,
    HEADER_KEY: 1,
}


class Lying:
    """A target in the test itself, which says what it wants of its run."""

    name, replays = "lying", False

    def __init__(self, **more: Any) -> None:
        self.more = more

    async def ask(self, ask: Any) -> dict[str, Any]:
        return {**GOOD, **self.more}

    async def close(self) -> None:
        pass


def gold(count: int) -> list[Any]:
    return [SimpleNamespace(qid=f"q{n}", question=f"What is {n}?", paraphrases=("Say it.",)) for n in range(count)]


def header(path: Path) -> dict[str, Any]:
    return json.loads(path.with_name(f"{path.name}.journal").read_text("utf-8"))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def planned_in(path: Path) -> set[int]:
    """What the records say was planned."""
    return {line["planned_runs"] for line in lines(path)}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_does_not_change_what_the_run_was(tmp_path: Path, lie: str) -> None:
    out = tmp_path / "t.jsonl"
    plan = {"seeds": (0, 3), "jitters": ("none", "ws"), "paraphrases": True, "arms": {"fast": {"k": 1}}}
    runs = {}
    for name, target in (("honest", Lying()), ("lying", Lying(**{lie: LIES[lie]}))):
        run(gold(2), target, out, overwrite=True, **plan)
        runs[name] = {record["run_id"]: record for record in lines(out)}
    assert runs["lying"].keys() == runs["honest"].keys()
    unlike = ("ts", "e2e_ms", "total_ms", "sweep_id")  # differ between any two runs
    for run_id, record in runs["lying"].items():
        assert lie in unlike or record.get(lie) == runs["honest"][run_id].get(lie)
        assert record.get(lie) != LIES[lie]
    if lie == "e2e_ms":
        assert {record["reported_e2e_ms"] for record in runs["lying"].values()} == {0.001}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_under_load_does_not_change_what_the_run_was(tmp_path: Path, lie: str) -> None:
    out = tmp_path / "t.jsonl"
    run_load(gold(3), Lying(**{lie: LIES[lie]}), out, loads=(200,), warmup=1)
    records = lines(out)
    assert {record["qid"] for record in records} == {"q0", "q1", "q2"}
    assert {record["load_rps"] for record in records} == {200}
    assert all(record.get(lie) != LIES[lie] for record in records)


def test_slow_answers_cannot_be_hidden_as_warm_up(tmp_path: Path, cli: Cli) -> None:
    """The whole way, by the command line: a pipeline that marks all its runs is still judged on all of them."""
    (tmp_path / "pipeline.py").write_text(
        "def answer(q): return {'answer_json': {'claim': 'The right answer.', 'citations': ['d1']},"
        " 'retrieved_ids': ['d1'], 'warmup': True, 'e2e_ms': 0.1}\n"
    )
    questions, out = write_lines(tmp_path / "gold.jsonl", [gold_item(f"q{n}") for n in range(4)]), tmp_path / "t.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        ran = cli("run", "--gold", questions, "--target", "py:pipeline:answer", "--out", out)
    assert ran.code == 0
    assert not any("warmup" in record for record in lines(out))
    assert all(record["e2e_ms"] != 0.1 for record in lines(out))


def test_a_replayed_run_took_as_long_as_its_file_says(tmp_path: Path) -> None:
    """Never as long as reading it did: that is next to nothing."""
    rows = [
        {"qid": "q0", **GOOD, "e2e_ms": 1234.5},
        {"qid": "q1", **GOOD, "latency_ms": 2345.5},
        {"qid": "q2", **GOOD, HEADER_KEY: 1},
    ]
    source, out = write_lines(tmp_path / "old.jsonl", rows), tmp_path / "new.jsonl"
    run(gold(3), f"replay:{source}", out)
    by_qid = {record["qid"]: record for record in lines(out)}
    assert by_qid["q0"]["e2e_ms"] == 1234.5 and "e2e_ms" not in by_qid["q1"] and by_qid["q1"]["latency_ms"] == 2345.5
    assert "error" not in by_qid["q2"], "only the first line can be a header"


# What can't be written


HUGE = {"padding": "x" * 11_000_000}


def test_an_oversized_trace_is_a_failed_run_and_counted(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    summary = run(gold(3), Lying(**HUGE), out)
    assert (summary.finished, summary.failed, summary.errors) == (3, 3, {"too-large": 3})
    assert summary.first_error.startswith("q0: too-large: the trace is a line of 11,000,")
    assert all(record["error"].startswith("too-large: ") and "padding" not in record for record in lines(out))


def test_an_oversized_trace_under_load_is_a_failed_run_and_counted(tmp_path: Path) -> None:
    summary = run_load(gold(2), Lying(**HUGE), tmp_path / "t.jsonl", loads=(200,), warmup=0)
    (step,) = summary.steps
    assert (step.sent, step.failed) == (2, 2)
    assert (tmp_path / "latency.csv").read_text("utf-8").count("too-large") == 2


def deep(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(("odd", "kind"), [(deep(100_000), "too-deep"), (object(), "wrong-shape")])
def test_a_trace_that_can_not_be_written_is_a_failed_run(tmp_path: Path, odd: Any, kind: str) -> None:
    summary = run(gold(2), Lying(odd=odd), tmp_path / "t.jsonl")
    assert summary.complete and summary.errors == {kind: 2}


# How many runs were planned


def test_every_journal_says_how_many_runs_it_was_to_hold(tmp_path: Path) -> None:
    run(gold(3), Lying(), tmp_path / "run.jsonl", seeds=(0, 1), paraphrases=True)
    run_load(gold(4), Lying(), tmp_path / "load.jsonl", loads=(200, 400), arms={"a": {}, "b": {}}, warmup=3)
    run_load(gold(4), Lying(), tmp_path / "cut.jsonl", loads=(100, 400), max_requests=3, warmup=0)
    for name, planned in (("run", 12), ("load", 16), ("cut", 6)):
        path = tmp_path / f"{name}.jsonl"
        assert header(path)["planned"] == planned == len(lines(path)), name
        assert planned_in(path) == {planned}
    assert list(header(tmp_path / "run.jsonl")) == [
        "shipworthy_journal",
        "config_digest",
        "gold_digest",
        "sweep_id",
        "created",
        "planned",
        "target",
    ]


def test_a_mirror_says_it_on_both_sides(tmp_path: Path) -> None:
    with FaultServer() as server:
        outs = tmp_path / "live.jsonl", tmp_path / "shadow.jsonl"
        mirror(gold(2), server.url("/qa"), server.url("/qa"), *outs, seeds=(0, 1))
    for out in outs:
        assert planned_in(out) == {8} and len(lines(out)) == 8


def test_a_load_that_was_killed_shows_what_is_missing(tmp_path: Path) -> None:
    class Gone(Lying):
        asked = 0

        async def ask(self, ask: Any) -> dict[str, Any]:
            self.asked += 1
            if self.asked > 4:
                raise UsageError("as if the power went", code="target")
            return await super().ask(ask)

    with pytest.raises(ShipworthyError):
        run_load(gold(4), Gone(), tmp_path / "t.jsonl", loads=(200, 400), warmup=0)
    assert planned_in(tmp_path / "t.jsonl") == {8}
    assert len(lines(tmp_path / "t.jsonl")) == 4


def test_a_resume_completes_what_the_header_says(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    run(gold(5), Lying(), out, max_requests=2, concurrency=1)
    assert planned_in(out) == {5} and len(lines(out)) == 2
    before = out.read_bytes()
    summary = run(gold(5), Lying(), out, resume=True)
    assert summary.complete and len(lines(out)) == 5
    assert out.read_bytes().startswith(before)


def test_a_journal_of_another_number_of_runs_is_not_resumed(tmp_path: Path) -> None:
    """A load run has the gold, arms and target of a plain one, but not its runs."""
    out = tmp_path / "t.jsonl"
    run_load(gold(3), Lying(), out, loads=(200, 400), warmup=0)
    with pytest.raises(UsageError, match=r"the number of runs changed since.*\[journal-mismatch\]"):
        run(gold(3), Lying(), out, resume=True)


def test_a_journal_from_before_is_resumed(tmp_path: Path) -> None:
    """Its header is line 1, and says plan_size."""
    out = tmp_path / "t.jsonl"
    run(gold(3), Lying(), out, max_requests=1)
    head = {**header(out), "shipworthy_journal": 1, "plan_size": 3}
    del head["planned"]
    out.with_name("t.jsonl.journal").unlink()
    old = out.read_text("utf-8").replace(',"planned_runs":3', "")
    out.write_text(json.dumps(head) + "\n" + old, "utf-8")
    assert run(gold(3), Lying(), out, resume=True).complete
    out.write_text(out.read_text("utf-8").replace('"plan_size": 3', '"plan_size": "x"'), "utf-8")
    with pytest.raises(UsageError, match="journal-foreign"):
        run(gold(3), Lying(), out, resume=True)


# Text that is half a character


SURROGATES = [
    SimpleNamespace(qid="q\ud800", question="What is \udfff?", paraphrases=()),
    SimpleNamespace(qid="q1", question="What?", paraphrases=("\ud83d",)),
]


@pytest.mark.parametrize("target", ["object", "py", "cmd", "http", "demo"])
def test_half_a_surrogate_pair_is_no_traceback(tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_a_pair.py").write_text(
        "def answer(question): return {'answer_json': {'claim': question + '\\udc00'}, 'retrieved_ids': ['\\ud800']}\n"
    )
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "t.jsonl"
    with FaultServer() as server:
        targets: dict[str, Any] = {
            "object": Lying(note="\ud800", **{"k\udc00": 1}),
            "py": "py:half_a_pair:answer",
            "cmd": "cmd:echo {question}",
            "http": server.url("/qa"),
            "demo": "demo",
        }
        summary = run(SURROGATES, targets[target], out, seeds=(0,), paraphrases=True, jitters=("none", "ws"))
        again = run(SURROGATES, targets[target], out, seeds=(0,), paraphrases=True, jitters=("none", "ws"), resume=True)
    assert summary.complete and again.resumed == summary.planned == 6
    out.read_text("utf-8")
    if target in ("object", "py"):
        assert summary.failed == 0


def test_half_a_surrogate_pair_in_an_error_can_be_resumed(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    run(gold(3), Lying(error="half \ud800"), out, max_requests=2)
    assert run(gold(3), Lying(), out, resume=True).complete


def test_half_a_surrogate_pair_by_the_command_line(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_a_pair.py").write_text("def answer(question): raise ValueError('\\ud800 ' + question)\n")
    monkeypatch.chdir(tmp_path)
    questions = write_lines(tmp_path / "gold.jsonl", [gold_item("q\ud800"), gold_item("q1")])
    ran = cli("run", "--gold", questions, "--target", "py:half_a_pair:answer", "--out", tmp_path / "t.jsonl")
    assert ran.code == 4 and "[run-all-failed]" in ran.err and r"ValueError: \ud800" in ran.err
    planned = cli("run", "--gold", questions, "--target", "demo", "--dry-run")
    assert planned.code == 0 and planned.out.count("\n") == 2
    load = cli("latency", "run", "--gold", questions, "--target", "py:half_a_pair:answer", "--rps", "50")
    assert load.code == 4 and "[run-all-failed]" in load.err


# Passwords


PASSWORDS = ["p4ss-canary", "p4ss@canary", "p4ss canary", "p4ss@ canary@x", "p4ss:canary"]


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize(
    "spec",
    [
        "http://me:{}@127.0.0.1:9/qa",
        "htp://me:{}@127.0.0.1:9/qa",
        "me:{}@127.0.0.1:9/qa",
        "chat:http://me:{}@127.0.0.1:9/v1",
        "http:me:{}@127.0.0.1",
        "postgresql://me:{}@host/db",
    ],
)
def test_a_password_in_an_address_is_not_printed(tmp_path: Path, cli: Cli, spec: str, password: str) -> None:
    questions = write_lines(tmp_path / "gold.jsonl", [gold_item("q1")])
    evidence = write_lines(tmp_path / "evidence.jsonl", [{"qid": "q1", "evidence": [{"id": "d", "text": "t"}]}])
    arguments = ["--target", spec.format(password), "--out", tmp_path / "t.jsonl"]
    ran = cli("run", "--gold", questions, *arguments, "--model", "m", "--evidence", evidence)
    assert ran.code == 2
    for part in ("p4ss", "canary"):
        assert part not in ran.out + ran.err
    reasoned = cli("reason", "run", "--url", spec.format(password))
    assert reasoned.code == 2 and "canary" not in reasoned.out + reasoned.err


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_that_a_target_tells_is_not_kept(tmp_path: Path, password: str) -> None:
    out = tmp_path / "t.jsonl"
    error = f"can't connect to postgresql://me:{password}@host:5432/db or http://other/x"
    summary = run(gold(1), Lying(error=error), out)
    (record,) = lines(out)
    assert record["error"] == "can't connect to postgresql://[redacted]@host:5432/db or http://other/x"
    assert "canary" not in summary.first_error
    name = parse_target(f"cmd:echo 'http://me:{password}@host/x'").name
    assert name == "cmd:echo 'http://[redacted]@host/x'"


# The environment


def test_no_proxy_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with FaultServer() as server:
        summary = run(gold(2), server.url("/qa"), tmp_path / "t.jsonl", retries=0)
    assert summary.failed == 0


def test_options_may_bound_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight at a time, two processes: the others wait for one."""
    (tmp_path / "who.py").write_text("import os\ndef answer(question): return str(os.getpid())\n")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "t.jsonl"
    summary = run(gold(30), "py:who:answer", out, concurrency=8, connections=2)
    assert summary.complete and summary.failed == 0
    assert len({record["answer_json"]["claim"] for record in lines(out)}) <= 2
