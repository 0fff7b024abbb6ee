"""Pulling from platforms and pushing to them.

Langfuse and LangSmith are stubs that refuse any request their published API descriptions do not have. Phoenix and
MLflow are real servers, each in an environment of its own (`make platforms`); where one is absent, its test is skipped
by name.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import shipworthy
from conftest import ROOT, Cli
from webserver import serving

EXPORTS = ROOT / "tests" / "importers" / "exports"
GOLD = EXPORTS / "expected" / "gold.jsonl"
EXPECTED = [json.loads(line) for line in (EXPORTS / "expected" / "trace.jsonl").read_text("utf-8").splitlines()]
SAME = "3/5 3/5 1/2 1/6"
PAGE = 4
LANGFUSE = {"page", "limit", "userId", "name", "sessionId", "fromTimestamp", "toTimestamp", "orderBy", "tags"}
LANGSMITH = {"id", "trace", "session", "start_time", "end_time", "filter", "trace_filter", "is_root", "cursor"}
LANGSMITH |= {"limit", "select", "order", "run_type", "error"}


class Stub:
    """What a platform holds, what was asked of it, and how it misbehaves."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.written: dict[str, dict[str, Any]] = {}
        self.broken: dict[str, tuple[int, str, bytes]] = {}  # part of a path and query → status, type, body
        self.shown: Callable[[int], list[int]] = lambda page: list(
            range(len(EXPECTED))
        )  # traces, when a page is asked for


class Handler(BaseHTTPRequestHandler):
    stub: Stub

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Any) -> None:
        place, query = (
            urlsplit(self.path),
            parse_qs(urlsplit(self.path).query, strict_parsing=True) if "?" in self.path else {},
        )
        told = f"{self.command} {self.path} {json.dumps(body) if body else ''}".strip()
        self.stub.asked.append(told)
        for part, (status, kind, data) in self.stub.broken.items():
            if part in told:
                return self._send(status, kind, data)
        try:
            answer = self.reply(place.path, {name: values[0] for name, values in query.items()}, body)
        except (AssertionError, KeyError, ValueError) as error:
            return self._send(400, "application/json", json.dumps({"message": repr(error)}).encode())
        return self._send(200, "application/json", json.dumps(answer).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Retry-After", "0")
        if 300 <= status < 400:
            self.send_header("Location", "https://example.org/")
        self.end_headers()
        self.wfile.write(data)

    def reply(self, path: str, query: dict[str, str], body: Any) -> Any:
        raise NotImplementedError

    def log_message(self, *words: object) -> None: ...


class Langfuse(Handler):
    def reply(self, path: str, query: dict[str, str], body: Any) -> Any:
        assert self.headers["Authorization"] == "Basic " + base64.b64encode(b"pk-1:sk-1").decode()
        if path == "/api/public/scores":
            assert (
                {"name", "value", "traceId"} <= set(body) <= {"id", "name", "value", "traceId", "dataType", "comment"}
            )
            assert body["dataType"] in ("NUMERIC", "BOOLEAN", "CATEGORICAL") and body["value"] in (0, 1)
            self.stub.written[body["id"]] = body
            return {"id": body["id"]}
        if path == "/api/public/traces":
            assert set(query) <= LANGFUSE and 1 <= int(query["limit"]) <= 100 and query["toTimestamp"].endswith("Z")
            shown = map(self.traces().__getitem__, self.stub.shown(int(query["page"])))
            chosen = [one for one in shown if query.get("tags", "x") in ("x", *one["tags"])]
            start = (int(query["page"]) - 1) * PAGE
            listed = [one | {"observations": [part["id"] for part in one["observations"]]} for one in chosen]
            meta = {
                "page": int(query["page"]),
                "limit": PAGE,
                "totalItems": len(chosen),
                "totalPages": -(-len(chosen) // PAGE),
            }
            return {"data": listed[start : start + PAGE], "meta": meta}
        return next(one for one in self.traces() if path == f"/api/public/traces/{one['id']}")

    def traces(self) -> list[dict[str, Any]]:
        return [_langfuse(number, one) for number, one in enumerate(EXPECTED)]


def _langfuse(number: int, one: dict[str, Any]) -> dict[str, Any]:
    at = f"2026-11-16T06:{number:02}:00.000Z"
    step = {"traceId": f"t{number}", "type": "RETRIEVER", "startTime": at, "endTime": at, "level": "DEFAULT"}
    search = step | {"id": f"o{number}", "name": "search", "input": one["q"], "output": one["topk"]}
    failed = step | {"id": f"e{number}", "name": "llm", "type": "GENERATION", "level": "ERROR", "statusMessage": "503"}
    return {
        "id": f"t{number}",
        "projectId": "p",
        "timestamp": at,
        "htmlPath": "/x",
        "input": one["q"],
        "output": one.get("answer_json"),
        "metadata": {"qid": one["qid"]},
        "tags": ["nightly"] if number < 3 else [],
        "observations": [search, *([failed] if "error" in one else [])],
        "scores": [],
    }


class Langsmith(Handler):
    def reply(self, path: str, query: dict[str, str], body: Any) -> Any:
        assert self.headers["x-api-key"] == "ls-1"
        if path == "/api/v1/sessions":
            assert set(query) <= {"name", "limit", "offset"}
            return [{"id": "s-1", "name": "harbour"}] if query["name"] == "harbour" else []
        if path == "/api/v1/feedback":
            assert {"key", "run_id"} <= set(body) and body["feedback_source"]["type"] == "api"
            self.stub.written[body["id"]] = body
            return {"id": body["id"]}
        assert path == "/api/v1/runs/query" and set(body) <= LANGSMITH and body["session"] == ["s-1"]
        assert 1 <= body["limit"] <= 100 and body["order"] in ("asc", "desc")
        runs = [
            json.loads(line) for line in (EXPORTS / "langsmith" / "list_runs.jsonl").read_text("utf-8").splitlines()
        ]
        start = int(body.get("cursor", "0"))
        after = str(start + PAGE) if start + PAGE < len(runs) else None
        return {"runs": runs[start : start + PAGE], "cursors": {"next": after, "prev": None}}


@contextmanager
def platform(handler: type[Handler]) -> Iterator[tuple[Stub, str]]:
    stub = Stub()
    with serving(type("Bound", (handler,), {"stub": stub})) as url:
        name = handler.__name__.lower()
        yield stub, f"{name}://{url.removeprefix('http://')}{'/harbour' if name == 'langsmith' else ''}"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (
        ("LANGFUSE_PUBLIC_KEY", "pk-1"),
        ("LANGFUSE_SECRET_KEY", "sk-1"),
        ("LANGSMITH_API_KEY", "ls-1"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PHOENIX_API_KEY", raising=False)


def decision() -> str:
    found = shipworthy.evaluate("answers", gold=str(GOLD), trace="t.jsonl")
    measured = [found.measures[name] for name in ("precision", "chr", "under_refusal", "over_refusal")]
    return " ".join(f"{one.k}/{one.n}" for one in measured)


@pytest.mark.parametrize("handler", [Langfuse, Langsmith])
def test_all_pages_are_pulled_and_results_are_written_back_once(handler: type[Handler], cli: Cli) -> None:
    with platform(handler) as (stub, address):
        ran = cli("import", address, "--gold", str(GOLD), "--out", "t.jsonl", "--since", "2026-11-01")
        assert ran.code == 0, ran.err
        assert ran.out.startswith(f"{address}: ") and decision() == SAME
        assert not Path("t.jsonl.pull").exists()
        assert cli("score", "--gold", str(GOLD), "--trace", "t.jsonl", "-o", "r.json").code == 1
        ran = cli("push", "r.json", address, "--trace", "t.jsonl")
        assert ran.code == 0 and "wrote 8 results" in ran.out, ran.err
        first = dict(stub.written)
        assert cli("push", "r.json", address, "--trace", "t.jsonl").code == 0
    assert stub.written == first and len(first) == 8
    said = {str(one["comment"]) for one in first.values()}
    assert "NO-SHIP: passes" in said and any("answered an unanswerable question" in one for one in said)
    assert not any(secret in json.dumps(stub.asked) for secret in ("sk-1", "ls-1"))


def test_a_tag_and_a_time_are_left_to_the_platform(cli: Cli) -> None:
    with platform(Langfuse) as (stub, address):
        assert (
            cli(
                "import", address, "--tag", "nightly", "--since", "2026-11-01", "--until", "7d", "--out", "t.jsonl"
            ).code
            == 0
        )
    assert "tags=nightly" in stub.asked[0] and "fromTimestamp=2026-11-01T00%3A00%3A00.000000Z" in stub.asked[0]
    assert len(Path("t.jsonl").read_text().splitlines()) == 3
    with platform(Langsmith) as (stub, address):
        cli("import", address, "--tag", 'a"b', "--out", "t.jsonl")
    assert json.dumps('has(tags, "a\\"b")') in stub.asked[1]


@pytest.mark.parametrize(("handler", "second"), [(Langfuse, "page=2"), (Langsmith, '"cursor": "4"')])
def test_a_pull_that_was_cut_off_goes_on(handler: type[Handler], second: str, cli: Cli) -> None:
    arguments = ("--gold", str(GOLD), "--out", "t.jsonl", "--since", "999d")
    with platform(handler) as (stub, address):
        stub.broken[second] = (503, "text/plain", b"busy")
        ran = cli("import", address, *arguments)
        assert ran.code == 4 and "503" in ran.err and "[platform]" in ran.err
        assert Path("t.jsonl.pull").exists() and not Path("t.jsonl").exists()
        with Path("t.jsonl.pull").open("ab") as journal:
            journal.write(b'{"records": [{"id"')  # as if it had been killed while writing
        stub.broken.clear()
        before = len(stub.asked)
        other = cli("import", address, *arguments[:-1], "1d", "--resume")
        assert other.code == 2 and "[platform-journal]" in other.err
        assert cli("import", address, *arguments, "--resume").code == 0
        again = stub.asked[before:]
    assert decision() == SAME and not Path("t.jsonl.pull").exists()
    assert second in again[0], "what was pulled is not asked for again"


@pytest.mark.parametrize(
    ("status", "kind", "body", "said"),
    [
        (200, "text/html", b"<html>Sign in</html>", "a page of HTML"),
        (200, "application/json", b'{"runs": [', "no JSON"),
        (200, "application/json", b'{"items": []}', "no list 'runs'"),
        (200, "application/json", b"[]", "did not answer with an object"),
        (200, "application/json", b'{"runs": [], "cursors": {"next": "a"}}', "the same page again"),
        (302, "text/plain", b"", "answered 302"),
        (401, "application/json", b"{}", "Set LANGSMITH_API_KEY"),
        (404, "application/json", b"{}", "Check address and project"),
        (422, "application/json", b'{"detail": "no"}', "answered 422"),
        (500, "text/plain", b"oops", "answered 500"),
    ],
)
def test_what_is_no_answer_is_said_so(status: int, kind: str, body: bytes, said: str, cli: Cli) -> None:
    with platform(Langsmith) as (stub, address):
        stub.broken["/runs/query"] = (status, kind, body)
        ran = cli("import", address, "--out", "t.jsonl")
    assert ran.code in (3, 4) and said in ran.err, ran.err
    assert "ls-1" not in ran.err and not Path("t.jsonl").exists()


def test_what_changes_during_the_pull(cli: Cli) -> None:
    """What two pages have counts once; what a deletion moved to a page that was read already is not lost unseen."""
    arguments = ("--gold", str(GOLD), "--out", "t.jsonl")
    with platform(Langfuse) as (stub, address):
        stub.shown = lambda page: list(range(len(EXPECTED))) if page == 1 else [0, 0, *range(len(EXPECTED))]
        assert cli("import", address, *arguments).code == 0
        assert decision() == SAME and len(Path("t.jsonl").read_text().splitlines()) == len(EXPECTED)
        Path("t.jsonl").unlink()
        stub.shown = lambda page: list(range(page - 1, len(EXPECTED)))
        ran = cli("import", address, *arguments)
        assert (
            ran.code == 3 and "deleted while they were pulled: 8 of 9 are left" in ran.err and "Pull again" in ran.err
        )
        assert not Path("t.jsonl").exists()


def test_pages_without_end(cli: Cli) -> None:
    class Endless(Langsmith):
        def reply(self, path: str, query: dict[str, str], body: Any) -> Any:
            found = super().reply(path, query, dict(body, cursor="0") if body else None)
            return found | {"cursors": {"next": f"{len(self.stub.asked)}"}} if path.endswith("query") else found

    Endless.__name__ = "Langsmith"
    with platform(Endless) as (stub, address):
        ran = cli("import", address, "--out", "t.jsonl", "--deadline", "2")
    assert ran.code == 4 and "took longer than 2 s" in ran.err and "--deadline" in ran.err
    assert len(stub.asked) > 3 and not Path("t.jsonl").exists()


def test_down_slow_and_empty(cli: Cli) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # takes the connection, and never answers
        ran = cli("import", f"phoenix://127.0.0.1:{silent.getsockname()[1]}/p", "--out", "t.jsonl", "--deadline", "1")
        assert ran.code == 4 and "no answer" in ran.err
        port = silent.getsockname()[1]
    ran = cli("import", f"phoenix://127.0.0.1:{port}/p", "--out", "t.jsonl", "--deadline", "1")
    assert ran.code == 4 and "Is it running" in ran.err
    with platform(Langfuse) as (_, address):
        ran = cli("import", address, "--tag", "none", "--out", "t.jsonl")
    assert ran.code == 3 and "there is no trace" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("phoenix://localhost",), "platform-address"),
        (("langsmith://user:secret@host/p",), "platform-address"),
        (("langfuse://",), "platform-address"),
        (("langfuse://169.254.169.254",), "target-address"),
        (("langfuse://localhost", "--since", "yesterday"), "platform-time"),
        ((str(GOLD), "--since", "1d"), "platform-address"),
    ],
)
def test_what_is_wrong_with_the_call(arguments: tuple[str, ...], code: str, cli: Cli) -> None:
    ran = cli("import", *arguments, "--out", "t.jsonl")
    assert ran.code == 2 and f"[{code}]" in ran.err and "secret" not in ran.err.replace("secrets", "")


def test_keys_come_from_the_environment_alone(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGFUSE_SECRET_KEY")
    monkeypatch.delenv("LANGSMITH_API_KEY")
    for address in ("langfuse://localhost", "langsmith://localhost/p"):
        ran = cli("import", address, "--out", "t.jsonl")
        assert ran.code == 2 and "[platform-key]" in ran.err


def test_a_report_without_traces_of_the_platform_is_not_pushed(cli: Cli) -> None:
    traces = EXPORTS / "expected" / "trace.jsonl"
    assert cli("score", "--gold", str(GOLD), "--trace", str(traces), "-o", "r.json").code == 1
    ran = cli("push", "r.json", "langfuse://localhost", "--trace", str(traces))
    assert ran.code == 3 and "[push-nothing]" in ran.err


# --- real servers ---


def python_of(tool: str) -> Path:
    home = ROOT / ".bench" / tool
    if not (home / "ready").exists():
        pytest.skip(f"{tool} is not installed in .bench/{tool}; `make platforms` does that")
    return home / "bin" / "python"


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@contextmanager
def started(command: list[object], port: str, log: Path, **variables: str) -> Iterator[str]:
    """A server of another program, until the test is over."""
    with log.open("wb") as said:
        environment = {**os.environ, **variables}
        server = subprocess.Popen(list(map(str, command)), env=environment, stdout=said, stderr=subprocess.STDOUT)
    try:
        for _ in range(1200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                    break
            assert server.poll() is None, log.read_text()[-2000:]
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def pulled_and_pushed(cli: Cli, address: str, tag: str) -> None:
    for _ in range(100):  # what was sent is stored a little later
        ran = cli("import", address, "--gold", str(GOLD), "--out", "t.jsonl", "--since", "1h")
        if "rows                9" in ran.out:
            break
        time.sleep(0.2)
    assert ran.code == 0 and decision() == SAME, ran.out + ran.err
    assert "rows                4" in cli("import", address, "--tag", tag, "--dry-run").out
    assert cli("import", f"{address}-none", "--dry-run").code in (2, 4)
    assert cli("import", address, "--until", "1d", "--dry-run").code == 3  # nothing was there yesterday
    assert cli("score", "--gold", str(GOLD), "--trace", "t.jsonl", "-o", "r.json").code == 1
    for _ in range(2):
        assert "wrote 8 results" in cli("push", "r.json", address, "--trace", "t.jsonl").out


@pytest.mark.slow
def test_a_real_phoenix(tmp_path: Path, cli: Cli) -> None:
    python, port = python_of("phoenix"), free_port()
    variables = {
        "PHOENIX_PORT": port,
        "PHOENIX_GRPC_PORT": free_port(),
        "PHOENIX_WORKING_DIR": str(tmp_path / "phoenix"),
    }
    variables |= {"PHOENIX_HOST": "127.0.0.1", "PHOENIX_TELEMETRY_ENABLED": "false"}
    with started([python, "-m", "phoenix.server.main", "serve"], port, tmp_path / "log", **variables) as url:
        feed = [python, ROOT / "tests" / "importers" / "phoenix_feed.py", url]
        subprocess.run([*feed, EXPORTS / "expected" / "trace.jsonl"], check=True)
        address = f"phoenix://127.0.0.1:{port}/harbour"
        pulled_and_pushed(cli, address, "nightly")
        query = "&".join(f"trace_ids={name}" for name in _traces())
        written = asked(f"{url}/v1/projects/harbour/trace_annotations?limit=100&{query}")["data"]
        assert len(written) == 8 and {one["name"] for one in written} == {"shipworthy.answers"}
        assert sum(one["result"]["score"] for one in written) == 4
        _annotate(url)
        assert "scores            1 of 9" in cli("import", address, "--out", "t.jsonl").out
    scored = [json.loads(line) for line in Path("t.jsonl").read_text("utf-8").splitlines() if "scores" in line]
    assert [(len(one["scores"]), one["scores"]["helpful"], one["scores"]["n1199"]) for one in scored] == [(1201, 0, 1)]
    assert {one["score_sources"]["helpful"] + one["score_sources"]["n7"] for one in scored} == {"HUMANLLM"}


def _annotate(url: str) -> None:
    """A person annotates a trace; judges annotate one of its spans, more often than fits one answer."""
    span = asked(f"{url}/v1/projects/harbour/spans?limit=1")["data"][0]["context"]
    said = {"name": "helpful", "annotator_kind": "HUMAN", "result": {"label": "no", "score": 0}}
    _post(f"{url}/v1/trace_annotations?sync=true", [said | {"trace_id": span["trace_id"]}])
    judged = [
        {"span_id": span["span_id"], "name": f"n{number}", "annotator_kind": "LLM", "result": {"score": 1}}
        for number in range(1200)
    ]
    _post(f"{url}/v1/span_annotations?sync=true", judged)


def _post(url: str, data: list[dict[str, Any]]) -> None:
    body = json.dumps({"data": data}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200


@pytest.mark.slow
def test_a_real_mlflow(tmp_path: Path, cli: Cli) -> None:
    python, port = python_of("mlflow"), free_port()
    store = ["--backend-store-uri", f"sqlite:///{tmp_path}/m.db", "--default-artifact-root", tmp_path / "artifacts"]
    command = [python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", port, "--workers", "1", *store]
    with started(command, port, tmp_path / "log", MLFLOW_DISABLE_TELEMETRY="true") as url:
        feed = [python, ROOT / "tests" / "importers" / "mlflow_feed.py", url]
        subprocess.run([*feed, EXPORTS / "expected" / "trace.jsonl"], check=True)
        pulled_and_pushed(cli, f"mlflow://127.0.0.1:{port}/harbour", "kind=nightly")
        ran = cli("import", f"mlflow://127.0.0.1:{port}/harbour", "--tag", "nightly", "--dry-run")
        assert ran.code == 2 and "--tag kind=nightly" in ran.err
        traces = [asked(f"{url}/api/3.0/mlflow/traces/{name}")["trace"]["trace_info"] for name in _traces()]
    written = [one for trace in traces for one in trace.get("assessments", [])]
    assert len(written) == 8 and {one["assessment_name"] for one in written} == {"shipworthy.answers"}
    assert sum(one["feedback"]["value"] for one in written) == 4


def asked(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def _traces() -> list[str]:
    return [json.loads(line)["source"]["trace"] for line in Path("t.jsonl").read_text("utf-8").splitlines()]
