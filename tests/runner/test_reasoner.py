"""Asking a reasoner: a command, an address, a function; whatever it does is an answer or an error of that case."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from shipworthy.demo import reasoner as demo_reasoner
from shipworthy.demo.reasoner import load_notes, reason
from shipworthy.errors import EnvironmentFailure, UsageError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.runner.reasoner import (
    CommandReasoner,
    HttpReasoner,
    PythonReasoner,
    ask_all,
    ask_of,
    command_line,
    command_lines,
    reasoner_target,
    select,
)
from shipworthy.suites.reasoning.contracts import Fixture, ReasonerAnswer, parse_fixture, read_fixture, what_came
from waiting import FOREVER

ONE = parse_fixture({"cases": [{"id": "a", "prompt": "What?", "evidence": [{"id": "e1", "source": "s", "text": "t"}]}]})
Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    def make(body: str) -> str:
        path = tmp_path / "reasoner"
        path.write_text(f"#!{sys.executable}\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return make


def asked(binary: str, timeout: float = FOREVER) -> ReasonerAnswer:
    return ask_all(ONE.cases, CommandReasoner(binary), timeout=timeout)["a"]


def prompts(*texts: str, **settings: Any) -> Fixture:
    return parse_fixture({"cases": [{"id": text, "prompt": text, **settings} for text in texts]})


# Command


def test_the_command_line_is_in_the_order_of_the_contract() -> None:
    args = {"max_tokens": 4, "max_context": 3, "max_depth": 2, "max_iterations": 1, "recursive": True}
    settings = {"embed": "e", "model": "m", "project": "j", "preset": "p"}
    (case,) = prompts("why - not?", reason_args=args, **settings).cases
    line = "bin --db d.db reason PROMPT --json --preset p --project j --model m --embed e"
    line += " --recursive --max-iterations 1 --max-depth 2 --max-context 3 --max-tokens 4"
    assert command_line(["bin"], ask_of(case), "d.db") == [{"PROMPT": "why - not?"}.get(w, w) for w in line.split()]
    assert command_line(["bin"], ask_of(ONE.cases[0])) == ["bin", "reason", "What?", "--json"]
    assert command_lines(prompts("it's").cases, "python -m x", "d b") == [
        """python -m x --db 'd b' reason 'it'"'"'s' --json"""
    ]


HOSTILE = ["--json", "-h", "--", "--db=/tmp/x", "-- why?", "-", "--recursive"]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_case_says_is_never_an_option(script: Script, text: str) -> None:
    """Read by an ordinary parser: the prompt and the settings arrive as data, and no flag is set by them."""
    path = script(
        "import argparse, json\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--db')\n"
        "parser.add_argument('verb')\n"
        "parser.add_argument('prompt')\n"
        "for flag in ('--json', '--recursive'): parser.add_argument(flag, action='store_true')\n"
        "for flag in ('--preset', '--model'): parser.add_argument(flag)\n"
        "print(json.dumps({'content': json.dumps(vars(parser.parse_args()))}))"
    )
    fixture = prompts(text, preset=f"{text}x", model="m")
    (answer,) = ask_all(fixture.cases, CommandReasoner(path, "d.db")).values()
    assert answer.error is None
    assert json.loads(answer.content) == {
        "db": "d.db",
        "verb": "reason",
        "prompt": " " + text,
        "json": True,
        "recursive": False,
        "preset": f"{text}x",
        "model": "m",
    }


def test_what_is_run_is_the_command_line(script: Script) -> None:
    path = script("import json, sys; print(json.dumps({'content': json.dumps([sys.argv[1:], sys.stdin.read()])}))")
    fixture = select(prompts("$(id) 'x'"), model="m 1")
    (answer,) = ask_all(fixture.cases, CommandReasoner(f"{path} -v", "n.db")).values()
    assert json.loads(answer.content) == [
        ["-v", "--db", "n.db", "reason", "$(id) 'x'", "--json", "--model", "m 1"],
        "",
    ]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("import sys; print('boom', file=sys.stderr); sys.exit(3)", "the command failed: exit 3"),
        ("import os; os.kill(os.getpid(), 9)", "the command failed: signal 9"),
        ("print('hello')", "the output is not a JSON object: not JSON"),
        ("pass", "the output is not a JSON object: it is empty"),
        ("print('[1, 2]')", "not a JSON object"),
        ("print('null')", "not a JSON object"),
        ("""print('{"content": null}')""", "content: Expected `str`, got `null`"),
        ("""print('{"model": "m"}')""", "content: Expected `str`, got `null`"),
        ("""print('{"content": 7}')""", "content: Expected `str`, got `int`"),
        ("""print('{"content": "x", "evidence": [1]}')""", "evidence"),
        ("""print('{"content": NaN}')""", "not a JSON object"),
        ("import sys; sys.stdout.buffer.write(bytes([255, 254]))", "not UTF-8"),
    ],
)
def test_whatever_goes_wrong_is_an_error_of_that_case(script: Script, body: str, error: str) -> None:
    answer = asked(script(body))
    assert error in (answer.error or "")


def test_what_was_seen_is_kept(script: Script) -> None:
    assert asked(script("print('Traceback: oh no')")).seen.startswith("Traceback: oh no")
    failed = asked(script("import sys; print('first line\\n\\nboom\\n', file=sys.stderr); sys.exit(3)"))
    assert "boom" in failed.seen
    assert what_came(failed.error, failed.seen) == "the command failed: exit 3: boom"
    silent = asked(script("import sys; sys.exit(3)"))
    assert what_came(silent.error, silent.seen) == "the command failed: exit 3"


def test_a_hang_ends_at_the_timeout(script: Script) -> None:
    answer = asked(script("import signal; signal.pause()"), timeout=0.2)
    assert answer.error == "no answer within 0.2 seconds"


def test_100_mb_of_output_is_an_error_and_not_a_full_memory(script: Script) -> None:
    answer = asked(script("import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)"))
    assert answer.error == "the output is larger than 10,000,000 bytes" and len(answer.seen) <= 400


def test_a_flood_on_standard_error_does_not_block(script: Script) -> None:
    body = "import sys, json\nsys.stderr.write('x' * 30_000_000)\nprint(json.dumps({'answer': 'fine'}))"
    assert asked(script(body)).content == "fine"


def test_content_goes_before_answer_and_meta_is_kept(script: Script) -> None:
    body = (
        """print('{"content": "c", "answer": "a", "model": "m", "tokens_out": 3, "duration": 0.5, "repaired": true}')"""
    )
    answer = asked(script(body))
    assert answer == ReasonerAnswer("c", repaired=True, meta={"model": "m", "tokens_out": 3, "duration": 0.5})


def test_a_prompt_that_no_command_can_be_given_is_an_error_of_that_case(script: Script) -> None:
    path = script("""print('{"content": "fine"}')""")
    answers = ask_all(prompts("a\0b", "plain").cases, CommandReasoner(path))
    assert "NUL" in (answers["a\0b"].error or "") and answers["plain"].content == "fine"


def test_a_missing_binary_is_told_before_anything_runs() -> None:
    with pytest.raises(EnvironmentFailure, match="reason-binary-missing"):
        CommandReasoner("/no/such/reasoner")
    with pytest.raises(UsageError, match=r"\[reason-binary\]"):
        CommandReasoner("reasoner 'half")


def test_a_file_that_can_not_be_run_is_an_error_of_that_case(tmp_path: Path) -> None:
    path = tmp_path / "reasoner"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    assert (asked(str(path)).error or "").startswith("the command failed: can't be started: ")


# Python


def test_a_function_may_raise_and_the_run_goes_on() -> None:
    def answer(prompt: str, **settings: Any) -> str:
        if prompt == "one":
            raise UsageError("no luck", code="target")
        return f"{prompt} {settings}"

    seen: list[tuple[str, str | None]] = []
    answers = ask_all(
        prompts("one", "two", model="m").cases,
        PythonReasoner(answer),
        on_answer=lambda case, given: seen.append((case.id, given.error)),
    )
    assert (answers["one"].error or "").startswith("the reasoner raised UsageError: no luck")
    assert answers["two"].content == "two {'model': 'm'}"
    assert seen == [("one", answers["one"].error), ("two", None)]


@pytest.mark.parametrize(
    ("output", "error"),
    [
        (7, "the function gave int, expected a dict or a string"),
        (None, "the function gave NoneType"),
        ({"content": 7}, "content: Expected `str`, got `int`"),
        ({"content": "x", "evidence": "none"}, "evidence"),
    ],
)
def test_a_function_may_give_back_anything(output: Any, error: str) -> None:
    answer = ask_all(ONE.cases, PythonReasoner(lambda prompt: output))["a"]
    assert error in (answer.error or "")


def test_a_function_may_be_async_and_may_give_more_than_is_read() -> None:
    async def answer(prompt: str) -> dict[str, Any]:
        return {"content": prompt, "raw": object(), "duration": 0.5}

    assert ask_all(ONE.cases, PythonReasoner(answer))["a"] == ReasonerAnswer("What?", meta={"duration": 0.5})


def test_a_function_has_its_time_too() -> None:
    answer = ask_all(ONE.cases, PythonReasoner(lambda prompt: threading.Event().wait()), timeout=0.2)["a"]
    assert answer.error == "no answer within 0.2 seconds"


def test_a_function_is_named_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_reasoner_of_mine.py").write_text("class Mine:\n    answer = staticmethod(lambda prompt: 'mine')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    target = reasoner_target(function="a_reasoner_of_mine:Mine.answer")
    assert ask_all(ONE.cases, target)["a"].content == "mine"
    for place in ("a_reasoner_of_mine:nothing", "nowhere:nothing", "a_reasoner_of_mine", ""):
        with pytest.raises(UsageError, match="reason-callable"):
            ask_all(ONE.cases, reasoner_target(function=place))


# HTTP


class Handler(BaseHTTPRequestHandler):
    """Says back what it was sent; a prompt may ask for another status, and `drip` for an answer without an end."""

    given_up = threading.Event()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(int(body["prompt"]) if body["prompt"].isdigit() else 200)
        self.end_headers()
        if body["prompt"] == "drip":
            try:
                while not self.given_up.wait(0.01):
                    self.wfile.write(b" ")
            except OSError:
                self.given_up.set()
        elif body["prompt"] == "plain":
            self.wfile.write(b"<p>not an object</p>")
        else:
            self.wfile.write(json.dumps({"content": f"{body} {self.path}"}).encode())

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def server() -> Iterator[str]:
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/"
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def test_an_address_is_asked_by_post() -> None:
    with server() as url:
        fixture = prompts("hi", "500", "201", "plain", preset="p", reason_args={"max_depth": 2})
        answers = ask_all(fixture.cases, HttpReasoner(url))
    assert answers["hi"].content == "{'prompt': 'hi', 'preset': 'p', 'max_depth': 2} /"
    assert answers["500"].error == "the address answered HTTP 500" and "500" in answers["500"].seen
    assert answers["201"].content
    assert "not a JSON object" in (answers["plain"].error or "") and answers["plain"].seen == "<p>not an object</p>"
    gone = ask_all(ONE.cases, HttpReasoner(url))["a"]
    assert (gone.error or "").startswith("the address can't be reached: 127.0.0.1")


def test_an_address_that_drips_is_left_when_its_time_is_up() -> None:
    with server() as url:
        (answer,) = ask_all(prompts("drip").cases, HttpReasoner(url), timeout=0.5).values()
        assert answer.error == "no answer within 0.5 seconds"
        assert Handler.given_up.wait(FOREVER), "the connection is closed"


def test_a_secret_of_the_address_is_not_in_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONER_KEY", "s3cr3t-canary")
    with server() as url:
        answer = ask_all(ONE.cases, HttpReasoner(url + "?key=${REASONER_KEY}"))["a"]
    assert answer.content.endswith("/?key=[redacted]")


@pytest.mark.parametrize(
    ("url", "code"), [("ftp://x", "reason-url"), ("x", "reason-url"), ("http://169.254.169.254/", "target-address")]
)
def test_addresses_that_are_not_asked(url: str, code: str) -> None:
    with pytest.raises(UsageError) as refusal:
        HttpReasoner(url)
    assert refusal.value.code == code and "--target" not in str(refusal.value)


# All of it


def test_one_reasoner_is_named() -> None:
    for given in ({}, {"binary": "x", "url": "http://y"}, {"url": "http://y", "function": print}):
        with pytest.raises(UsageError, match="reason-target"):
            reasoner_target(**given)  # type: ignore[arg-type]
    assert reasoner_target(url="http://y/?a=b").name == "http://y/"


def test_overrides_and_max_cases() -> None:
    fixture = select(prompts("a", "b", project="j"), 1, model="m2", preset="p2")
    assert [(c.id, c.model, c.preset, c.project) for c in fixture.cases] == [("a", "m2", "p2", "j")]


def test_the_demo_reasoner_ships_on_all_cases_and_never_sees_the_expectations() -> None:
    target = PythonReasoner(lambda prompt, project=None, **_: reason(prompt, load_notes(project=project)))
    answers = ask_all(read_fixture().cases, target)
    decision = evaluate("reasoning", answers=answers)
    assert decision.ships and decision.counts["passed"] >= 27
    assert "reason-v1" not in Path(demo_reasoner.__file__).read_text()
    assert answers == ask_all(read_fixture().cases, target)
