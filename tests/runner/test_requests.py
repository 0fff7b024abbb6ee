"""Requests: templates filled in the tree, queries, streams, what is refused before anything is sent."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from shipworthy.errors import UsageError
from shipworthy.net.events import EventStream
from shipworthy.runner import make_plan
from shipworthy.runner.execute import ask_once, record_of
from shipworthy.runner.plan import Ask
from shipworthy.runner.targets import AskFailed, TargetOptions, parse_target
from shipworthy.runner.template import fill, parse_body
from waiting import FOREVER
from webserver import serving

ASK = Ask("Q1", "Q1#", 3, "none", 0, "", 'Is it "}, {"x": 1?', {}, 0.2, [{"role": "user", "content": "hi"}])
OPENAI = [
    {"choices": [{"delta": {"role": "assistant"}}]},
    {"choices": [{"delta": {"content": "It is "}}]},
    {"choices": [{"delta": {"content": "49 [d1]."}}]},
    {"choices": [{"delta": {}}], "sources": [{"id": "d1"}]},
]


class Handler(BaseHTTPRequestHandler):
    """Says back what came; streams under /sse, a page under /page, a proxy under absolute URLs."""

    protocol_version = "HTTP/1.1"
    seen: list[dict[str, Any]] = []

    def _reply(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen.append({"method": self.command, "path": self.path, "body": body, "headers": dict(self.headers)})
        path = urlsplit(self.path).path
        if path == "/sse":
            events = [f"data: {json.dumps(event)}\n\n" for event in OPENAI]
            self._send("".join([": hello\n\n", *events, "data: [DONE]\n\n"]).encode(), "text/event-stream")
        elif path == "/plain-sse":
            self._send(b"event: token\r\ndata: It is\r\n\r\ndata:  49.\r\n\r\n", "text/event-stream; charset=utf-8")
        elif path == "/page":
            self._send(b"<!DOCTYPE html><title>Sign in</title>", "text/html")
        else:
            self._send(
                json.dumps({"answer": "It is 49.", "proxied": self.path.startswith("http")}).encode(),
                "application/json",
            )

    do_GET = do_POST = do_PUT = _reply

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Handler) as address:
        yield address


def asked(spec: str, **options: Any) -> tuple[dict[str, Any], AskFailed | None, float]:
    async def once() -> tuple[dict[str, Any], AskFailed | None, float]:
        target = parse_target(spec, TargetOptions(**options))
        try:
            trace, elapsed, failure = await ask_once(target, ASK, FOREVER)
        finally:
            await target.close()
        return trace, failure, elapsed

    return asyncio.run(once())


MAP = ("claim=answer",)


def test_a_body_template_is_filled_in_the_tree(url: str) -> None:
    body = """{"q": "{question}", "n": "{seed}", "t": "{temperature}", "h": "{history}",
               "s": "run {seed} of {qid}", "k": [true]}"""
    trace, failure, _ = asked(f"{url}/ask", body=body, mapping=MAP)
    assert failure is None and trace["answer_json"]["claim"] == "It is 49."
    assert json.loads(Handler.seen[-1]["body"]) == {
        "q": ASK.question,
        "n": 3,
        "t": 0.2,
        "h": [{"role": "user", "content": "hi"}],
        "s": "run 3 of Q1",
        "k": [True],
    }


def test_a_query_makes_a_get(url: str) -> None:
    for spec, query in ((f"{url}/ask?lang=en", {"q": "{question}"}), (f"{url}/ask?lang=en&q={{question}}", {})):
        _, failure, _ = asked(spec, query=query, mapping=MAP)
        sent = Handler.seen[-1]
        assert failure is None and sent["method"] == "GET" and sent["body"] == b""
        assert parse_qs(urlsplit(sent["path"]).query) == {"lang": ["en"], "q": [ASK.question]}


def test_a_method_and_a_file_of_a_body(url: str, tmp_path: Any) -> None:
    (tmp_path / "body.json").write_text('{"question": "{question}"}')
    asked(f"{url}/ask", method="put", body=f"@{tmp_path / 'body.json'}", mapping=MAP)
    assert Handler.seen[-1]["method"] == "PUT" and json.loads(Handler.seen[-1]["body"]) == {"question": ASK.question}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"body": '{"q": "{questio}"}'}, "body-placeholder"),
        ({"body": '{"q": {question}}'}, "body-json"),
        ({"body": "question"}, "body-json"),
        ({"body": '{"q": "{{question}}"}'}, "body-question"),
        ({"body": '{"{question}": 1}'}, "body-question"),
        ({"body": {}}, "body-question"),
        ({"body": "@/no/such/file"}, "no-file"),
        ({"query": {"q": "{nope}"}}, "body-placeholder"),
        ({"query": {"lang": "en"}}, "body-question"),
        ({"method": "G E T"}, "http-method"),
        ({"method": "GET"}, "body-question"),
        ({"mapping": ("citations=a",)}, "map-path"),
        ({"ca_file": "/no/such/file"}, "no-file"),
    ],
)
def test_what_can_not_be_sent_is_refused_first(options: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target("https://127.0.0.1:9/ask", TargetOptions(**options))
    assert caught.value.code == code


def test_placeholders_are_not_filled_twice_and_braces_can_be_written() -> None:
    ask = Ask("Q", "Q", 0, "none", 0, "", "what is {qid}?")
    graph = "query($q: String!) { ask(question: $q) { sources { id }}}"  # no placeholder, so nothing is unescaped
    assert fill({"query": graph, "variables": {"q": "{question}"}}, ask)["query"] == graph  # type: ignore[index]
    assert fill(parse_body('{"a": "{question} {{x}} {not json}"}'), ask) == {"a": "what is {qid}? {x} {not json}"}


def test_streams_are_read_to_the_end(url: str) -> None:
    mapping = ("claim=text", "retrieved_ids=sources[*].id", r"citations=re:\[(\w+)\]@text")
    trace, failure, elapsed = asked(f"{url}/sse", body={"q": "{question}"}, mapping=mapping)
    assert failure is None
    assert trace["answer_json"] == {"claim": "It is 49.", "citations": ["d1"]} and trace["retrieved_ids"] == ["d1"]
    record = record_of(ASK, trace, elapsed, None)
    assert 0 < record["ttft_ms"] <= record["e2e_ms"]
    trace, failure, _ = asked(f"{url}/plain-sse", body={"q": "{question}"})
    assert failure is None and trace["answer_json"]["claim"] == "It is 49."


def test_events_in_any_pieces() -> None:
    raw = b'data: {"type": "content_block_delta", "delta": {"text": "a"}}\n\ndata: "b"\n\ndata: 3\n\ndata: [DONE]\n\n'
    for size in (1, 7, 1000):
        stream = EventStream()
        for start in range(0, len(raw), size):
            stream.feed(raw[start : start + size])
        assert stream.whole()["text"] == "ab3"


@pytest.mark.parametrize("text", ["No lo sé.", "Sí, en la etiqueta, y también en el manual.", "Depende mucho."])
def test_what_an_event_is_never_becomes_the_answer(text: str) -> None:
    """However short the answer is, and however many kinds of events there are, in whatever language."""
    pieces = [{"tipo": "fragmento", "texto": word + " "} for word in text.split()]
    events = [{"tipo": "inicio", "sesion": "s1"}, {"tipo": "fuentes", "refs": ["a", "b"]}, *pieces, {"tipo": "fin"}]
    stream = EventStream()
    stream.feed(b"".join(json.dumps(event).encode() + b"\n" for event in events))
    assert str(stream.whole()["text"]).strip() == text


def test_a_page_is_told_from_json(url: str) -> None:
    _, failure, _ = asked(f"{url}/page", body={"q": "{question}"}, mapping=MAP)
    assert failure is not None and failure.kind == "bad-json"
    assert "is an HTML page ('Sign in'), not a JSON object" in failure.what


def test_proxies_are_used_only_where_they_are_asked_for(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    given = {"body": {"q": "{question}"}, "mapping": MAP}
    assert asked(f"{url}/ask", **given)[1] is None
    _, failure, _ = asked(f"{url}/ask", trust_env=True, **given)
    assert failure is not None and failure.kind == "unreachable"
    _, failure, _ = asked("http://127.0.0.1:1/ask", proxy=url, **given)
    assert failure is None and Handler.seen[-1]["path"] == "http://127.0.0.1:1/ask"


def test_our_own_work_is_not_charged_to_the_target(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from shipworthy.runner.targets import http

    slow = 0.3
    parsed = http.parsed

    def slowly(raw: bytes, **further: Any) -> dict[str, Any]:
        time.sleep(slow)
        return parsed(raw, **further)

    monkeypatch.setattr(http, "parsed", slowly)
    before = time.monotonic()
    _, failure, elapsed = asked(f"{url}/ask", body={"q": "{question}"}, mapping=MAP)
    assert failure is None and elapsed / 1000 <= time.monotonic() - before - slow


def test_fields_that_never_came_are_known(url: str) -> None:
    async def unmatched() -> dict[str, tuple[str, str]]:
        target = parse_target(
            f"{url}/ask", TargetOptions(body={"q": "{question}"}, mapping=(*MAP, "retrieved_ids=docs"))
        )
        await ask_once(target, ASK, FOREVER)
        await target.close()
        return target.unmatched()  # type: ignore[attr-defined]

    assert asyncio.run(unmatched()) == {"retrieved_ids": ("answer, proxied", "")}


def test_temperatures_are_an_axis_of_the_plan() -> None:
    from shipworthy import Gold

    plan = make_plan([Gold(qid="A", question="x?")], seeds=(0, 1), temperatures=(0, 0.2))
    asks = list(plan)
    assert len(plan) == len(asks) == 4
    assert [ask.run_id for ask in asks[:2]] == ["A#seed=0;j=none;t=0", "A#seed=0;j=none;t=0.2"]
    assert [ask.temperature for ask in asks[:2]] == [0, 0.2]
    assert next(iter(make_plan([Gold(qid="A", question="x?")]))).temperature is None
