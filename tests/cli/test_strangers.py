"""Services as strangers have them, of four shapes: each is connected by `init --url` alone and judged alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from conftest import Cli
from webserver import serving

TEXTS = {
    "doc1": "The Team plan costs $49 per user per month.",
    "doc2": "Items can be returned within 30 days of delivery.",
    "doc3": "The starter plan includes 2 GB of storage.",
    "doc6": "Accounts are locked after five failed login attempts.",
    "doc8": "The API limit is 1,200 requests per minute.",
    "doc9": "Backups are kept for 90 days and then deleted.",
}
# Correct answers in other spellings than the gold set's; then one that denies its text, and one that should refuse.
ANSWERS = {
    "cost": ("The Team plan costs **$49** per user per month [doc1].", ["doc1", "doc3"]),
    "return": ("You have thirty days from delivery to return an item [doc2].", ["doc2", "doc9"]),
    "storage": ("The starter plan comes with 2 GB of storage [doc3].", ["doc3", "doc1"]),
    "locked": ("After 5 failed login attempts the account is locked [doc6].", ["doc6", "doc1"]),
    "limit": ("You can send up to 1200 requests per minute [doc8].", ["doc8", "doc1"]),
    "backup": ("Backups are not kept for 90 days; they are kept for 130 days [doc9].", ["doc9", "doc2"]),
    "phone": ("The phone number is 555-1234 [doc1].", ["doc1", "doc9"]),
}
GOLD = """qid,question,answerable,gold_claim_substr,gold_citations
Q1,What does the Team plan cost?,true,$49,doc1
Q2,How long can I return an item?,true,30 days,doc2
Q3,How much storage does the starter plan include?,true,2 GB,doc3
Q4,When is an account locked?,true,five failed login attempts,doc6
Q5,What is the API limit?,true,"1,200 requests",doc8
Q6,How long is a backup kept?,true,90 days,doc9
U1,Who is the chief executive?,false,,
U2,What is the phone number of the office?,false,,
"""


def answer(question: str) -> dict[str, Any]:
    refusal = ("I don't know based on the provided documents.", ["doc1", "doc2"])
    text, names = next((found for word, found in ANSWERS.items() if word in question.lower()), refusal)
    return {"answer": text, "sources": [{"id": name, "text": TEXTS[name]} for name in names]}


def searched(question: str) -> dict[str, Any]:
    """As a search API says it: nested, in camel case, without the word answer."""
    reply = answer(question)
    passages = [{"docId": one["id"], "snippet": one["text"]} for one in reply["sources"]]
    return {"result": {"text": reply["answer"], "passages": passages}, "tookMs": 12}


def chatted(question: str) -> dict[str, Any]:
    reply = answer(question)
    cited = [{"id": one["id"], "content": one["text"]} for one in reply["sources"]]
    message = {"role": "assistant", "content": reply["answer"], "context": {"citations": cited}}
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message}]}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = urlparse(self.path)
        asked = parse_qs(url.query).get("q")
        if url.path != "/search":
            self.reply(405, {"detail": "Method Not Allowed"})
        elif not asked:
            self.reply(400, {"error": "q is required"})
        else:
            self.reply(200, searched(asked[0]))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/search":
            self.reply(405, {"detail": "Method Not Allowed"})
        elif self.path == "/v1/chat/completions" and "model" not in body:
            self.reply(400, {"error": {"message": "you must provide a model"}})
        elif self.path == "/v1/chat/completions":
            self.reply(200, chatted(body["messages"][-1]["content"]))
        elif "question" not in body:
            self.reply(422, {"detail": "question: field required"})
        elif self.path == "/ask":
            self.reply(200, answer(body["question"]))
        else:
            self.stream(answer(body["question"]))

    def stream(self, reply: dict[str, Any]) -> None:
        self.head(200, "text/event-stream")
        self.event({"sources": reply["sources"]})
        for word in re.findall(r"\S+\s*", reply["answer"]):
            self.event({"token": word})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, data: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")

    def reply(self, status: int, data: dict[str, Any]) -> None:
        self.head(status, "application/json")
        self.wfile.write(json.dumps(data).encode())

    def head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Handler) as address:
        yield address


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.csv").write_text(GOLD)
    return tmp_path


CHAT_BODY = '{"model": "m", "messages": [{"role": "user", "content": "{question}"}]}'


@pytest.mark.parametrize(
    "flags",
    [["/ask"], ["/stream"], ["/search"], ["/v1/chat/completions", "--body", CHAT_BODY]],
    ids=["json", "events", "get", "chat"],
)
def test_two_commands_judge_it_correctly(url: str, folder: Path, cli: Cli, flags: list[str]) -> None:
    ran = cli("init", "--url", f"{url}{flags[0]}", *flags[1:])
    assert ran.code == 0, ran.err
    ran = cli("check", "--run", "-o", "report.json")
    assert ran.code == 1, ran.err
    rows = {row["qid"]: row for row in json.loads((folder / "report.json").read_bytes())["suites"]["answers"]["items"]}
    assert {qid: row["reason"] for qid, row in rows.items() if row["reason"]} == {"Q6": "denied", "U2": "leak"}
    assert rows["U1"]["status"] == "refused"


def test_a_chat_service_that_wants_a_model_is_answered_with_the_body_to_send(url: str, folder: Path, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/v1/chat/completions")
    assert ran.code == 2 and "you must provide a model" in ran.err
    assert """--body '{"model": "MODEL", "messages": [{"role": "user", "content": "{question}"}]}'""" in ran.err


def test_what_was_not_mapped_by_hand_is_still_proposed(url: str, folder: Path, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/search", "--map", "claim=result.text")
    assert ran.code == 0 and "result.passages[*].docId" in ran.out and "@result.text" in ran.out


def saved(folder: Path, *without: str) -> None:
    """The responses as somebody else's script saved them."""
    questions = [line.split(",", 2)[:2] for line in GOLD.splitlines()[1:]]
    rows = [{"qid": qid, **answer(question)} for qid, question in questions]
    rows = [{name: value for name, value in row.items() if name not in without} for row in rows]
    (folder / "answers.json").write_text(json.dumps(rows))


def test_a_mapping_of_the_answer_alone_is_told_the_rest(folder: Path, cli: Cli) -> None:
    saved(folder)
    ran = cli("score", "--gold", "gold.csv", "--trace", "answers.json", "--map", "claim=answer")
    assert ran.code == 1
    more = re.search(r"Add (--map 'retrieved_ids=\S+' --map 'citations=\S+')", ran.err)
    assert more is not None, ran.err
    pairs = re.findall(r"--map '(\S+)'", more[1])
    maps = [flag for pair in ("claim=answer", *pairs) for flag in ("--map", pair)]
    ran = cli("score", "--gold", "gold.csv", "--trace", "answers.json", *maps, "--refusal", "natural", "--json")
    failing = {row["qid"]: row["reason"] for row in json.loads(ran.out)["items"] if row["reason"]}
    assert failing == {"Q6": "denied", "U2": "leak"} and "--map" not in ran.err


def test_refusals_in_other_words_are_named_as_that(folder: Path, cli: Cli) -> None:
    saved(folder)
    maps = ("--map", "claim=answer", "--map", "retrieved_ids=sources[*].id", "--map", r"citations=re:\[(\w+)\]@answer")
    ran = cli("score", "--gold", "gold.csv", "--trace", "answers.json", *maps, "--json")
    report = json.loads(ran.out)
    cards = {card["qid"]: card["says"] for card in report["offenders"]}
    assert "refused in other words" in cards["U1"] and cards["U2"] == "answered an unanswerable question"
    assert report["diagnosis"][0].startswith("1 of 2 unanswerable questions were refused in other words")
    assert sum("in other words" in hint for hint in report["diagnosis"]) == 1


def test_citations_that_can_not_be_confirmed_are_not_called_wrong(folder: Path, cli: Cli) -> None:
    saved(folder, "sources")
    maps = ("--map", "claim=answer", "--map", r"citations=re:\[(\w+)\]@answer", "--refusal", "natural")
    ran = cli("score", "--gold", "gold.csv", "--trace", "answers.json", *maps)
    assert ran.out.startswith(
        "NO-SHIP  no trace says what was retrieved (retrieved_ids), so no citation can be confirmed"
    )
    assert "not grounded" not in ran.out and "cited an expected source" not in ran.out


def test_a_refusal_shows_no_citations_and_the_starter_is_made_again(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cli("init", "--url", f"{url}/ask")
    assert ran.code == 0 and "This is a refusal" in ran.out and "citations      " not in ran.out
    ran = cli("init", "--url", f"{url}/ask", "--question", "What does the Team plan cost?", "--force")
    assert "@answer" in ran.out and "Next: write your questions into gold.jsonl" in ran.out
    first = json.loads((tmp_path / "gold.jsonl").read_text().splitlines()[0])
    assert first["question"] == "What does the Team plan cost?" and first["gold_citations"] == ["doc1"]
    (tmp_path / "gold.jsonl").write_text(json.dumps(first | {"gold_claim_substr": ["$49"]}) + "\n")
    assert "kept" not in cli("init", "--url", f"{url}/ask", "--force").out
    assert "$49" in (tmp_path / "gold.jsonl").read_text()
