"""Asking a reasoner, whatever it does; and the command line around it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

import click
import pytest

from shipworthy.cli.reason import GUARDRAILS, command
from shipworthy.demo import reasoner
from shipworthy.demo.reasoner import load_notes, reason
from shipworthy.errors import DataError, EnvironmentFailure, ShipworthyError, UsageError
from shipworthy.scoring.guard import evaluate_guard
from shipworthy.scoring.reasoning import evaluate_reasoning
from shipworthy.suites.reasoning import Answer, bundled_fixture, parse_fixture
from shipworthy.suites.reasoning.answers import gather_answers
from shipworthy.suites.reasoning.controls import controls
from shipworthy.suites.reasoning.guard import BARS, load_report
from shipworthy.suites.reasoning.run import (
    Overrides,
    ask_address,
    ask_all,
    ask_callable,
    ask_command,
    command_line,
    select,
)

ONE = parse_fixture({"cases": [{"id": "a", "prompt": "What?", "evidence": [{"id": "e1", "source": "s", "text": "t"}]}]})
REASONER = f"{sys.executable} -m shipworthy.demo.reasoner"


def call(*args):
    try:
        return command.main([str(arg) for arg in args], standalone_mode=False)
    except ShipworthyError as error:
        return error.exit_code, error.code


@pytest.fixture
def script(tmp_path):
    def make(body: str) -> str:
        path = tmp_path / "reasoner"
        path.write_text(f"#!{sys.executable}\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return make


def asked(binary: str, timeout: float = 20) -> Answer:
    return ask_all(ONE, ask_command(binary, timeout=timeout))["a"]


def test_the_command_line_is_in_the_order_of_the_contract():
    args = {"max_tokens": 4, "max_context": 3, "max_depth": 2, "max_iterations": 1, "recursive": True}
    raw = {
        "id": "a",
        "prompt": "-- why?",
        "preset": "p",
        "project": "j",
        "model": "m",
        "embed": "e",
        "reason_args": args,
    }
    case = parse_fixture({"cases": [raw]}).cases[0]
    assert command_line(["bin"], case, "d.db") == [
        "bin", "--db", "d.db", "reason", "-- why?", "--json", "--preset", "p", "--project", "j", "--model", "m",
        "--embed", "e", "--recursive", "--max-iterations", "1", "--max-depth", "2", "--max-context", "3",
        "--max-tokens", "4",
    ]  # fmt: skip
    assert command_line(["bin"], ONE.cases[0]) == ["bin", "reason", "What?", "--json"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("import sys; print('boom', file=sys.stderr); sys.exit(3)", "exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("print('hello')", "not JSON"),
        ("pass", "empty"),
        ("print('[1, 2]')", "not an object"),
        ("print('null')", "not an object"),
        ("""print('{"content": null}')""", "content is null"),
        ("""print('{"model": "m"}')""", "content is missing"),
        ("""print('{"content": 7}')""", "content is not text"),
        ("""print('{"content": "x", "evidence": [1]}')""", "evidence"),
        ("""print('{"content": NaN}')""", "not JSON"),
        ("import sys; sys.stdout.buffer.write(bytes([255, 254]))", "not JSON"),
    ],
)
def test_whatever_goes_wrong_is_an_error_of_that_case(script, body, error):
    answer = asked(script(body))
    assert error in (answer.error or "")


def test_what_was_seen_is_kept(script):
    assert asked(script("print('Traceback: oh no')")).seen.startswith("Traceback: oh no")
    failed = asked(script("import sys; print('first line\\n\\nboom\\n', file=sys.stderr); sys.exit(3)"))
    assert "boom" in failed.seen
    assert failed.what_came == "the command failed with exit code 3: boom"
    assert asked(script("import sys; sys.exit(3)")).what_came == "the command failed with exit code 3"


def test_a_hang_ends_at_the_timeout_and_takes_its_children_along(script, tmp_path):
    child = tmp_path / "child.pid"
    body = (
        "import subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(child)!r}, 'w').write(str(p.pid))\ntime.sleep(60)"
    )
    start = time.monotonic()
    answer = asked(script(body), timeout=1.5)
    assert "within 1.5 seconds" in (answer.error or "") and time.monotonic() - start < 10
    pid = int(child.read_text())
    for _ in range(50):
        if not _runs(pid):
            return
        time.sleep(0.1)
    pytest.fail("the reasoner's child outlived it")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def test_100_mb_of_output_is_an_error_and_not_a_full_memory(script):
    answer = asked(script("import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)"))
    assert "more than 10,000,000 bytes" in (answer.error or "") and len(answer.seen) <= 400


def test_a_flood_on_standard_error_does_not_block(script):
    body = "import sys, json\nsys.stderr.write('x' * 30_000_000)\nprint(json.dumps({'answer': 'fine'}))"
    assert asked(script(body)).content == "fine"


def test_content_goes_before_answer_and_meta_is_kept(script):
    body = (
        """print('{"content": "c", "answer": "a", "model": "m", "tokens_out": 3, "duration": 0.5, "repaired": true}')"""
    )
    answer = asked(script(body))
    assert answer == Answer("c", repaired=True, meta={"model": "m", "tokens_out": 3, "duration": 0.5})


def test_a_missing_binary_is_said_before_anything_runs():
    with pytest.raises(EnvironmentFailure, match="reason-binary-missing"):
        ask_command("/no/such/reasoner")


def test_a_callable_may_raise_and_the_run_goes_on():
    fixture = parse_fixture({"cases": [{"id": "a", "prompt": "one"}, {"id": "b", "prompt": "two", "model": "m"}]})

    def answer(prompt, **options):
        if prompt == "one":
            raise RuntimeError("no luck")
        return f"{prompt} {options['model']}"

    answers = ask_all(fixture, ask_callable(answer))
    assert "no luck" in (answers["a"].error or "") and answers["b"].content == "two m"


class Echo(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(500 if body["prompt"] == "fail" else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"content": body["prompt"]}).encode())

    def log_message(self, *args):
        pass


def test_an_address_is_asked_by_post():
    server = HTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        fixture = parse_fixture({"cases": [{"id": "a", "prompt": "hi"}, {"id": "b", "prompt": "fail"}]})
        answers = ask_all(fixture, ask_address(f"http://127.0.0.1:{server.server_port}/"))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert answers["a"].content == "hi" and "500" in (answers["b"].error or "")
    gone = ask_all(ONE, ask_address(f"http://127.0.0.1:{server.server_port}/"))["a"]
    assert "can't be reached" in (gone.error or "")
    with pytest.raises(UsageError):
        ask_address("ftp://x")


def test_overrides_and_max_cases():
    fixture = select(load_fixture_of_two(), Overrides(model="m2", preset="p2"), 1)
    assert [(c.id, c.model, c.preset, c.project) for c in fixture.cases] == [("a", "m2", "p2", "j")]


def load_fixture_of_two():
    return parse_fixture({"cases": [{"id": "a", "prompt": "x", "project": "j"}, {"id": "b", "prompt": "y"}]})


def test_answers_are_read_by_id_and_the_last_line_counts(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "a", "content": "1"}\n{"id": "zz", "content": "?"}\n{"id": "a", "content": "2"}\n')
    answers, read, remarks = gather_answers(path, ONE)
    assert answers["a"].content == "2" and read.records == 3 and len(read.digest) == 64
    assert [remark[:9] for remark in remarks] == ["1 answer ", "1 answer "]
    assert evaluate_reasoning(ONE, answers=path).warnings == remarks
    path.write_text('{"id": "a", "content": "1"}\n{"content": "1"}\n{"id": null}\nno\n')
    with pytest.raises(DataError) as refusal:
        gather_answers(path, ONE)
    assert str(refusal.value).count("answer-id") == 2 and "answers.jsonl:4" in str(refusal.value)


def test_answers_may_be_a_mapping_of_anything_that_is_an_answer():
    given = {"a": {"answer": "x", "tokens_out": 3}, "b": Answer("y"), "c": "z", "d": {"content": None}, "e": 7}
    fixture = parse_fixture({"cases": [{"id": name, "prompt": "p"} for name in "abcdef"]})
    results = {r["id"]: r for r in evaluate_reasoning(fixture, answers=given).report()["results"]}
    assert [results[name]["answer"] for name in "abc"] == ["x", "y", "z"] and results["a"]["tokens_out"] == 3
    assert [results[name]["status"] for name in "def"] == ["error"] * 3
    assert "null" in results["d"]["error"] and "no answer for this case" in results["f"]["error"]


def test_the_demo_reasoner_ships_through_the_command(tmp_path, capsys):
    out = tmp_path / "report.json"
    assert call("run", "--binary", REASONER, "--output", out, "--output-dir", tmp_path / "cases", "--max-cases", 6) == 0
    body = json.loads(out.read_text())
    assert body["summary"]["passed"] and body["results"][0]["answer"]
    assert body["results"][0]["model"] == "note-store"
    assert len(os.listdir(tmp_path / "cases")) == 7
    assert json.loads((tmp_path / "cases" / "reason-report.json").read_text())["digest"] == body["digest"]
    assert capsys.readouterr().out.startswith("SHIP  reasoning  6 questions")


def test_the_demo_reasoner_ships_on_all_cases_and_never_sees_the_expectations():
    fixture = bundled_fixture()
    answers = ask_all(fixture, lambda case: reason(case.prompt, load_notes(project=case.project)))
    decision = evaluate_reasoning(fixture, answers=answers)
    assert decision.ships and decision.counts["passed"] >= 27
    assert "reason-v1" not in Path(reasoner.__file__).read_text()
    assert answers == ask_all(fixture, lambda case: reason(case.prompt, load_notes(project=case.project)))


def test_a_run_with_nothing_but_errors_still_ends_with_a_report(script, tmp_path, capsys):
    out = tmp_path / "r.json"
    assert call("run", "--binary", script("print('no')"), "--output", out, "--max-cases", 2) == 1
    summary = json.loads(out.read_text())["summary"]
    assert summary["error_cases"] == 2 and summary["pass_rate"] == 0 and not summary["passed"]


def test_dry_run_prints_command_lines_and_asks_nobody(capsys):
    assert call("run", "--dry-run", "--binary", "./no-such", "--max-cases", 2, "--model", "m") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(line.startswith("./no-such reason ") and "--model m" in line for line in lines)


def test_usage_errors(tmp_path):
    assert call("run") == (2, "reason-target")
    assert call("run", "--binary", "x", "--url", "http://y") == (2, "reason-target")
    assert call("run", "--binary", "/no/such") == (4, "reason-binary-missing")
    assert (
        call("run", "--binary", "reasoner 'half") == call("run", "--dry-run", "--binary", "'") == (2, "reason-binary")
    )
    assert call("run", "--python", "nowhere:nothing") == (2, "reason-callable")
    (tmp_path / "f.json").write_text("{}")
    assert call("run", "--fixture", tmp_path / "f.json", "--binary", "true") == (3, "fixture-no-cases")


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e999", "0", "-1", "soon"])
def test_a_time_limit_is_a_number_of_seconds(seconds):
    with pytest.raises(click.BadParameter):
        call("run", "--binary", "true", "--timeout-sec", seconds)


@pytest.mark.parametrize("share", ["1e-999999999", "nan", "1/0", "1.5", "-0.1", "half", "80%"])
def test_a_share_is_a_number_of_0_to_1(share):
    with pytest.raises(click.BadParameter):
        call("guard", "--report", "r.json", "--min-pass-rate", share)


def test_a_wrong_flag_is_said_before_anybody_is_asked(tmp_path):
    asked = tmp_path / "asked"
    binary = tmp_path / "reasoner"
    binary.write_text(f"#!/bin/sh\ntouch {asked}\n")
    binary.chmod(0o755)
    assert call("run", "--binary", binary, "--gates", "precision=0.9") == (2, "gate-unknown")
    assert call("run", "--binary", binary, "-o", "report.docx") == (2, "report-format")
    assert not asked.exists()


def test_an_address_that_drips_is_left_when_its_time_is_up():
    class Dripping(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(40):
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(0.1)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Dripping)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        start = time.monotonic()
        ask = ask_address(f"http://127.0.0.1:{server.server_port}", timeout=0.5)
        (answer,) = ask_all(select(bundled_fixture(), Overrides(), 1), ask).values()
        assert answer.error == "no answer within 0.5 seconds" and time.monotonic() - start < 2
    finally:
        server.shutdown()
        server.server_close()


def test_score_exits_by_the_decision(tmp_path, capsys):
    fixture = bundled_fixture()
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    lines = [{"id": c.id, **reason(c.prompt, load_notes(project=c.project))} for c in fixture.cases]
    good.write_text("".join(json.dumps(line) + "\n" for line in lines))
    bad.write_text("".join(json.dumps({"id": c.id, "content": "Summary: fine."}) + "\n" for c in fixture.cases))
    assert call("score", "--answers", good) == 0
    assert call("score", "--answers", bad) == 1
    capsys.readouterr()
    assert call("score", "--answers", good, "--json") == 0
    assert json.loads(capsys.readouterr().out)["summary"]["passed"] is True
    good.write_text(
        "".join(json.dumps(line) + "\n" for line in [*lines[1:], {"id": lines[0]["id"], "content": "Fine."}])
    )
    assert call("score", "--answers", good) == 0
    assert call("score", "--answers", good, "--suite-min-pass-rate", "1") == 1


def test_errors_stop_a_suite_only_when_asked_to(tmp_path):
    fixture = bundled_fixture()
    path = tmp_path / "most.jsonl"
    lines = [{"id": c.id, **reason(c.prompt, load_notes(project=c.project))} for c in fixture.cases[1:]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert call("score", "--answers", path) == 0
    assert call("score", "--answers", path, "--fail-on-errors") == 1


# --- guard ---


def demo_report():
    fixture = bundled_fixture()
    answers = ask_all(fixture, lambda case: reason(case.prompt, load_notes(project=case.project)))
    return json.loads(json.dumps(evaluate_reasoning(fixture, answers=answers).report()))


@pytest.fixture(scope="module")
def good_report():
    return demo_report()


def write(tmp_path, body):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(body))
    return path


def test_guard_holds_a_good_report(tmp_path, good_report, capsys):
    path = write(tmp_path, good_report)
    assert call("guard", "--report", path) == 0
    assert call("guard", "--report", path, "--min-cases", 31) == 1
    terse = next(control for control in controls(bundled_fixture()) if control.name.startswith("terse"))
    plain = write(tmp_path, evaluate_reasoning(bundled_fixture(), answers=terse.answers).report())
    assert call("guard", "--report", plain) == 0
    assert call("guard", "--report", plain, "--min-overall", "0.9999") == 1
    path = write(tmp_path, good_report)
    capsys.readouterr()
    assert call("guard", "--report", path, "--json") == 0
    rows = {row["bar"]: row for row in json.loads(capsys.readouterr().out)["checks"]}
    assert rows["min_contradiction"]["n"] == 10 and rows["min_cases"]["value"] == 30


def test_the_help_says_the_guardrails_that_hold():
    assert {name: float(text) for name, text in GUARDRAILS.items()} == {
        name: float(default) for name, (_, _, default) in BARS.items()
    }


def test_a_report_that_asks_for_no_contradiction_handling_is_not_held_to_it(good_report):
    rows = [r | {"required": [d for d in r["required"] if d[0] != "c"]} for r in good_report["results"]]
    averages = {n: v for n, v in good_report["summary"]["dimension_averages"].items() if n[0] != "c"}
    summary = good_report["summary"] | {"dimension_averages": averages}
    decision = evaluate_guard({"summary": summary, "results": rows})
    states = {outcome.gate.metric: outcome.state for outcome in decision.outcomes}
    assert states["contradiction_handling"] == "NOT-APPLICABLE" and decision.ships


def test_guard_counts_blank_content_whatever_the_tokens_say(good_report):
    body = json.loads(json.dumps(good_report))
    body["results"][0] |= {"answer": "  ", "tokens_out": 500}
    held = {check["bar"]: check["holds"] for check in evaluate_guard(body).headline["checks"]}
    assert not held["max_empty_content_rate"] and held["max_error_rate"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("passed_cases", 29), ("pass_rate", 0.9), ("total_cases", 31), ("error_cases", 1), ("average_overall_score", 0.5)],
)
def test_a_summary_that_disagrees_is_refused(tmp_path, good_report, key, value):
    body = good_report | {"summary": good_report["summary"] | {key: value}}
    assert call("guard", "--report", write(tmp_path, body)) == (3, "report-disagrees")


def test_a_changed_dimension_average_is_refused_and_a_rounded_one_is_not(good_report):
    averages = good_report["summary"]["dimension_averages"]
    rounded = {name: round(value, 4) for name, value in averages.items()}
    evaluate_guard(good_report | {"summary": good_report["summary"] | {"dimension_averages": rounded}})
    changed = averages | {"actionability": averages["actionability"] - 0.001}
    with pytest.raises(DataError, match=r"dimension_averages\.actionability"):
        evaluate_guard(good_report | {"summary": good_report["summary"] | {"dimension_averages": changed}})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"summary": {}, "results": 3}', '{"summary": {}, "results": [1]}'])
def test_what_is_no_report_is_refused(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(DataError, match="report-unreadable"):
        load_report(path)


def test_an_empty_report_is_not_guarded(tmp_path):
    summary = {"total_cases": 0, "passed_cases": 0, "failed_cases": 0, "error_cases": 0}
    assert call("guard", "--report", write(tmp_path, {"summary": summary, "results": []})) == 1
