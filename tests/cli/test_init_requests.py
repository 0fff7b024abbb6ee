"""`init --url`: the request that a service takes is found by what it says; what else comes gets its own advice."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from conftest import Cli
from webserver import serving

FORM = "application/x-www-form-urlencoded"
ANSWER = "Refunds are possible within 30 days."
REFUSAL = "I don't know based on the provided documents."
GOLD = [
    {"qid": "Q1", "question": "When is a refund possible?", "answerable": True, "gold_claim_substr": ["30 days"]},
    {"qid": "U1", "question": "Who is the chief executive?", "answerable": False, "gold_claim_substr": []},
]
API = {
    "paths": {
        "/described": {
            "post": {
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Body"}}}}
            }
        }
    },
    "components": {
        "schemas": {
            "Body": {
                "type": "object",
                "properties": {
                    "topic": {"type": "string"},
                    "ask_for": {"type": "string"},
                    "limit": {"type": "integer"},
                },
                "required": ["topic", "ask_for", "limit"],
            }
        }
    },
}


def missing(*place: str) -> dict[str, Any]:
    return {"detail": [{"type": "missing", "loc": ["body", *place], "msg": "Field required"}]}


def replied(path: str, body: dict[str, Any]) -> tuple[int, Any]:
    """Status, and what is said: the text of the question where the request is right."""
    if path == "/loc":
        return (200, body["user_query"]) if "user_query" in body else (422, missing("user_query"))
    if path == "/deep":
        inner = body.get("request")
        return (
            (200, inner["utterance"])
            if isinstance(inner, dict) and "utterance" in inner
            else (
                422,
                missing("request", "utterance"),
            )
        )
    if path == "/two":
        lacking = [name for name in ("subject", "stream") if name not in body]
        return (400, {"error": f"{lacking[0]} is required"}) if lacking else (200, body["subject"])
    if path == "/described":
        right = set(body) == {"topic", "ask_for", "limit"} and isinstance(body["limit"], int)
        return (200, body["ask_for"]) if right else (400, {"error": "bad request"})
    if path == "/silent-about-the-rest":
        right = {"query", "user", "inputs"} <= set(body)
        return (200, body["query"]) if right else (400, {"message": "query is required in the JSON body"})
    if path == "/quoted":
        said = {"ok": False, "error": "falta el campo obligatorio «consulta»"}
        return (200, body["consulta"]) if "consulta" in body else (422, said)
    if path in ("/keyed", "/form"):  # a form reads no JSON, whatever is in it
        right = "ask_me" in body and (path == "/keyed" or FORM in body)
        return (200, body["ask_me"]) if right else (400, {"errors": {"ask_me": ["This field is required."]}})
    if path == "/v1/chat/completions":
        known = body.get("model") == "our-rag"
        lacking = {"error": {"message": "you must provide a model parameter"}}
        return (200, body["messages"][-1]["content"]) if known else (400, lacking)
    if path == "/envelope":
        said = {"code": 101, "message": "required argument are missing: utterance; ", "data": None}
        return (200, body["utterance"]) if "utterance" in body else (200, said)
    return 200, body.get("question", "")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/v1/models" and self.headers.get("Authorization") == "Bearer hunter2hunter2":
            self.reply(200, b'{"object": "list", "data": [{"id": "our-rag"}, {"id": "other"}]}')
        elif self.path == "/openapi.json":
            self.reply(200, json.dumps(API).encode())
        else:
            self.reply(405, b"{}")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        form = self.headers["Content-Type"] == FORM
        body = {FORM: True, **dict(parse_qsl(raw.decode()))} if form else json.loads(raw)
        if self.path in REDIRECTED:
            self.reply(307, b"", "text/plain", Location=REDIRECTED[self.path])
            return
        if self.path in FIXED:
            self.reply(*FIXED[self.path])
            return
        status, said = replied(self.path, body)
        if status != 200 or not isinstance(said, str):
            self.reply(status, json.dumps(said).encode())
            return
        text = ANSWER if "refund" in said else REFUSAL
        kind, form = FORMS.get(self.path, ("application/json", lambda text: json.dumps({"answer": text}).encode()))
        if self.path == "/slow":
            time.sleep(0.3)
        self.reply(200, form(text), kind)

    def reply(self, status: int, data: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


FORMS: dict[str, tuple[str, Any]] = {
    "/text": ("text/plain", lambda text: text.encode()),
    "/string": ("application/json", lambda text: json.dumps(text).encode()),
    "/list": ("application/json", lambda text: json.dumps([{"output": text}]).encode()),
    "/latin": (
        "application/json; charset=iso-8859-1",
        lambda text: f'{{"answer": "Gebühr: {text}"}}'.encode("latin-1"),
    ),
    "/lines": (
        "application/x-ndjson",
        lambda text: b"".join(json.dumps({"piece": word + " "}).encode() + b"\n" for word in text.split()),
    ),
    "/prefixed": (
        "text/plain",
        lambda text: b"".join(f"0:{json.dumps(word + ' ')}\n".encode() for word in text.split()) + b'd:{"end": 1}\n',
    ),
    "/thinking": ("application/json", lambda text: json.dumps({"answer": f"<think>Hm, 99.</think>\n{text}"}).encode()),
    "/inside": ("application/json", lambda text: json.dumps({"answer": json.dumps({"text": text, "n": 1})}).encode()),
}
REDIRECTED = {"/ring": "/ring", "/slashed": "/slashed/", "/private": "/login?next=%2Fprivate"}
DOCUMENTS = [
    {
        "id": "9f3c" * 8,
        "file_name": "kb/refunds.md",
        "codice": "M-01",
        "content": "A refund is possible within 30 days.",
    },
    {"id": "1b2d" * 8, "file_name": "kb/hosting.md", "codice": "M-02", "content": "Data is stored in Frankfurt."},
]
FORMS["/named"] = (
    "application/json",
    lambda text: json.dumps({"answer": text + " [1]" * (text == ANSWER), "documents": DOCUMENTS}).encode(),
)
FORMS["/coded"] = (
    "application/json",
    lambda text: json.dumps(
        {
            "answer": text + " (rif. M-01)" * (text == ANSWER),
            "documents": [{"codice": one["codice"], "content": one["content"]} for one in DOCUMENTS],
        }
    ).encode(),
)
FIXED: dict[str, tuple[Any, ...]] = {
    "/graphql": (400, b"No GraphQL query found in the request"),
    "/busy": (429, b"slow down"),
    "/broken": (500, b'{"detail": "oops"}'),
    "/down": (503, b"starting"),
    "/empty": (200, b'{"answer": "", "docs": []}'),
    "/same": (200, b'{"answer": "Welcome to our service."}'),
    "/large": (200, json.dumps({"answer": "x" * 5_000_000}).encode()),
    "/model": (400, b'{"error": "model is required"}'),
    "/mislabelled": (200, '{"answer": "Gebühr"}'.encode("latin-1")),
    "/failed": (200, b'{"error": {"message": "index is offline"}}'),
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Handler) as address:
        yield address


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in GOLD))
    return tmp_path


def written() -> dict[str, Any]:
    return tomllib.loads(Path("shipworthy.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/loc", {"user_query": "{question}"}),
        ("/deep", {"request": {"utterance": "{question}"}}),
        ("/two", {"subject": "{question}", "stream": False}),
        ("/described", {"topic": "shipworthy", "ask_for": "{question}", "limit": 1}),
        ("/envelope", {"utterance": "{question}"}),
        ("/quoted", {"consulta": "{question}"}),
        ("/keyed", {"ask_me": "{question}"}),
        ("/form", {"ask_me": "{question}"}),
    ],
)
def test_the_body_is_built_from_what_the_service_says(url: str, cli: Cli, path: str, body: dict[str, Any]) -> None:
    ran = cli("init", "--url", url + path)
    assert ran.code == 0, ran.err
    assert json.loads(written()["target"]["body"]) == body


@pytest.mark.parametrize("path", [*FORMS, "/slow"])
def test_a_body_of_any_form_is_read(url: str, cli: Cli, path: str) -> None:
    ran = cli("init", "--url", url + path)
    assert ran.code == 0, ran.err
    cli("check", "--run")
    rows = {row["qid"]: row for row in map(json.loads, Path("runs/trace.jsonl").read_text().splitlines())}
    said = ANSWER if path != "/latin" else f"Gebühr: {ANSWER}"
    assert rows["Q1"]["answer_json"]["claim"].strip() == said
    assert rows["U1"]["answer_json"]["claim"].strip().endswith(REFUSAL)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/busy", "It limits how often it is asked"),
        ("/broken", "Its log says why."),
        ("/down", "The service is not ready"),
        ("/empty", "nothing in the response reads like an answer"),
        ("/large", "larger than 4,000,000 bytes"),
        ("/large", "max_response_bytes under [target]"),
        ("/mislabelled", "name its charset in Content-Type"),
        ("/model", '"model": "MODEL"'),
        ("/silent-about-the-rest", "A body with query was refused too."),
        ("/ring", "It redirects to itself"),
        ("/slashed", "/slashed/"),
        ("/private", "add --header 'Authorization=Bearer ${TOKEN}'"),
        ("/graphql", '"variables": {"q": "{question}"}'),
        ("/failed", "an error with status 200"),
    ],
)
def test_what_is_no_answer_gets_its_own_advice(url: str, cli: Cli, path: str, said: str) -> None:
    ran = cli("init", "--url", url + path)
    assert ran.code == 2 and said in ran.err, ran.out + ran.err
    assert not Path("shipworthy.toml").exists()


def test_two_equal_answers_are_said(url: str, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/same")
    assert ran.code == 0 and "got the same answer" in ran.out


def test_a_service_that_takes_too_long_is_given_longer(url: str, cli: Cli) -> None:
    ran = cli("init", "--url", f"{url}/slow", "--timeout-sec", "0.05")
    assert ran.code == 2 and "Give it longer" in ran.err
    assert cli("init", "--url", f"{url}/slow", "--timeout-sec", "30").code == 0


def test_a_form_is_sent_as_one_by_what_is_written(url: str, cli: Cli) -> None:
    assert cli("init", "--url", f"{url}/form").code == 0
    assert written()["target"]["headers"] == {"Content-Type": FORM}
    assert cli("check", "--run").code == 0
    rows = [json.loads(line) for line in Path("runs/trace.jsonl").read_text().splitlines()]
    assert {row["qid"]: row["answer_json"]["claim"] for row in rows} == {"Q1": ANSWER, "U1": REFUSAL}


def test_the_model_is_one_that_the_service_lists(url: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "hunter2hunter2")
    ran = cli("init", "--url", f"{url}/v1/chat/completions", "--header", "Authorization=Bearer ${KEY}")
    assert ran.code == 0, ran.err
    assert json.loads(written()["target"]["body"])["model"] == "our-rag"


@pytest.mark.parametrize(
    ("path", "cited", "field", "id_map"),
    [
        ("/named", "kb/refunds.md", "file_name", None),
        ("/named", "refunds.md", "file_name", "drop-path"),
        ("/named", "9f3c" * 8, "id", None),
        ("/coded", "M-01", "codice", None),
    ],
)
def test_ids_are_those_by_which_the_gold_file_names_documents(
    url: str, cli: Cli, path: str, cited: str, field: str, id_map: str | None
) -> None:
    Path("gold.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in [{**GOLD[0], "gold_citations": [cited]}, GOLD[1]])
    )
    assert cli("init", "--url", url + path).code == 0
    assert written()["map"]["retrieved_ids"] == f"documents[*].{field}"
    assert written()["suites"]["answers"].get("id_map") == id_map
    assert cli("check", "--run").code == 0


class Leaky(BaseHTTPRequestHandler):
    """Answers one question that it should refuse, in Japanese, and names its sources by path."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["question"]
        said, cited = SAID.get(asked, ("申し訳ございませんが、その情報は見つかりませんでした。", ""))
        body = {"data": {"body": said + (f"【{cited}】" if cited else "")}}
        body |= {"included": [{"type": "passage", "id": name, "text": text} for name, text in PASSAGES.items()]}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


PASSAGES = {
    "kb/宿泊案内.md": "チェックインは15時から、チェックアウトは10時までです。",
    "kb/温泉.md": "大浴場は朝5時から夜24時まで利用できます。",
}
SAID = {
    "チェックインは何時からですか？": ("チェックインは午後3時からです。", "kb/宿泊案内.md"),
    "Wi-Fiは無料ですか？": ("はい、全館で無料Wi-Fiをご利用いただけます。", "kb/温泉.md"),
}


def test_an_unanswerable_question_that_is_answered_does_not_stand_for_a_refusal(cli: Cli) -> None:
    questions = [*SAID, "社長の名前は何ですか？"]
    gold = [
        {"qid": f"q{number}", "question": question, "answerable": number == 0, "gold_claim_substr": ["15時"][number:]}
        for number, question in enumerate(questions)
    ]
    gold[0]["gold_citations"] = ["宿泊案内.md"]
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gold))
    with serving(Leaky) as address:
        ran = cli("init", "--url", address)
        cli("check", "--run")
    config = written()
    assert ran.code == 0 and config["map"]["claim"] == "data.body", ran.out + ran.err
    assert config["map"]["citations"] == "markers@data.body"  # 【…】, which is no text of the claim
    assert config["suites"]["answers"]["refusal"] == "natural"
    assert config["suites"]["answers"]["id_map"] == "drop-path" and 'id_map = "drop-path" is written' in ran.out
    report = cli("check", "--json", "--no-record").json["suites"]["answers"]
    assert {row["qid"]: row["reason"] for row in report["items"]} == {"q0": "", "q1": "leak", "q2": ""}
