"""Execution against real servers: retries, deadlines, budgets, pace, breaker, Ctrl-C."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyte
import pytest
from click.testing import CliRunner

from conftest import Ran, trace
from conftest import gold as gold_item
from faultserver import GOOD, FaultServer
from shipworthy import evaluate
from shipworthy.cli.run import command
from shipworthy.core.sources import Input, stream_traces
from shipworthy.errors import EnvironmentFailure, UsageError
from shipworthy.runner import RunSummary, TargetOptions, run
from shipworthy.runner.execute import Pacer, wait_before
from shipworthy.runner.progress import ProgressBar, ProgressLines, clock
from shipworthy.runner.redact import Secrets
from shipworthy.runner.targets import AskFailed
from virtualtime import now, virtual_time
from waiting import FOREVER, wait_until

CANARY = "s3cr3t-canary-value"


def gold(count: int) -> list[Any]:
    return [
        SimpleNamespace(qid=f"q{number}", question=f"What is unit {number}?", paraphrases=()) for number in range(count)
    ]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def limits(**given: Any) -> dict[str, Any]:
    return {"backoff": 0.01, "timeout": FOREVER} | given


class Answering:
    """A target in the test itself: counts what it is asked, and keeps when."""

    name, replays = "test", False

    def __init__(self, delay: float = 0.0) -> None:
        self.asked: list[str] = []
        self.times: list[float] = []
        self.open = self.most = 0
        self.delay, self.closed = delay, False

    async def ask(self, ask: Any) -> dict[str, Any]:
        self.asked.append(ask.run_id)
        self.times.append(now())
        self.open += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(self.delay)
        self.open -= 1
        return dict(GOOD)

    async def close(self) -> None:
        self.closed = True


def test_a_run_writes_traces_that_the_reader_accepts(tmp_path: Path) -> None:
    with FaultServer() as server:
        summary = run(
            gold(20), server.url("/qa"), tmp_path / "runs" / "t.jsonl", seeds=(0, 1), jitters=("none", "punct")
        )
    assert summary.complete and summary.finished == summary.planned == 80
    assert (summary.failed, summary.requests, summary.distinct_prompts) == (0, 80, 40)
    traces = [trace for _, trace in stream_traces(tmp_path / "runs" / "t.jsonl", Input())]
    assert len({trace.run_id for trace in traces}) == 80
    one = next(trace for trace in traces if trace.run_id == "q7#seed=1;j=punct")
    assert (one.qid, one.seed, one.jitter, one.q) == ("q7", 1, "punct", "What is unit 7 ?")
    assert one.answer.claim == "Alpha holds 42 units." and one.retrieved == ["d1#2", "d3#1"]
    assert one.sweep_id == summary.sweep_id and one.e2e_ms is not None


def test_retries_on_429_and_5xx_are_counted(tmp_path: Path) -> None:
    with FaultServer() as server:
        for path, attempts in (("/429", 3), ("/500-once", 2)):
            out = tmp_path / f"{attempts}.jsonl"
            run(gold(1), server.url(path), out, **limits(concurrency=1))
            (record,) = lines(out)
            assert record["attempts"] == attempts and "error" not in record
            assert record["total_ms"] >= record["e2e_ms"]


class Busy(Answering):
    """Asks for a pause after some of its requests."""

    def __init__(self, pauses: dict[int, float], delay: float = 0.0) -> None:
        super().__init__(delay)
        self.pauses = pauses

    async def ask(self, ask: Any) -> dict[str, Any]:
        number = len(self.asked)
        answer = await super().ask(ask)
        if number in self.pauses:
            raise AskFailed("http-429", "HTTP 429", retry=True, retry_after=self.pauses[number])
        return answer


def test_retry_after_holds_every_worker_back(tmp_path: Path) -> None:
    target = Busy({0: 8.0}, delay=0.5)
    with virtual_time():
        run(gold(6), target, tmp_path / "t.jsonl", **limits(concurrency=2))
    assert target.times == [0, 0, 8.5, 8.5, 9, 9, 9.5], "one pause for all, not one each"


def test_a_pause_is_no_longer_than_the_longest_wait(tmp_path: Path) -> None:
    target = Busy({0: 99999.0})
    with virtual_time():
        run(gold(2), target, tmp_path / "t.jsonl", **limits(concurrency=1, longest_wait=30))
    assert target.times == [0, 30, 30]


def test_a_429_storm_is_bounded(tmp_path: Path) -> None:
    with FaultServer() as server:
        run(gold(8), server.url("/429-always"), tmp_path / "t.jsonl", **limits(retries=1, longest_wait=0.01))
        assert server.hits["/429-always"] == 16
    records = lines(tmp_path / "t.jsonl")
    assert len(records) == 8
    assert all(record["error"].startswith("http-429: HTTP 429: slow down") for record in records)
    assert all(record["attempts"] == 2 for record in records)


@pytest.mark.parametrize(
    ("path", "kind", "hits"),
    [
        ("/500", "http-500", 3),
        ("/404", "http-404", 1),
        ("/bad-json", "bad-json", 1),
        ("/wrong-type", "wrong-shape", 1),
        ("/redirect", "redirect", 1),
        ("/huge", "too-large", 1),
        ("/reports-error", "target", 1),
        ("/gzip", "bad-encoding", 1),
    ],
)
def test_failures_are_runs_with_an_error(tmp_path: Path, path: str, kind: str, hits: int) -> None:
    out = tmp_path / "t.jsonl"
    with FaultServer() as server:
        summary = run(gold(1), server.url(path), out, **limits(retries=2))
        assert server.hits[path] == hits
    assert summary.complete and summary.failed == 1
    (record,) = lines(out)
    assert record["error"].startswith(kind + ":")
    (trace,) = [trace for _, trace in stream_traces(out, Input())]
    assert trace.error


def test_a_drip_ends_at_its_deadline_and_others_go_on(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    with FaultServer() as server:
        run(gold(1), server.url("/qa"), out, **limits())
        out.unlink()
        with pytest.raises(EnvironmentFailure, match="did not answer once: timeout"):
            run(gold(4), server.url("/drip"), out, **limits(timeout=0.4))


def test_what_the_target_says_of_itself_can_not_take_over_the_record(tmp_path: Path) -> None:
    class Liar(Answering):
        async def ask(self, ask: Any) -> dict[str, Any]:
            return {**GOOD, "qid": "other", "run_id": "x", "seed": 99, "sweep_id": "y", "e2e_ms": 0.001, "attempts": 0}

    run(gold(1), Liar(), tmp_path / "t.jsonl")
    (record,) = lines(tmp_path / "t.jsonl")
    assert (record["qid"], record["run_id"], record["seed"], record["attempts"]) == ("q0", "q0#seed=0;j=none", 0, 1)
    assert record["reported_e2e_ms"] == 0.001 != record["e2e_ms"]


def test_odd_but_legal_json_stays_readable(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    with FaultServer() as server:
        run(gold(1), server.url("/surrogate"), out)
    (trace,) = [trace for _, trace in stream_traces(out, Input())]
    assert trace.answer.claim == "half \ud800"


@pytest.mark.parametrize("further", [{"deep": None}, {"long": "x" * 10_000_000}])
def test_what_can_not_be_written_is_a_failed_run(tmp_path: Path, further: dict[str, Any]) -> None:
    if "deep" in further:
        for _ in range(50_000):
            further = {"deep": further}

    class Odd(Answering):
        async def ask(self, ask: Any) -> dict[str, Any]:
            return {**GOOD, **further, "echo": CANARY}

    run(gold(1), Odd(), tmp_path / "t.jsonl", options=TargetOptions(secrets=Secrets([CANARY])))
    (trace,) = [trace for _, trace in stream_traces(tmp_path / "t.jsonl", Input())]
    assert trace.run_id == "q0#seed=0;j=none" and trace.error and trace.error.startswith("too-")


# Concurrency, pace, budget


def test_concurrency_is_bounded_and_used(tmp_path: Path) -> None:
    target = Answering(0.01)
    with virtual_time():
        run(gold(60), target, tmp_path / "t.jsonl", concurrency=7)
    assert target.most == 7 and target.closed
    assert sorted(target.asked) == sorted(f"q{number}#seed=0;j=none" for number in range(60))


@pytest.mark.parametrize(("concurrency", "seconds"), [(1, 16.0), (16, 1.0)])
def test_sixteen_at_a_time_are_sixteen_times_faster_than_one(tmp_path: Path, concurrency: int, seconds: float) -> None:
    with virtual_time():
        summary = run(gold(320), Answering(0.05), tmp_path / "t.jsonl", concurrency=concurrency)
    assert summary.failed == 0
    assert summary.seconds == pytest.approx(seconds)


def test_requests_overlap_on_the_wire(tmp_path: Path) -> None:
    """A server that holds its answers back sees all sixteen at once."""
    with FaultServer(hold_after=0) as server, ThreadPoolExecutor(1) as thread:
        running = thread.submit(run, gold(20), server.url("/qa"), tmp_path / "t.jsonl", concurrency=16)
        wait_until(lambda: server.hits["/qa"] == 16)
        server.hold_after = 20
        assert running.result().failed == 0


def test_the_rate_is_kept(tmp_path: Path) -> None:
    target = Answering()
    with virtual_time():
        run(gold(11), target, tmp_path / "t.jsonl", rate=20, concurrency=8)
    assert target.times == [pytest.approx(number / 20) for number in range(11)]


@pytest.mark.parametrize(
    ("budget", "finished"),
    [({"max_requests": 5}, 5), ({"max_seconds": 2.0}, 8), ({"max_cost_usd": Decimal("0.3")}, 3)],
)
def test_budgets_stop_the_run_and_a_resume_goes_on(tmp_path: Path, budget: dict[str, Any], finished: int) -> None:
    class Costly(Answering):
        async def ask(self, ask: Any) -> dict[str, Any]:
            return {**await super().ask(ask), "cost_usd": 0.1}

    out = tmp_path / "t.jsonl"
    with virtual_time():
        summary = run(gold(40), Costly(0.25), out, **limits(concurrency=1, **budget))
    assert summary.stopped and not summary.complete
    assert summary.finished == finished
    again = run(gold(40), Costly(), out, resume=True)
    assert again.complete and again.resumed == summary.finished
    assert len({record["run_id"] for record in lines(out)}) == len(lines(out)) == 40


def test_retries_count_against_the_budget_and_the_unfinished_is_not_recorded(tmp_path: Path) -> None:
    with FaultServer() as server:
        summary = run(
            gold(5), server.url("/500"), tmp_path / "t.jsonl", **limits(concurrency=1, retries=2, max_requests=4)
        )
        assert server.hits["/500"] == 4
    assert (summary.requests, summary.finished) == (4, 1)


def test_warmup_is_asked_and_not_kept(tmp_path: Path) -> None:
    target = Answering()
    summary = run(gold(4), target, tmp_path / "t.jsonl", warmup=3)
    assert len(target.asked) == 7 and summary.finished == 4 == len(lines(tmp_path / "t.jsonl"))


def test_waits_double_are_capped_and_are_the_same_each_time() -> None:
    rules = TargetOptions(backoff=1.0, longest_wait=5.0)
    waits = [wait_before(attempt, "A#", rules, None) for attempt in (2, 3, 4, 9)]
    assert waits == [wait_before(attempt, "A#", rules, None) for attempt in (2, 3, 4, 9)]
    assert 0.5 <= waits[0] < 1 <= waits[1] < 2 <= waits[2] < 4 and waits[3] <= 5
    assert wait_before(2, "A#", rules, 3.0) == 3.0 and wait_before(2, "A#", rules, 99.0) == 5.0


def test_the_pacer_spaces_and_holds() -> None:
    async def turns() -> list[float]:
        pacer, times = Pacer(4), []
        for number in range(5):
            if number == 3:
                pacer.hold(9)
            await pacer.turn()
            times.append(now())
        return times

    with virtual_time():
        assert asyncio.run(turns()) == [0, 0.25, 0.5, 9.5, 9.75]


# A target that is not there


def test_an_unreachable_target_ends_the_run_and_leaves_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    for count in (2, 50):
        with pytest.raises(EnvironmentFailure, match="did not answer once") as caught:
            run(gold(count), "http://127.0.0.1:9/qa", out, **limits(retries=1))
        assert (caught.value.code, caught.value.exit_code) == ("target-unreachable", 4)
        assert lines(out) == []
        out.unlink()


def test_a_target_that_dies_in_the_middle_can_be_resumed_without_holes(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    with FaultServer() as server:
        url = server.url("/qa")

        class Dying(Answering):
            async def ask(self, ask: Any) -> dict[str, Any]:
                if len(self.asked) >= 20:
                    raise AskFailed("unreachable", "connection refused", retry=True)
                return await super().ask(ask)

        dying = Dying()
        dying.name = url
        with pytest.raises(EnvironmentFailure, match="stopped answering after 20 runs"):
            run(gold(60), dying, out, **limits(retries=0, concurrency=1))
        assert len(lines(out)) == 20
        summary = run(gold(60), url, out, resume=True)
    assert summary.complete and summary.failed == 0 and summary.resumed == 20


def test_a_hiccup_is_recorded_once_the_target_answers_again(tmp_path: Path) -> None:
    class Hiccup(Answering):
        async def ask(self, ask: Any) -> dict[str, Any]:
            if ask.qid in ("q1", "q4"):
                raise AskFailed("reset", "connection lost")
            return await super().ask(ask)

    summary = run(gold(5), Hiccup(), tmp_path / "t.jsonl", concurrency=1)
    assert summary.complete and summary.failed == 2
    assert [record["qid"] for record in lines(tmp_path / "t.jsonl") if "error" in record] == ["q1", "q4"]


# Secrets, interrupt, command line


def test_no_secret_in_any_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("CANARY", CANARY)
    headers = {"Authorization": "Bearer ${CANARY}", "Cookie": "id=literal-cookie-value"}
    with FaultServer() as server:
        for path in ("/echo", "/echo-500"):
            run(
                gold(2),
                server.url(path + "?key=${CANARY}"),
                tmp_path / f"{path[1:]}.jsonl",
                progress=True,
                headers=headers,
                **limits(retries=0),
            )
        assert server.seen[0][1]["Authorization"] == f"Bearer {CANARY}"
    shown = capfd.readouterr()
    written = "".join(path.read_text("utf-8") for path in tmp_path.iterdir()) + shown.out + shown.err
    assert "[redacted]" in written
    assert CANARY not in written and "literal-cookie-value" not in written
    assert [record["debug"] for record in lines(tmp_path / "echo.jsonl")]


def test_ctrl_c_keeps_what_is_finished_and_exits_130(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    gold_file = tmp_path / "gold.jsonl"
    rows = [{"qid": f"q{number}", "question": "What?", "answerable": False} for number in range(500)]
    gold_file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with FaultServer(hold_after=40) as server:
        code = "import sys; from shipworthy.cli import main; sys.exit(main(sys.argv[1:]))"
        arguments = ["--gold", str(gold_file), "--target", server.url("/qa"), "--out", str(out), "--concurrency", "4"]
        process = subprocess.Popen([sys.executable, "-c", code, "run", *arguments], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: server.hits["/qa"] == 44 and out.read_bytes().count(b"\n") == 40)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=FOREVER)
        assert process.returncode == 130
        assert "continue with --resume" in said and "Traceback" not in said
        assert len(lines(out)) == 40
        assert not (tmp_path / "t.jsonl.lock").exists()
        server.hold_after = float("inf")
        result = CliRunner().invoke(command, [*arguments, "--resume"])
        assert result.exit_code == 0, result.output
        assert "40 resumed" in result.output
    assert len({record["run_id"] for record in lines(out)}) == len(lines(out)) == 500


def test_the_command_exits_3_when_the_budget_ends_it(tmp_path: Path, cli: Callable[..., Ran]) -> None:
    gold_file = tmp_path / "gold.jsonl"
    gold_file.write_text('{"qid": "a", "question": "A?"}\n{"qid": "b", "question": "B?"}\n', "utf-8")
    with FaultServer() as server:
        arguments = ["--gold", str(gold_file), "--target", server.url("/qa"), "--out", str(tmp_path / "t.jsonl")]
        ran = cli("run", *arguments, "--max-requests", "1", "--concurrency", "1")
        assert ran.code == 3
        assert "max-requests 1 reached" in ran.err
        assert cli("run", *arguments, "--resume").code == 0


def test_the_command_says_why_runs_failed(tmp_path: Path) -> None:
    gold_file = tmp_path / "gold.jsonl"
    gold_file.write_text('{"qid": "a", "question": "A?"}\n', "utf-8")
    with FaultServer() as server:
        arguments = ["--gold", str(gold_file), "--target", server.url("/404"), "--out", str(tmp_path / "t.jsonl")]
        result = CliRunner().invoke(command, arguments)
    assert "Failures: http-404 1. First: a: http-404: HTTP 404: no such path" in result.output
    assert isinstance(result.exception, EnvironmentFailure) and result.exception.code == "run-all-failed"


@pytest.mark.parametrize("spec", ["demo:no_such_fault", "demo"])
def test_the_embedded_pipeline_is_a_target(tmp_path: Path, spec: str) -> None:
    pytest.importorskip("shipworthy.demo")
    if spec == "demo":
        summary = run(gold(2), spec, tmp_path / "t.jsonl")
        assert summary.complete and summary.failed == 0
    else:
        with pytest.raises(UsageError, match="no_such_fault"):
            run(gold(2), spec, tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    "bad",
    [
        ["--seeds", "a"],
        ["--header", "a-token-alone"],
        ["--map", "=x"],
        ["--header", ""],
        ["--header", " =a-token-alone"],
        ["--seeds", "0-999999999999"],
        ["--concurrency", "0"],
        ["--rate", "0"],
    ],
)
def test_usage_errors(tmp_path: Path, bad: list[str]) -> None:
    result = CliRunner().invoke(command, ["--gold", "g", "--target", "demo", "--out", "o", *bad])
    assert result.exit_code == 2
    assert "a-token-alone" not in result.output


def test_the_command_asks_only_what_failed(tmp_path: Path) -> None:
    gold_file, report, out = tmp_path / "gold.jsonl", tmp_path / "report.json", tmp_path / "t.jsonl"
    gold_file.write_text("".join(f'{{"qid": "{qid}", "question": "{qid}?"}}\n' for qid in "abc"), "utf-8")
    arguments = ["--gold", str(gold_file), "--target", "demo", "--out", str(out), "--filter-failing", str(report)]

    def invoked(**passed: bool) -> Any:
        judged = evaluate(
            "answers",
            gold=[gold_item(qid) for qid in passed],
            trace=[trace(qid, "The right answer." if ok else "Wrong.") for qid, ok in passed.items()],
        )
        report.write_text(json.dumps(judged.report()), "utf-8")
        return CliRunner().invoke(command, arguments)

    nothing = invoked(a=True, b=True)
    assert nothing.exit_code == 0 and "nothing is sent" in nothing.output and not out.exists()
    assert isinstance(invoked(z=False).exception, UsageError) and not out.exists()
    assert invoked(a=True, b=False, c=False).exit_code == 0
    assert {record["qid"] for record in lines(out)} == {"b", "c"}


@pytest.mark.parametrize("limit", ["--rate", "--timeout-sec", "--max-seconds", "--max-cost-usd"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_limit_that_could_never_end_is_refused(tmp_path: Path, limit: str, value: str) -> None:
    gold_file, out = tmp_path / "gold.jsonl", tmp_path / "t.jsonl"
    gold_file.write_text('{"qid": "a", "question": "A?"}\n', "utf-8")
    arguments = ["--gold", str(gold_file), "--target", "demo", "--out", str(out)]
    result = CliRunner().invoke(command, [*arguments, limit, value])
    assert isinstance(result.exception, UsageError) and result.exception.code == "limit"
    assert not out.exists()


def test_the_command_asks_where_to_write(tmp_path: Path) -> None:
    gold_file = tmp_path / "gold.jsonl"
    gold_file.write_text('{"qid": "a", "question": "A?"}\n', "utf-8")
    result = CliRunner().invoke(command, ["--gold", str(gold_file), "--target", "demo"])
    assert isinstance(result.exception, UsageError) and "--out" in str(result.exception)


def test_run_works_inside_a_running_loop(tmp_path: Path) -> None:
    async def notebook() -> RunSummary:
        return run(gold(3), Answering(), tmp_path / "t.jsonl")

    assert asyncio.run(notebook()).finished == 3


def test_progress_lines(capsys: pytest.CaptureFixture[str]) -> None:
    shown = ProgressLines(10, 4, sys.stderr)
    shown.update()
    shown.update(failed=True)
    shown.close()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("run  6/10  60%  ") and "errors 1" in said.err and "ETA" in said.err
    ProgressLines(10, 4, sys.stderr).close()
    assert capsys.readouterr().err == "", "nothing was asked, nothing is said"
    assert (clock(5), clock(65), clock(3725)) == ("0:05", "1:05", "1:02:05")


def test_the_bar_draws_over_itself_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a terminal shows at the end: one line, the bar full; cut where the terminal is narrow."""
    for columns in (100, 30):
        monkeypatch.setenv("COLUMNS", str(columns))
        stream = io.StringIO()
        shown = ProgressBar(10, 8, stream)
        shown.update()
        shown.update(failed=True)
        shown.close()
        screen = pyte.Screen(columns, 4)
        pyte.Stream(screen).feed(stream.getvalue().replace("\n", "\r\n"))
        line, *below = (text.rstrip() for text in screen.display)
        assert not any(below)
        assert line.startswith("run [") and "10/10  100%" in line
        assert columns < 100 or (line.count("=") == 40 and "errors 1" in line)
        assert "[3" not in stream.getvalue(), "no colour, so nothing to switch off"
