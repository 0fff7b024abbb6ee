"""`init --url`: what is sent, what is understood, what is written, and what is said where nothing can be."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from shipworthy.config import load_config
from webserver import serving

CHAT = {
    "choices": [{"message": {"content": "It is 49 (source: d1)."}}],
    "documents": [{"doc_id": "d1", "content": "t"}],
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bodies: list[Any] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(body)
        status, reply, kind = 200, b"{}", "application/json"
        if self.path == "/query-only" and "query" not in body:
            status, reply = 422, b'{"detail": [{"loc": ["body", "query"], "msg": "field required"}]}'
        elif self.path == "/query-only":
            reply = json.dumps({"result": {"text": "It is 49."}, "retrieved": ["a", "b"]}).encode()
        elif self.path == "/chat":
            reply = json.dumps(CHAT).encode() if "messages" in body else b'{"error": "messages"}'
            status = 200 if "messages" in body else 400
        elif self.path == "/page":
            reply, kind = b"<html><title>Log in</title></html>", "text/html"
        elif self.path == "/secret":
            ok = self.headers.get("Authorization") == "Bearer hunter2hunter2"
            status, reply = (200, b'{"answer": "key hunter2hunter2"}') if ok else (401, b"who are you")
        elif self.path == "/odd":
            reply = b'{"n": 1, "list": []}'
        else:
            status, reply = 404, b"no such path"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Handler) as address:
        yield address


def config(folder: Path) -> dict[str, Any]:
    load_config(folder / "shipworthy.toml")  # what is written can be read
    return tomllib.loads((folder / "shipworthy.toml").read_text("utf-8"))


def test_the_body_is_found_by_what_the_service_refuses(url: str, tmp_path: Path, cli: Cli) -> None:
    ran = cli("init", tmp_path, "--url", f"{url}/query-only")
    assert ran.code == 0, ran.err
    written = config(tmp_path)
    assert json.loads(written["target"]["body"]) == {"query": "{question}"}
    assert written["map"] == {"claim": "result.text", "retrieved_ids": "retrieved"}
    assert "No citations were recognised" in ran.out
    gold = [json.loads(line) for line in (tmp_path / "gold.jsonl").read_text().splitlines()]
    assert [row["answerable"] for row in gold] == [True, False]


def test_a_chat_endpoint(url: str, tmp_path: Path, cli: Cli) -> None:
    assert cli("init", tmp_path, "--url", f"{url}/chat").code == 0
    written = config(tmp_path)
    assert written["map"]["claim"] == "choices[0].message.content"
    assert written["map"]["citations"] == "markers@choices[0].message.content"
    assert written["map"]["retrieved_ids"] == "documents[*].doc_id"
    assert json.loads(written["target"]["body"])["messages"][0]["role"] == "user"


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("/page", 2, "is an HTML page ('Log in'), not a JSON object. Give the URL of the API"),
        ("/nowhere", 2, "HTTP 404: no such path. Check the path of the URL."),
        ("/secret", 2, "HTTP 401: who are you. It wants credentials"),
        (
            "/odd",
            2,
            "nothing in the response reads like an answer; it has n, list. Say which field is the answer: --map",
        ),
    ],
)
def test_what_came_instead_is_said(url: str, tmp_path: Path, cli: Cli, path: str, code: int, said: str) -> None:
    ran = cli("init", tmp_path, "--url", url + path)
    assert ran.code == code and said in ran.err and "[init-response]" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_nobody_listens(tmp_path: Path, cli: Cli) -> None:
    ran = cli("init", tmp_path, "--url", "http://127.0.0.1:9/ask")
    assert ran.code == 4 and "Start the service" in ran.err


def test_secrets_stay_in_the_environment(url: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_TOKEN", "hunter2hunter2")
    ran = cli("init", tmp_path, "--url", f"{url}/secret", "--header", "Authorization=Bearer ${APP_TOKEN}")
    assert ran.code == 0, ran.err
    assert "hunter2" not in ran.out + ran.err + (tmp_path / "shipworthy.toml").read_text()
    assert config(tmp_path)["target"]["headers"] == {"Authorization": "Bearer ${APP_TOKEN}"}
    ran = cli("init", tmp_path / "x", "--url", f"{url}/secret", "--header", "Authorization=Bearer hunter2hunter2")
    assert ran.code == 2 and "[header]" in ran.err and "hunter2" not in ran.err


def test_nothing_is_overwritten_without_force(url: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "shipworthy.toml").write_text("mine")
    (tmp_path / "gold.jsonl").write_text("")
    ran = cli("init", tmp_path, "--url", f"{url}/query-only")
    assert ran.code == 2 and "[init-exists]" in ran.err and "result.text" in ran.out
    assert (tmp_path / "shipworthy.toml").read_text() == "mine"
    assert cli("init", tmp_path, "--url", f"{url}/query-only", "--force").code == 0
    assert config(tmp_path)["suites"]["answers"]["gold"] == "gold.jsonl"
    assert (tmp_path / "gold.jsonl").read_text() == ""


def test_flags_of_a_service_need_one(tmp_path: Path, cli: Cli) -> None:
    assert cli("init", tmp_path, "--map", "claim=a").code == 2
