"""A stream that did not come whole is a failed run that says so; one that did is an answer, to its last letter."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import faultserver
from conftest import trace, write_lines
from faultserver import FaultServer, response
from shipworthy import run
from shipworthy.runner.redact import Secrets
from shipworthy.web.address import vetted_url
from shipworthy.web.client import Client

EVENTS = "content-type: text/event-stream\r\n"
ONE, TWO = 'data: {"token":"a"}\n\n', 'data: {"token":"b"}'
CHAT = 'data: {"choices":[{"delta":{"content":"a"},"finish_reason":null}]}\n\n'
LAST = 'data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}\n\n'


def closed(text: str) -> bytes:
    """A body that ends with its connection."""
    return f"HTTP/1.1 200 OK\r\n{EVENTS}connection: close\r\n\r\n{text}".encode()


def sized(text: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\n{EVENTS}content-length: {len(text.encode())}\r\n\r\n{text}".encode()


def chunked(text: str, end: str = "0\r\n\r\n") -> bytes:
    head = f"HTTP/1.1 200 OK\r\n{EVENTS}transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    return f"{head}{len(text):x}\r\n{text}\r\n{end}".encode()


def asked(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch, **options: Any) -> dict[str, Any]:
    async def answer(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if b"content-length" not in data:
            writer.close()

    monkeypatch.setitem(faultserver.FAULTS, "/stream", answer)
    question = [SimpleNamespace(qid="q", question="What?", paraphrases=())]
    out = tmp_path / "t.jsonl"
    with FaultServer() as server:
        run(question, server.url("/stream"), out, retries=0, breaker=5, overwrite=True, **options)
    (record,) = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    return record


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (sized(ONE + TWO), "ab"),  # the last event lacks its newline, and the response says that this was all
        (chunked(ONE + TWO), "ab"),
        (closed(ONE + TWO + "\n\n"), "ab"),
        (closed(CHAT + LAST), "ab"),
        (closed(CHAT + "data: [DONE]"), "a"),
        (sized("data: plain\n\ndata: words"), "plainwords"),
    ],
)
def test_a_stream_that_came_whole_keeps_its_text(
    tmp_path: Path, data: bytes, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = asked(tmp_path, data, monkeypatch)
    assert "error" not in record and record["answer_json"]["claim"] == text


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (closed(ONE + TWO), "in the middle of an event"),
        (closed(ONE + 'data: {"token":"b'), "in the middle of an event"),
        (sized(ONE + 'data: {"token":"b'), "in the middle of an event"),  # cut before whoever framed it
        (closed(ONE + "dat"), "in the middle of an event"),
        (closed(CHAT), "without its last event"),
        (closed("data: x\n\n" * 100_001), "more than 100,000 events"),
        (sized("data: x\n\n" * 100_001), "more than 100,000 events"),
    ],
)
@pytest.mark.parametrize("mapping", [(), ("claim=text",)])
def test_a_stream_that_did_not_come_whole_is_a_failed_run(
    tmp_path: Path, data: bytes, says: str, mapping: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = asked(tmp_path, data, monkeypatch, mapping=mapping)
    assert record["error"].startswith("cut-off: ") and says in record["error"] and "answer_json" not in record


def test_a_hundred_thousand_events_are_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(tmp_path, sized("data: x\n\n" * 100_000), monkeypatch)["answer_json"]["claim"] == "x" * 100_000


@pytest.mark.parametrize("error", ["the index is gone", {"code": 7}])
@pytest.mark.parametrize("mapping", [("claim=answer",), ("claim=answer", "error=failure")])
def test_an_error_beside_a_mapped_claim_is_an_error(
    tmp_path: Path, error: object, mapping: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"answer": "Something went wrong, sorry.", "error": error}
    record = asked(tmp_path, response(json.dumps(body).encode()), monkeypatch, mapping=mapping)
    assert record["error"].startswith("target: ")
    for none in (None, "", False):
        body["error"] = none
        record = asked(tmp_path, response(json.dumps(body).encode()), monkeypatch, mapping=mapping)
        assert "error" not in record and record["answer_json"]["claim"] == body["answer"]


def test_a_redirect_to_another_port_of_the_host_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer() as other:
        moved = response(b"", "307 Temporary Redirect", f"location: {other.url('/qa')}\r\n")
        record = asked(tmp_path, moved, monkeypatch, allow_redirects=True)
        assert "only 307 and 308 on the same host are followed" in record["error"] and not other.hits
    assert "answer_json" in asked(
        tmp_path, response(b"", "307 Temporary Redirect", "location: /qa\r\n"), monkeypatch, allow_redirects=True
    )


@pytest.mark.parametrize("size", [99, 100, 101, 5000])
def test_a_body_is_cut_at_its_limit(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(response(b"x" * size))

    async def sent(url: str) -> Any:
        client = Client(vetted_url(url), {})
        try:
            return await client.send("GET", vetted_url(url), None, {}, 100)
        finally:
            await client.close()

    monkeypatch.setitem(faultserver.FAULTS, "/stream", answer)
    with FaultServer() as server:
        reply = asyncio.run(sent(server.url("/stream")))
    assert len(reply.body) == min(size, 100) and reply.whole == (size <= 100)


@pytest.mark.parametrize("order", [["abcd", "abcdefgh"], ["abcdefgh", "abcd"]])
def test_the_longer_of_two_secrets_is_hidden_whole(order: list[str]) -> None:
    secrets = Secrets(order)
    assert secrets.hide("abcdefgh, abcd") == "[redacted], [redacted]"
    assert secrets.hide_bytes(b"abcdefgh, abcd") == b"[redacted], [redacted]"


GIVEN = {"body": '{"q": "{question}"}', "query": {"top": "{question}"}, "method": "PUT"}


@pytest.mark.parametrize("changed", GIVEN)
def test_another_request_is_another_run(tmp_path: Path, changed: str) -> None:
    question = [SimpleNamespace(qid=f"q{n}", question="What?", paraphrases=()) for n in range(2)]
    out = tmp_path / "t.jsonl"
    from shipworthy.errors import UsageError

    with FaultServer() as server:
        for before, after in ((GIVEN, {**GIVEN, changed: _other(changed)}), ({}, {changed: GIVEN[changed]})):
            run(question, server.url("/qa"), out, max_requests=1, overwrite=True, **before)
            with pytest.raises(UsageError, match=r"the plan or the target changed since.*\[journal-mismatch\]"):
                run(question, server.url("/qa"), out, resume=True, **after)
            assert run(question, server.url("/qa"), out, resume=True, **before).complete


def _other(name: str) -> Any:
    return {"body": '{"query": "{question}"}', "query": {"more": "{question}"}, "method": "POST"}[name]


HUMAN = {"scores": {"tone": True}, "score_sources": {"tone": "HUMAN"}}


@pytest.mark.parametrize("kind", ["http", "cmd", "py", "replay"])
def test_no_score_of_a_target_is_a_persons(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({**trace("q"), **HUMAN})
    (tmp_path / "pipeline.py").write_text(f"import json\ndef answer(q): return json.loads({body!r})\n")
    (tmp_path / "say.py").write_text(f"print({body!r})\n")
    write_lines(tmp_path / "old.jsonl", [{**trace("q0"), **HUMAN}])
    monkeypatch.chdir(tmp_path)

    async def answer(server: FaultServer, path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(response(body.encode()))

    monkeypatch.setitem(faultserver.FAULTS, "/stream", answer)
    with FaultServer() as server:
        import sys

        target = {
            "http": server.url("/stream"),
            "cmd": f"cmd:{sys.executable} say.py",
            "py": "py:pipeline:answer",
            "replay": "replay:old.jsonl",
        }[kind]
        run([SimpleNamespace(qid="q0", question="What?", paraphrases=())], target, "t.jsonl")
    (record,) = [json.loads(line) for line in Path("t.jsonl").read_text("utf-8").splitlines()]
    assert record["scores"] == {"tone": True} and "score_sources" not in record
