"""Targets: each kind asked for real, each fault told apart, no secret let out."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultserver import GOOD, FaultServer
from shipworthy.core.contracts import Passage
from shipworthy.errors import ShipworthyError, UsageError
from shipworthy.reading.mapping import JsonPath
from shipworthy.runner.execute import ask_once
from shipworthy.runner.plan import Ask
from shipworthy.runner.redact import MASK, Secrets, headers_from
from shipworthy.runner.targets import AskFailed, TargetOptions, parse_target
from shipworthy.runner.targets.chat import parse_answer, prompt_of
from shipworthy.web.address import refuse_address, vetted_url
from waiting import FOREVER, is_running, wait_until

ASK = Ask("A1", "A1#seed=3;j=ws", 3, "ws", 0, "", "What is alpha?", {"k": 5})
CANARY = "s3cr3t-canary-value"


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running


def asked(
    spec: str, *, timeout: float = FOREVER, ask: Ask = ASK, **options: Any
) -> tuple[dict[str, Any], AskFailed | None]:
    async def once() -> tuple[dict[str, Any], AskFailed | None]:
        target = parse_target(spec, TargetOptions(**options))
        try:
            trace, _, failure = await ask_once(target, ask, timeout)
        finally:
            await target.close()
        return trace, failure

    return asyncio.run(once())


# HTTP


def test_http_sends_the_request_and_gives_back_the_trace(server: FaultServer) -> None:
    trace, failure = asked(server.url("/qa"))
    assert (trace, failure) == (GOOD, None)
    assert server.seen[-1][2] == {"q": "What is alpha?", "qid": "A1", "seed": 3, "jitter": "ws", "knobs": {"k": 5}}


@pytest.mark.parametrize(
    ("path", "kind", "message", "retry"),
    [
        ("/429", "http-429", "slow down", True),
        ("/500", "http-500", "HTTP 500: <h1>\\x1b[31mboom</h1>", True),
        ("/404", "http-404", "no such path", False),
        ("/bad-json", "bad-json", "not a JSON object", False),
        ("/empty", "bad-json", "empty", False),
        ("/nan", "bad-json", "NaN", False),
        ("/array", "bad-json", "array", False),
        ("/wrong-shape", "wrong-shape", "no answer_json; the response has answer. Try --map claim=answer", False),
        ("/wrong-type", "wrong-shape", "answer_json.claim: expected str, got int", False),
        ("/gzip", "bad-encoding", "gzip", False),
        ("/not-http", "bad-http", "", False),
        ("/reset", "reset", "", True),
        ("/half", "reset", "", True),
        ("/redirect", "redirect", "redirects are off", False),
        ("/redirect-away", "redirect", "redirects are off", False),
    ],
)
def test_each_fault_has_its_own_kind(server: FaultServer, path: str, kind: str, message: str, retry: bool) -> None:
    _, failure = asked(server.url(path))
    assert failure is not None
    assert (failure.kind, failure.retry) == (kind, retry)
    assert message in failure.what
    assert failure.what.isprintable()


def test_a_list_is_read_by_a_mapping_that_finds_something_in_it(server: FaultServer) -> None:
    trace, failure = asked(server.url("/array"), mapping={"retrieved_ids": "items"})
    assert failure is None and trace["retrieved_ids"] == ["1", "2"]
    for path, mapping in (("/array", {"claim": "answer"}), ("/nan", {"claim": "answer_json.claim"})):
        _, failure = asked(server.url(path), mapping=mapping)
        assert failure is not None and failure.kind == "bad-json"


@pytest.mark.parametrize("path", ["/hang", "/slow-headers", "/drip"])
def test_the_deadline_covers_the_whole_answer(server: FaultServer, path: str) -> None:
    _, failure = asked(server.url(path), timeout=0.5)
    assert failure is not None and failure.kind == "timeout"


def test_a_huge_body_is_cut_off(server: FaultServer) -> None:
    _, failure = asked(server.url("/huge"), max_response_bytes=100_000)
    assert failure is not None and failure.kind == "too-large"


def test_nobody_listens() -> None:
    _, failure = asked("http://127.0.0.1:9/qa")
    assert failure is not None and (failure.kind, failure.retry) == ("unreachable", True)


def test_retry_after_is_read(server: FaultServer) -> None:
    _, failure = asked(server.url("/429-always"))
    assert failure is not None and failure.retry_after == 99999


def test_redirects_stay_on_the_host_and_stay_posts(server: FaultServer) -> None:
    trace, failure = asked(server.url("/redirect-307"), allow_redirects=True)
    assert (trace, failure) == (GOOD, None)
    for path in ("/redirect", "/redirect-away", "/redirect-loop"):
        before = server.hits["/secret"]
        _, failure = asked(server.url(path), allow_redirects=True)
        assert failure is not None and failure.kind == "redirect"
        assert server.hits["/secret"] == before


def test_a_failure_that_the_target_reports_is_a_failed_run(server: FaultServer) -> None:
    trace, failure = asked(server.url("/reports-error"))
    assert failure is None
    assert trace == {"error": 'target: {"code": 7}'}


def test_other_shapes_are_mapped(server: FaultServer) -> None:
    mapping = {
        "claim": "data.answer.text",
        "citations": "docs[*].id",
        "retrieved_ids": "docs[*].id",
        "stage_ms": "ms",
        "cost_usd": "absent.field",
    }
    trace, failure = asked(server.url("/other-shape"), mapping=mapping)
    assert failure is None
    assert trace == {
        "answer_json": {"claim": "Alpha.", "citations": ["d1", "d2"]},
        "retrieved_ids": ["d1", "d2"],
        "stage_ms": {"a.b": 3},
    }
    _, failure = asked(server.url("/other-shape"), mapping={"claim": "data.reply"})
    assert failure is not None
    assert "nothing at data.reply for the claim; the response has data.answer.text, docs[*].id" in failure.what


def test_paths() -> None:
    value = {"a": [{"b": 1}, {"b": [2, 3]}, {}], "c.d": {"e": None}}
    assert JsonPath.parse("a[*].b").of(value) == [1, [2, 3]]
    assert JsonPath.parse("a[1].b[0]").of(value) == 2
    assert JsonPath.parse('["c.d"].e').of(value) is None
    assert JsonPath.parse("a.b").of(value) is None
    assert JsonPath.parse("a[9]").of(value) is None
    assert JsonPath.parse("a[-2].b[-1]").of(value) == 3
    assert JsonPath.parse("t[0]").of({"t": "text"}) is None
    for bad in ("", ".a", "a..b", "a[", "a[x]", "a[-]", "a]"):
        with pytest.raises(UsageError, match="map-path"):
            JsonPath.parse(bad)
    with pytest.raises(UsageError, match="no claim"):
        parse_target("http://127.0.0.1/qa", TargetOptions(mapping={"citations": "docs"}))


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://100.100.100.200/",
        "http://[fd00:ec2::254]/",
        "http://[2002:a9fe:a9fe::]/",  # 6to4
        "http://[64:ff9b::a9fe:a9fe]/",  # NAT64
        "http://[64:ff9b::169.254.169.254]/",
        "http://[64:ff9b:1::a9fe:a9fe]/",  # NAT64 with a local prefix
        "http://[64:ff9b:1:a9fe:a9:fe00::]/",
        "http://[::169.254.169.254]/",  # compatible
        "http://[::ffff:0:169.254.169.254]/",  # translated
        "http://[2001:0:a9fe:a9fe::]/",  # Teredo, as the server
        "http://[2001:0:4136:e378:8000:63bf:5601:5601]/",  # Teredo, as the client
        "http://[fd00::5efe:169.254.169.254]/",  # ISATAP
        "http://[64:ff9b::6464:64c8]/",
        "http://[fd20:ce::254]/",
        "http://168.63.129.16/",
        "http://[ff02::1]/",
        "http://224.0.0.1/",
        "http://127.0.0.1\\@1.1.1.1/",
        "http://user:pw@127.0.0.1/",
        "http://a b/",
        "http://2852039166/",
        "http://127.1/",
        "http:///qa",
        "https://",
        "http://127.0.0.1/\n",
    ],
)
def test_addresses_that_are_never_asked(url: str) -> None:
    with pytest.raises(UsageError, match="target-address"):
        vetted_url(url)


@pytest.mark.parametrize(
    "spec", ["file:///etc/passwd", "ftp://host/x", "qa", "", "gopher:x", "chat:file:///etc/passwd"]
)
def test_only_known_targets(spec: str) -> None:
    with pytest.raises(UsageError):
        parse_target(spec)


@pytest.mark.parametrize("host", ["0xa9fea9fe", "metadata.test"])
def test_names_are_vetted_when_they_are_resolved(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name, or a number in disguise, that leads to the metadata service."""

    def getaddrinfo(*given: Any, **more: Any) -> list[Any]:
        return [(2, 1, 6, "", ("127.0.0.1", 9)), (2, 1, 6, "", ("169.254.169.254", 80))]

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    with pytest.raises(UsageError, match=r"169\.254\.169\.254"):
        asked(f"http://{host}/qa")


def test_private_addresses_may_be_asked() -> None:
    for host in ("127.0.0.1", "10.0.0.7", "::1", "::", "example.org", "64:ff9b::7f00:1", "2001:db8::1", "fd00::1"):
        refuse_address(host, "")


# Secrets


def test_secrets_reach_the_target_and_nothing_else(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", CANARY)
    options = {"headers": {"Authorization": "Bearer ${CANARY}", "X-Plain": "visible"}}
    _, failure = asked(server.url("/echo-500?key=${CANARY}"), **options)
    assert server.seen[-1][0].endswith(f"?key={CANARY}")
    assert server.seen[-1][1]["Authorization"] == f"Bearer {CANARY}"
    assert failure is not None and CANARY not in str(failure)
    assert MASK in str(failure)
    target = parse_target(server.url("/qa?key=${CANARY}"), TargetOptions(**options))
    assert CANARY not in target.name and "key" not in target.name


def test_unset_variables_are_named() -> None:
    with pytest.raises(UsageError, match="NOT_SET_ANYWHERE is not set"):
        headers_from({"Authorization": "Bearer ${NOT_SET_ANYWHERE}"}, Secrets())


def test_literal_values_of_sensitive_headers_are_secrets_too() -> None:
    secrets = Secrets()
    headers_from({"X-Api-Key": "abcd1234", "X-Stage": "staging"}, secrets)
    assert secrets.hide("abcd1234 staging Bearer") == f"{MASK} staging Bearer"


@pytest.mark.parametrize("headers", [{"Bad Name": "x"}, {"X": "a\r\nInjected: 1"}, {"": "x"}])
def test_headers_that_can_not_be_sent(headers: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="header"):
        headers_from(headers, Secrets())


def test_hiding_walks_keys_values_and_numbers() -> None:
    secrets = Secrets(['quo"te\\d', "12345678"])
    hidden = secrets.hide_all({'a quo"te\\d': ["12345678", 12345678, 1, None, True, 2.5]})
    assert hidden == {f"a {MASK}": [MASK, MASK, 1, None, True, 2.5]}
    assert secrets.within(json.dumps({"a": 'quo"te\\d'}).encode())


# Command


def script(folder: Path, body: str) -> str:
    path = folder / "pipeline.py"
    path.write_text(f"#!{sys.executable}\nimport json, os, signal, subprocess, sys\n{body}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


ECHOES = "print(json.dumps({'answer_json': {'claim': json.dumps([sys.argv[1:], sys.stdin.read()])}}))"


@pytest.mark.parametrize("question", ["$(touch x)", "; id", "a\nb", "{qid}", "--help", "日本", "`id`", "'\""])
def test_commands_get_the_question_as_data(tmp_path: Path, question: str) -> None:
    path = script(tmp_path, ECHOES)
    ask = Ask("A1", "A1#", 3, "ws", 0, "", question)
    trace, failure = asked(f"cmd:{path} --q={{question}} {{qid}} {{seed}}", ask=ask)
    assert failure is None
    assert json.loads(trace["answer_json"]["claim"]) == [[f"--q={question}", "A1", "3"], ""]
    trace, failure = asked(f"cmd:{path} --json", ask=ask)
    argv, stdin = json.loads(trace["answer_json"]["claim"])
    assert argv == ["--json"]
    assert json.loads(stdin) == {"q": question, "qid": "A1", "seed": 3, "jitter": "ws", "knobs": {}}
    assert os.listdir(tmp_path) == ["pipeline.py"]


@pytest.mark.parametrize("text", ["--help", "-x", "--", "-"])
def test_a_question_is_never_an_option(tmp_path: Path, text: str) -> None:
    path = script(tmp_path, ECHOES)
    ask = Ask(text, "A1#", -3, "ws", 0, "", text)

    def argv(line: str) -> list[str]:
        trace, failure = asked(f"cmd:{path} {line}", ask=ask)
        assert failure is None
        return json.loads(trace["answer_json"]["claim"])[0]

    assert argv("{question} {seed}") == [" " + text, "-3"]
    assert argv("-- {question} {qid}") == ["--", text, text], "nothing behind -- is an option"
    assert argv("--q={question} --qid={qid}") == [f"--q={text}", f"--qid={text}"]
    _, failure = asked(f"cmd:{path} {{question}} {{qid}}", ask=ask)
    assert failure is not None and str(failure).startswith("bad-question: the qid starts with -")


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("sys.exit('broken pipe dream')", "command", "exit 1: broken pipe dream"),
        ("print('hello')", "bad-json", "not a JSON object"),
        ("os.kill(os.getpid(), 9)", "command", "signal 9"),
        ("print('x' * 5_000_000, flush=True); signal.pause()", "too-large", "larger than 1,000,000 bytes"),
    ],
)
def test_commands_that_fail(tmp_path: Path, body: str, kind: str, message: str) -> None:
    _, failure = asked(f"cmd:{script(tmp_path, body)}", max_response_bytes=1_000_000)
    assert failure is not None and failure.kind == kind
    assert message in failure.what


def test_a_command_has_a_deadline(tmp_path: Path) -> None:
    _, failure = asked(f"cmd:{script(tmp_path, 'signal.pause()')}", timeout=0.2)
    assert failure is not None and str(failure) == "timeout: no whole answer within 0.2 s"


def child_of(noted: Path) -> str:
    """Python that starts a program which never ends, and notes its pid once it is there."""
    return (
        "child = subprocess.Popen(['sleep', 'infinity'])\n"
        f"open({str(noted) + '.part'!r}, 'w').write(str(child.pid))\n"
        f"os.rename({str(noted) + '.part'!r}, {str(noted)!r})"
    )


def test_a_command_that_is_given_up_goes_with_all_that_it_started(tmp_path: Path) -> None:
    noted = tmp_path / "child"
    path = script(tmp_path, f"print('half a word', flush=True)\n{child_of(noted)}\nsignal.pause()")

    async def given_up() -> list[str]:
        asking = asyncio.create_task(parse_target(f"cmd:{path}").ask(ASK))
        while not noted.exists():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)  # what was printed before is in the pipe, and is read in this turn
        asking.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await asking
        return caught.value.__notes__

    assert asyncio.run(given_up()) == ["half a word\n"]
    pid = int(noted.read_text())
    wait_until(lambda: not is_running(pid))


def test_a_child_that_keeps_the_pipe_does_not_keep_the_answer(tmp_path: Path) -> None:
    noted = tmp_path / "child"
    trace, failure = asked(f"cmd:{script(tmp_path, child_of(noted) + chr(10) + ECHOES)}")
    assert failure is None and trace["answer_json"]["claim"].startswith("[[], ")
    pid = int(noted.read_text())
    wait_until(lambda: not is_running(pid))


def test_what_came_before_the_deadline_is_seen(tmp_path: Path) -> None:
    target = f"cmd:{script(tmp_path, 'print(4711, file=sys.stderr, flush=True); signal.pause()')}"
    timeout, seen = 0.1, ""
    while seen != "4711\n":  # a busy machine may take a while to start a program, and to write a line
        timeout *= 2
        _, failure = asked(target, timeout=timeout)
        assert failure is not None and failure.kind == "timeout" and timeout < FOREVER
        seen = failure.seen
        assert "4711\n".startswith(seen)


def test_commands_that_are_not_there() -> None:
    for spec in ("cmd:./no-such-program", "cmd:", "cmd:'unfinished"):
        with pytest.raises(UsageError):
            parse_target(spec)


def test_a_nul_is_refused(tmp_path: Path) -> None:
    _, failure = asked(f"cmd:{script(tmp_path, ECHOES)} {{question}}", ask=Ask("A", "A#", 0, "none", 0, "", "a\0b"))
    assert failure is not None and failure.kind == "bad-question"


# Python

MODULE = """
import asyncio, threading
def sync(question, seed, knobs):
    return {"answer_json": {"claim": f"{question} {seed} {knobs}"}, "retrieved_ids": ("a",)}
async def later(question, **given): await asyncio.sleep(0); return {"answer_json": {"claim": str(sorted(given))}}
def text(question): return "just text"
def fails(question): raise ValueError("no idea \\x1b[31m")
def stops(question): raise StopIteration
def sleeps(question): threading.Event().wait()
def odd(question): return 42
def nan(question): return {"answer_json": {"claim": "x"}, "cost_usd": float("nan")}
def flat(question): return {"claim": "x", "citations": ["a"], "retrieved_ids": ["a"]}
def refuses(question): return {"claim": "Sorry.", "refused": True, "text": "no"}
def nulls(question): return {"answer_json": {"claim": "not in context", "citations": None}, "topk": None}
def unsure(question): return {"claim": "x", "refused": "perhaps"}
def half(question): return {"answer_json": {"claim": "\\ud800"}}
not_callable = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"pipeline_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def test_python_functions(module: str) -> None:
    trace, _ = asked(f"py:{module}:sync")
    assert trace == {"answer_json": {"claim": "What is alpha? 3 {'k': 5}"}, "retrieved_ids": ["a"]}
    assert asked(f"py:{module}:later")[0]["answer_json"]["claim"] == "['jitter', 'knobs', 'qid', 'seed']"
    assert asked(f"py:{module}:text")[0] == {"answer_json": {"claim": "just text"}}
    assert asked(f"py:{module}:nan")[0]["cost_usd"] is None
    assert asked(f"py:{module}:half")[1] is None


def test_an_answer_at_the_top_level_of_a_result_is_read_like_a_nested_one(module: str, tmp_path: Path) -> None:
    refusal = {"claim": "not in context", "citations": []}
    assert asked(f"py:{module}:flat")[0] == {
        "answer_json": {"claim": "x", "citations": ["a"]},
        "retrieved_ids": ["a"],
    }
    assert asked(f"py:{module}:refuses")[0]["answer_json"] == refusal
    mapped, _ = asked(f"py:{module}:flat", mapping={"claim": "retrieved_ids[0]"})
    assert mapped == {"answer_json": {"claim": "a", "citations": ["a"]}, "retrieved_ids": ["a"]}
    assert asked(f"py:{module}:refuses", mapping={"claim": "text"})[0]["answer_json"] == refusal
    assert asked(f"py:{module}:nulls")[1] is None
    (tmp_path / "flat.jsonl").write_text('{"qid": "A1", "claim": "x", "refused": true}', "utf-8")
    assert asked(f"replay:{tmp_path / 'flat.jsonl'}")[0]["answer_json"] == refusal


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("unsure", "wrong-shape", "refused: expected true or false"),
        ("fails", "python", "ValueError: no idea \\x1b[31m"),
        ("stops", "python", "StopIteration"),
        ("sleeps", "timeout", "0.3 s"),
        ("odd", "wrong-shape", "int"),
    ],
)
def test_python_functions_that_fail(module: str, name: str, kind: str, message: str) -> None:
    _, failure = asked(f"py:{module}:{name}", timeout=0.3 if kind == "timeout" else FOREVER)
    assert failure is not None and failure.kind == kind
    assert message in failure.what


def test_python_functions_that_are_not_there(module: str) -> None:
    for place in (f"{module}:absent", f"{module}:not_callable", "no.such.module:f", module, ":f", ""):
        with pytest.raises(UsageError):
            asked(f"py:{place}")


# Replay and chat


def test_replay_by_run_and_by_question(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    lines = [
        {"qid": "A1", "run_id": "A1#seed=0;j=none", "answer_json": {"claim": "first"}, "e2e_ms": 7.5},
        {"qid": "A1", "run_id": ASK.run_id, "answer_json": {"claim": "second"}},
    ]
    path.write_text('{"shipworthy_journal": 1}\n' + "".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert asked(f"replay:{path}")[0] == {"answer_json": {"claim": "second"}}
    other = Ask("A1", "A1#seed=9;j=none", 9, "none", 0, "", "What?")
    assert asked(f"replay:{path}", ask=other)[0] == {"answer_json": {"claim": "first"}, "e2e_ms": 7.5}
    _, failure = asked(f"replay:{path}", ask=Ask("Z", "Z#", 0, "none", 0, "", "?"))
    assert failure is not None and failure.kind == "not-recorded"
    path.write_text("", "utf-8")
    with pytest.raises(ShipworthyError):
        parse_target(f"replay:{path}")
    path.write_text('{"shipworthy_journal":1}\n', "utf-8")
    with pytest.raises(ShipworthyError, match="replay-empty"):
        parse_target(f"replay:{path}")


def test_chat_shows_the_evidence_and_reads_the_answer(server: FaultServer, tmp_path: Path) -> None:
    path = tmp_path / "evidence.jsonl"
    evidence = [{"id": "d1#2", "text": "Alpha holds 42 units."}, {"id": "d3#1", "text": "Beta holds 7."}]
    path.write_text(json.dumps({"qid": "A1", "evidence": evidence}) + "\n", "utf-8")
    spec, options = f"chat:{server.url('')}", {"model": "small", "evidence": str(path)}
    trace, failure = asked(spec, **options)
    assert failure is None
    assert trace == {**GOOD, "tokens": {"in": 9, "out": 3}}
    sent = server.seen[-1][2]
    assert (sent["model"], sent["seed"], sent["temperature"], sent["k"]) == ("small", 3, 0, 5)
    assert "[d1#2]\nAlpha holds 42 units." in sent["messages"][1]["content"]
    _, failure = asked(spec, ask=Ask("B", "B#", 0, "none", 0, "", "?"), **options)
    assert failure is not None and failure.kind == "no-evidence"
    with pytest.raises(UsageError, match="--model"):
        parse_target(spec)


@pytest.mark.parametrize(
    ("content", "claim", "citations"),
    [
        ('{"claim": "A.", "citations": ["d1"]}', "A.", ["d1"]),
        ('Sure:\n```json\n{"claim": "A.", "citations": []}\n```', "A.", []),
        ("Alpha holds 42 [d1]. It is [sic] so [d2, d1].", "Alpha holds 42. It is [sic] so.", ["d1", "d2"]),
        ("not in context", "not in context", []),
        ('{"claim": 3}', '{"claim": 3}', []),
        ("", "", []),
    ],
)
def test_replies_are_parsed(content: str, claim: str, citations: list[str]) -> None:
    assert parse_answer(content, ["d1", "d2"]) == {"claim": claim, "citations": citations}


def test_a_prompt_without_evidence_says_so() -> None:
    assert prompt_of("Q?", []) == "Evidence:\n(none)\n\nQuestion: Q?"
    assert prompt_of("Q?", [Passage("a", "t")]) == "Evidence:\n[a]\nt\n\nQuestion: Q?"
