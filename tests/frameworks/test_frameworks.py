"""Three services on the real libraries: the first `check --run` after `init --url` judges as a person would.

`make frameworks` sets up the libraries in .bench/frameworks. Where they are absent, the tests are skipped by name.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Cli
from frameworks.services.corpus import QUESTIONS

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent.parent / ".bench" / "frameworks" / "bin" / "python"
SERVICES = {  # service → what it imports, and where it listens
    "langchain": ("langchain_classic", "/ask"),
    "llamaindex": ("llama_index.core", "/api/query"),
    "haystack": ("haystack", "/rag/run"),
}
pytestmark = pytest.mark.slow


@pytest.fixture(params=SERVICES)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    library, path = SERVICES[request.param]
    needed = [PYTHON, "-c", f"import fastapi, uvicorn, {library}"]
    if not PYTHON.exists() or subprocess.run(needed, check=False).returncode:
        pytest.skip(f"{library} is not in .bench/frameworks; `make frameworks` sets it up")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    service = subprocess.Popen([PYTHON, HERE / "services" / f"{request.param}_service.py", str(port)])
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert service.poll() is None, "the service ended by itself"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}{path}"
    finally:
        service.terminate()
        service.wait()


def test_the_first_verdict_is_a_persons(url: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = []
    for place, (question, expected, _, _) in enumerate(QUESTIONS):
        row = {"qid": f"Q{place:02}", "question": question, "answerable": expected is not None}
        row["gold_claim_substr"] = expected or []
        if expected and len(expected) > 1:
            row["match"] = "all"
        rows.append(row)
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = cli("init", "--url", url)
    assert ran.code == 0 and "Not certain" not in ran.out, ran.out + ran.err
    ran = cli("check", "--run", "--json")
    assert ran.code == 1, ran.err
    (report,) = ran.json["suites"].values()
    passed = {row["qid"]: row["reason"] == "" for row in report["items"]}
    right = [qid for place, (*_, right) in enumerate(QUESTIONS) if passed[qid := f"Q{place:02}"] == right]
    print(f"judged as a person would: {len(right)} of {len(QUESTIONS)}")
    assert len(right) >= 15, passed
    traces = [json.loads(line) for line in Path("runs/trace.jsonl").read_text().splitlines()]
    assert all(1 <= len(trace["retrieved_ids"]) == len(trace["evidence"]) <= 3 for trace in traces)
