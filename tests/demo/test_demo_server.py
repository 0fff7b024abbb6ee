"""The demo server: a real uvicorn on a free port, ugly requests, and its OpenAPI document held to its word."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, settings

from shipworthy.demo import FAULTS, INDEXES, Knobs, answer, pipeline
from shipworthy.demo.pipeline import striking
from shipworthy.demo.server import MAX_BODY, create_app, serve
from shipworthy.errors import EnvironmentFailure, UsageError
from waiting import FOREVER, wait_until

TOKEN = "a-token-for-the-tests"


class Served:
    """A server in a thread of this process, on a port that the kernel chose."""

    def __init__(self, **options: Any) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.server = uvicorn.Server(uvicorn.Config(create_app(**options), log_level="error"))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)
        self.thread.start()
        wait_until(lambda: self.server.started)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
        payload = body if isinstance(body, bytes) else (None if body is None else json.dumps(body).encode())
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=FOREVER)
        try:
            connection.request(method, path, payload, {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            raw = response.read()
            return response.status, json.loads(raw) if raw else None, dict(response.getheaders())
        finally:
            connection.close()

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(FOREVER)


@pytest.fixture(scope="module")
def plain() -> Iterator[Served]:
    served = Served()
    yield served
    served.close()


@pytest.fixture(scope="module")
def locked() -> Iterator[Served]:
    served = Served(token=TOKEN, faults=["wrong_citation"])
    yield served
    served.close()


def error_of(response: tuple[int, Any, dict[str, str]]) -> tuple[int, str, str]:
    status, body, _ = response
    return status, body["error"]["code"], body["error"]["field"]


def test_qa_gives_the_same_trace_as_the_library(plain: Served) -> None:
    request = {"q": "How much does a lantern weigh?", "qid": "D007", "seed": 2, "jitter": "ws", "knobs": {"k_lex": 7}}
    status, body, _ = plain.send("POST", "/qa", request)
    wanted = answer(request["q"], qid="D007", seed=2, jitter="ws", knobs={"k_lex": 7})
    clock = ("stage_ms", "e2e_ms")
    assert status == 200
    assert {k: v for k, v in body.items() if k not in clock} == {k: v for k, v in wanted.items() if k not in clock}


def test_faults_can_be_switched_on_for_one_request(plain: Served) -> None:
    request = {"q": "Which region takes the writes ?"}
    assert plain.send("POST", "/qa", request)[1]["ok"] is True
    assert plain.send("POST", "/qa", {**request, "faults": ["jitter_flip"]})[1]["ok"] is False


def test_retrieve_gives_a_log_line(plain: Served) -> None:
    status, body, _ = plain.send(
        "POST", "/retrieve", {"q": "port of intake-gate", "qid": "D9", "index": "shadow", "k": 4}
    )
    assert status == 200
    assert body["qid"] == "D9"
    assert len(body["topk"]) == len(body["delta_s"]) == 4
    assert body["topk"][0]["id"].startswith("S.9.1.t.Bk1")


@pytest.mark.parametrize(
    ("path", "body", "field", "says"),
    [
        (
            "/qa",
            {"knobs": {"k_lexx": 3}},
            "knobs",
            "Choose from: k_lex, k_sem, intersect, rerank_depth, knee, slow_ms.",
        ),
        ("/qa", {"knobs": {"k_lex": 3, "depth": 1}}, "knobs", "unknown knob 'depth'. Choose from: k_lex"),
        ("/qa", {"k_lex": 3}, "k_lex", 'write "knobs": {"k_lex": …}'),
        ("/qa", {"knobs": {"k_lex": 3}, "knee": False}, "knee", 'write "knobs": {"knee": …}'),
        ("/retrieve", {"knobs": {"k_lex": 3}}, "knobs", "/retrieve has no knobs: write index, k and seed beside q."),
    ],
)
def test_a_knob_that_would_have_no_effect_is_refused(
    plain: Served, path: str, body: dict[str, Any], field: str, says: str
) -> None:
    status, told, _ = plain.send("POST", path, {"q": "Which region takes the writes?", **body})
    assert status == 422 and told["error"]["field"] == field and says in told["error"]["message"]


def test_empty_knobs_and_fields_that_are_no_knobs_are_let_through(plain: Served) -> None:
    for path in ("/qa", "/retrieve"):
        body = {"q": "Which region takes the writes?", "knobs": {}, "temperature": 0.2}
        assert plain.send("POST", path, body)[0] == 200


def test_healthz_tells_index_and_faults(plain: Served, locked: Served) -> None:
    assert plain.send("GET", "/healthz")[1]["faults"] == []
    assert locked.send("GET", "/healthz")[1]["faults"] == ["wrong_citation"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "q"),
        ({"q": None}, "q"),
        ({"q": 7}, "q"),
        ({"q": "x" * 4001}, "q"),
        ({"q": "a", "qid": 5}, "qid"),
        ({"q": "a", "seed": "0"}, "seed"),
        ({"q": "a", "seed": True}, "seed"),
        ({"q": "a", "seed": 1.5}, "seed"),
        ({"q": "a", "seed": 2**31}, "seed"),
        ({"q": "a", "jitter": []}, "jitter"),
        ({"q": "a", "knobs": []}, "knobs"),
        ({"q": "a", "knobs": {"depth": 3}}, "knobs"),
        ({"q": "a", "knobs": {"k_lex": "many"}}, "knobs"),
        ({"q": "a", "faults": "slow_tail"}, "faults"),
        ({"q": "a", "faults": [1]}, "faults"),
        ({"q": "a", "faults": ["on_fire"]}, "faults"),
        ([], "body"),
        ("text", "body"),
    ],
)
def test_a_bad_field_is_named(plain: Served, body: Any, field: str) -> None:
    status, _, named = error_of(plain.send("POST", "/qa", body))
    assert (status, named) == (422, field)


@pytest.mark.parametrize(("name", "value"), [("index", "dead"), ("index", 1), ("k", 0), ("k", 51), ("k", None)])
def test_a_bad_field_of_retrieve_is_named(plain: Served, name: str, value: Any) -> None:
    status, _, named = error_of(plain.send("POST", "/retrieve", {"q": "a", name: value}))
    assert (status, named) == (422, name)


def test_half_a_surrogate_pair_is_refused_and_not_a_crash(plain: Served) -> None:
    assert error_of(plain.send("POST", "/qa", b'{"q": "\\ud800"}'))[0::2] == (422, "q")
    assert error_of(plain.send("POST", "/qa", b'{"q": "a", "knobs": {"\\ud800": 1}}'))[0::2] == (422, "knobs")
    assert error_of(plain.send("POST", "/qa", b'{"q": "a", "faults": ["\\ud800"]}'))[0::2] == (422, "faults")


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"[" * 60_000, b'{"q": ' + b"9" * 5000 + b"}"])
def test_what_is_not_json_is_a_400(plain: Served, raw: bytes) -> None:
    assert error_of(plain.send("POST", "/qa", raw)) == (400, "body-not-json", "body")


def test_a_body_over_the_limit_is_a_413(plain: Served) -> None:
    assert error_of(plain.send("POST", "/qa", b" " * (MAX_BODY + 1))) == (413, "body-too-large", "body")
    assert plain.send("POST", "/qa", b'{"q": "mast"}' + b" " * (MAX_BODY - 13))[0] == 200


def test_unknown_paths_and_wrong_methods_are_json_too(plain: Served) -> None:
    assert error_of(plain.send("GET", "/nowhere"))[:2] == (404, "not-found")
    response = plain.send("GET", "/qa")
    assert error_of(response)[:2] == (405, "method-not-allowed")
    assert response[2]["allow"] == "POST"


def test_a_token_is_asked_for_where_one_is_set(locked: Served) -> None:
    request = {"q": "How much does a lantern weigh?"}
    for sent in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer \xe9"}):
        assert error_of(locked.send("POST", "/qa", request, **sent))[:2] == (401, "unauthorized")
    assert locked.send("POST", "/qa", request, Authorization=f"Bearer {TOKEN}")[0] == 200
    assert locked.send("GET", "/healthz")[0] == 200


def test_standing_faults_reach_the_answers(locked: Served) -> None:
    questions = ["How much does a lantern weigh?", "Which region takes the writes?", "Who signs off price changes?"]
    questions += ["When is the sandbox emptied?", "How long does a rollback take?", "How long do certificates last?"]
    cited = [
        locked.send("POST", "/qa", {"q": q}, Authorization=f"Bearer {TOKEN}")[1]["answer_json"]["citations"]
        for q in questions
    ]
    right = [answer(q)["answer_json"]["citations"] for q in questions]
    assert cited == [answer(q, faults=["wrong_citation"])["answer_json"]["citations"] for q in questions]
    assert cited != right


def test_a_slow_answer_does_not_hold_up_the_others(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    asleep, awake = threading.Event(), threading.Event()

    def sleep(seconds: float) -> None:
        asleep.set()
        awake.wait()

    monkeypatch.setattr(pipeline, "time", SimpleNamespace(perf_counter=time.perf_counter, sleep=sleep))
    faults = ["slow_tail"]
    slow = next(q for n in range(200) if striking(frozenset(faults), q := f"mast {n}"))
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(plain.send("POST", "/qa", {"q": slow, "faults": faults})))
    waiting.start()
    asleep.wait()
    assert plain.send("POST", "/qa", {"q": "mast"})[0] == 200
    assert not answers
    awake.set()
    waiting.join()
    assert answers[0][0] == 200


def test_a_whole_number_may_be_written_with_a_point(plain: Served) -> None:
    assert plain.send("POST", "/qa", b'{"q": "mast", "seed": 2.0, "knobs": {"k_lex": 3.0}}')[1]["seed"] == 2


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "demo.example"])
def test_serving_beyond_this_machine_needs_a_token(host: str) -> None:
    with pytest.raises(UsageError) as caught:
        serve(host=host)
    assert caught.value.code == "demo-token-required"


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, *arguments], stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_serve_runs_as_a_process_and_ends_on_a_signal() -> None:
    said = "lambda text: print(text, file=sys.stderr, flush=True)"
    script = f"import sys; from shipworthy.demo.server import serve; serve(port=0, said={said})"
    with running("-c", script) as process:
        assert _health(process) == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=FOREVER)
        assert process.returncode in (0, -signal.SIGTERM)


def test_serve_says_where_it_listens_and_ends_on_ctrl_c() -> None:
    with running("-m", "shipworthy", "demo", "serve", "--port", "0") as process:
        assert _health(process) == 200
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=FOREVER)
        assert (process.returncode, rest.strip()) == (0, "")


def test_answers_do_not_wait_for_the_kernel_to_fill_a_packet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that are taken on the server's socket have Nagle's delay switched off."""
    bound: list[socket.socket] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: bound.extend(sockets))
    serve(port=0)

    async def no_delay() -> int:
        taken: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            taken.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(connected, sock=bound[0]):
            _, writer = await asyncio.open_connection(*bound[0].getsockname())
            writer.close()
            return await taken

    assert asyncio.run(no_delay()) == 1


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(EnvironmentFailure, match="demo-port"):
        serve(port=taken.getsockname()[1])


def _health(process: subprocess.Popen[str]) -> int:
    """What a server answers once it has said where it listens."""
    assert process.stderr is not None
    port = int(process.stderr.readline().partition("127.0.0.1:")[2].partition("/")[0])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=FOREVER)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    finally:
        connection.close()


# DNS rebinding


@pytest.mark.parametrize("path", ["/qa", "/retrieve", "/healthz", "/openapi.json", "/nothing"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "169.254.169.254",
        "192.168.0.7:8080",
        "localhost:8080:80",
        "localhost@evil.example",
        "[::1",
        "",
    ],
)
def test_another_host_is_not_served(plain: Served, host: str, path: str) -> None:
    assert error_of(plain.send("POST", path, {"q": "Hi?"}, Host=host)) == (421, "wrong-host", "host")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.2:9", "[::1]:8080", "[::1]", "localhost."]
)
def test_this_machine_is_served_by_its_names(plain: Served, host: str) -> None:
    assert plain.send("GET", "/healthz", Host=host)[0] == 200


def test_two_hosts_or_none_are_not_served(plain: Served) -> None:
    for head in ("", "Host: localhost\r\nHost: evil.example\r\n", "Host: evil.example\r\nHost: localhost\r\n"):
        with socket.create_connection(("127.0.0.1", plain.port), timeout=FOREVER) as connection:
            connection.sendall(f"GET /healthz HTTP/1.0\r\n{head}\r\n".encode())
            assert connection.recv(100).split()[1] in (b"400", b"421")


def test_the_bound_host_is_served_and_numbers_where_every_address_is_bound() -> None:
    for bound, served, refused in (
        ("demo.internal", ["demo.internal:80", "localhost"], ["other.internal", "10.0.0.7"]),
        ("0.0.0.0", ["10.0.0.7:80", "[fd00::7]", "localhost"], ["evil.example"]),
    ):
        server = Served(token=TOKEN, host=bound)
        try:
            assert {server.send("GET", "/healthz", Host=host)[0] for host in served} == {200}
            assert {server.send("GET", "/healthz", Host=host)[0] for host in refused} == {421}
        finally:
            server.close()


# the contract

schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(host="testserver"))


@schema.parametrize()
@settings(max_examples=12, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_server_keeps_to_its_openapi_document(case: Any) -> None:
    if isinstance(case.body, dict) and isinstance(case.body.get("faults"), list):
        case.body["faults"] = [fault for fault in case.body["faults"] if fault != "slow_tail"]
    case.call_and_validate()


def test_the_document_lists_every_knob_fault_and_index(plain: Served) -> None:
    schemas = plain.send("GET", "/openapi.json")[1]["components"]["schemas"]
    defaults = {name: shape["default"] for name, shape in schemas["Knobs"]["properties"].items()}
    assert defaults == {field.name: field.default for field in fields(Knobs)}
    assert schemas["Fault"]["enum"] == list(FAULTS)
    assert schemas["Lookup"]["properties"]["index"]["enum"] == list(INDEXES)
