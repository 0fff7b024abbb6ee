"""`init --url` where the choice is not certain, where the same answer comes to both questions, and fixed refusals."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from webserver import serving

ANSWER = "Refunds are possible within 30 days."
GOLD = [
    {"qid": "Q1", "question": "When is a refund possible?", "answerable": True, "gold_claim_substr": ["30 days"]},
    {"qid": "U1", "question": "Who is the chief executive?", "answerable": False, "gold_claim_substr": []},
]
FIXED = "Dazu liegen mir leider keine Angaben vor."


def replied(path: str, body: Any) -> tuple[int, Any]:
    if path == "/list":  # a text in place of the list is taken letter by letter, and understood as nothing
        if "data" not in body:
            return 422, {"detail": [{"type": "missing", "loc": ["body", "data"], "msg": "Field required"}]}
        first = body["data"][0] if isinstance(body["data"], (str, list)) else None
        if not isinstance(first, str):
            return 422, {"detail": "data: expected a list of texts"}
        right = "refund" in first
        return 200, {"data": [ANSWER if right else "I don't know."]}
    right = "refund" in json.dumps(body)
    if path == "/fixed":
        return 200, {"answer": ANSWER if right else FIXED}
    if path == "/empty":
        return 200, {"answer": ANSWER if right else None, "took": 3}
    if path == "/elsewhere":
        return 200, {"parts": [{"cited": {"text": ANSWER}} if right else {"plain": {"text": "I don't know."}}]}
    if path == "/refuses":  # under a name that says nothing
        return 200, {"results": [{"data": "I don't know based on the documents.", "took": 3}]}
    if path == "/footer":
        return 200, {"answer": f"{ANSWER if right else FIXED}\n\nWritten by a machine, please check it."}
    if path == "/two":
        draft = "Refunds: 30 days, says the draft." if right else "I don't know yet."
        return 200, {"answer": ANSWER if right else "I don't know.", "response": draft}
    return 200, {"answer": "Hello! How can I help you today?"}  # /deaf


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, said = replied(self.path, body) if self.path != "/only-get" else (404, {"error": "no such path"})
        raw = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        if not self.path.startswith("/only-get?q="):
            return self.send_error(400 if self.path.startswith("/only-get?") else 404)
        right = "refund" in self.path  # a stream that names one file beside its words
        events = [("word", {"w": word + " "}) for word in (ANSWER if right else "I don't know.").split()]
        events += [("beleg", {"dok": "policy.md"})] if right else []
        raw = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Handler) as address:
        yield address


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in GOLD))


def config() -> dict[str, Any]:
    return tomllib.loads(Path("shipworthy.toml").read_text("utf-8"))


def test_a_second_text_that_may_be_the_answer_is_named_with_its_flag(url: str, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/two")
    assert ran.code == 0 and config()["map"]["claim"] == "answer"
    assert "Not certain" in ran.out and "--map claim=response" in ran.out


def test_no_doubt_is_raised_without_a_reason(url: str, cli: Cli) -> None:
    assert "Not certain" not in cli("init", "--url", f"{url}/fixed").out


def test_a_wording_that_comes_to_every_unanswerable_question_is_its_refusal(url: str, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/fixed")
    assert ran.code == 0 and FIXED in Path("refusals.txt").read_text("utf-8")
    assert config()["suites"]["answers"]["refusal_phrases"] == "refusals.txt"
    assert cli("check", "--run").code == 0


def test_a_field_that_is_left_empty_is_a_refusal(url: str, cli: Cli) -> None:
    assert cli("init", "--url", f"{url}/empty").code == 0
    assert config()["map"]["refused"] == "empty@answer"
    assert cli("check", "--run").code == 0


def test_a_refusal_at_another_place_is_read(url: str, cli: Cli) -> None:
    assert cli("init", "--url", f"{url}/elsewhere").code == 0
    assert config()["map"]["claim"] == "parts[0].cited.text||parts[0].plain.text"
    assert cli("check", "--run").code == 0


def test_another_request_is_tried_where_both_questions_get_one_answer(url: str, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/list")
    assert ran.code == 0 and json.loads(config()["target"]["body"]) == {"data": ["{question}"]}
    assert "same answer" not in ran.out


def test_a_service_that_always_says_the_same_is_reported(url: str, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/deaf")
    assert ran.code == 0 and "got the same answer" in ran.out
    assert not Path("refusals.txt").exists()


def test_a_refusal_of_both_questions_is_what_it_answers(
    url: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").unlink()
    ran = cli("init", "--url", f"{url}/refuses", "--question", "When is it open?")
    assert ran.code == 0 and "This is a refusal" in ran.out
    assert "data" in tomllib.loads(Path("shipworthy.toml").read_text())["map"]["claim"]
    ran = cli("check", "--run")  # the expected text is still the one that init wrote
    assert ran.code == 3 and "[gold-placeholder]" in ran.out and "gold.jsonl:1:" in "".join(ran.out.split())


def test_a_service_that_knows_its_path_by_get_alone_is_asked_by_get(url: str, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/only-get")
    assert ran.code == 0, ran.err
    assert config()["target"]["query"] == {"q": "{question}"} and config()["map"]["citations"] == "dok"
    assert cli("check", "--run").code == 0


def test_more_than_the_answer_is_said_to_be_doubtful(url: str, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/footer")
    assert ran.code == 0 and "Not certain that this is the answer alone" in ran.out
    assert "Written by a machine" in ran.out
