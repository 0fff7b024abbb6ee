"""47 response shapes of public tools, each served as the tool does: what `init --url` reads in them, and the verdict.

They were used for building. What is not understood is listed by name, with the reason.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli

FOLDER = Path(__file__).resolve().parent.parent / "responses"
sys.path.insert(0, str(FOLDER))
from serve import KEYS, server  # noqa: E402

SHAPES = sorted(folder.name for folder in (FOLDER / "shapes").iterdir())
NO_VERDICT = {
    "azure_openai_on_your_data": "its refusal goes on to ask for another query, which is read as a refusal in doubt",
    "vertex_ai_search_answer": "it refuses with a reason beside the answer, and in words that are no refusal",
}


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    made = server(FOLDER / "shapes" / request.param)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def flags(shape: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The key where the service wants one, and the request that its documentation shows."""
    given: list[str] = []
    for name, value in shape.request["headers"].items():
        if name.lower() in KEYS:
            scheme, _, secret = value.rpartition(" ")
            monkeypatch.setenv("SHAPE_KEY", secret)
            value = f"{scheme} ${{SHAPE_KEY}}".strip()
        given += ["--header", f"{name}={value}"]
    if shape.asks_by_query:
        queries = (part for name, value in shape.request["query"].items() for part in ("--query", f"{name}={value}"))
        return [*given, "--method", "GET", *queries]
    return [*given, "--body", json.dumps(shape.request["body"])]


def gold(shape: Any, text: str, cited: list[str]) -> None:
    first = {"qid": "Q1", "question": shape.request["question"], "answerable": True, "gold_claim_substr": [text]}
    second = {"qid": "U1", "question": shape.request["unanswerable"], "answerable": False, "gold_claim_substr": []}
    rows = [first | ({"gold_citations": cited[:1]} if cited else {}), second | {"gold_citations": []}]
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def same(expected: dict[str, Any], field: str, got: Any) -> bool:
    """Whether it is the expected value, or one of the others that are right too."""

    def plain(value: Any) -> Any:
        value = [str(one) for one in value] if isinstance(value, list) else value
        return re.sub(r"\s+", " ", value).strip() if isinstance(value, str) else value or None

    return plain(got) in [plain(one) for one in (expected[field], *expected.get(f"{field}_also", []))]


@pytest.mark.parametrize("served", SHAPES, indirect=True, ids=SHAPES)
def test_what_a_person_reads_is_read(served: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, expected = served.shape, served.shape.expected
    gold(shape, "30 days", [])
    ran = cli("init", "--url", served.url, *flags(shape, monkeypatch))
    assert ran.code == 0, ran.err
    ran = cli("check", "--run")
    rows = {row["qid"]: row for row in map(json.loads, Path("runs/trace.jsonl").read_text().splitlines())}
    answer = rows["Q1"].get("answer_json", {})
    assert same(expected, "claim", answer.get("claim")), answer
    assert same(expected, "retrieved_ids", rows["Q1"].get("retrieved_ids")), rows["Q1"]
    assert same(expected, "citations", answer.get("citations")), answer
    assert same(expected, "retrieved_texts", [one["text"] for one in rows["Q1"].get("evidence", [])])
    if expected["claim"] is None or shape.name in NO_VERDICT:
        return
    known = expected["citations"] is not None and expected["retrieved_ids"] is not None
    cited = [str(one) for one in answer["citations"]] if known else []
    for text, code in (("30 days", 0), ("60 days", 1)):  # a right answer ships, a wrong one stops
        gold(shape, text, cited)
        ran = cli("check")
        assert ran.code == code, ran.out + ran.err
