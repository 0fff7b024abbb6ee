"""The page about an afternoon, from a folder of documents to a gated service, replayed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Cli, served
from shipworthy.core.sources import read_gold

PAGE = (ROOT / "docs" / "gold-in-an-afternoon.md").read_text("utf-8")
WORDINGS = json.loads((Path(__file__).parent / "wordings.json").read_text("utf-8"))
SILLY = (" people of", " needs of", " costs of")  # what a reviewer drops


@pytest.fixture
def service() -> Iterator[int]:
    yield from served("-m", "shipworthy", "demo", "serve", "--port")


def ask(address: str, path: str, body: object = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.loads(response.read())


def review(command: str, answer: str = "") -> None:
    """A reviewer who works through the page's own requests, with the wordings that a person gave."""
    words = [sys.executable, "-m", *shlex.split(command), "--no-browser", "--reviewer", "Ada"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = next(found[1] for line in process.stdout if (found := re.search(r"^Open (\S+)", line)))
        shown = ask(address, "next")
        while item := shown["item"]:
            expected = (item["expected"] or [""])[0]
            body = {"qid": item["qid"], "decision": "drop", "question": item["question"]}
            if answer:
                text = shown["texts"][0]
                start = text["text"].index(answer)
                picked = {name: text[name] for name in ("id", "doc", "offset", "text")}
                body |= {"decision": "accept", "selection": picked | {"start": start, "end": start + len(answer)}}
            elif expected in WORDINGS:
                body |= {"decision": "accept", "question": WORDINGS[expected]}
            elif not expected and not any(name in item["question"] for name in SILLY):
                body |= {"decision": "unanswerable"}
            shown = ask(address, "decide", body)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def same(shown: str, printed: str) -> bool:
    """Whether each part of a sample, between its dots, is printed, in order, whatever the line breaks."""
    parts = [" ".join(part.split()) for part in shown.split("…")]
    rest = " ".join(printed.split())
    for part in filter(None, parts):
        if part not in rest:
            return False
        rest = rest.partition(part)[2]
    return True


def test_from_documents_to_a_gate_and_back(
    service: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "src" / "shipworthy" / "demo" / "corpus", "handbook")
    samples = re.findall(r"^    \$ (shipworthy .+)\n((?:    .*\n)+)", PAGE, re.MULTILINE)
    reviews = re.findall(r"^    (shipworthy gold review .+)$", PAGE, re.MULTILINE)
    (init,) = re.findall(r"^    shipworthy (init .+)$", PAGE, re.MULTILINE)
    (added,) = re.findall(r"<!-- file: added to shipworthy.toml -->\n```toml\n(.*?)```", PAGE, re.DOTALL)
    build, lint, check, later, refresh = samples

    def replay(sample: tuple[str, str], code: int) -> None:
        ran = cli(*shlex.split(sample[0])[1:])
        assert ran.code == code, ran.out + ran.err
        assert same(sample[1], ran.err + ran.out), f"{sample[0]}\n{ran.err}{ran.out}"

    replay(build, 0)
    review(reviews[0])
    assert len(read_gold("gold.jsonl")) == 37
    replay(lint, 0)
    ran = cli(*shlex.split(init.replace("localhost:8080", f"127.0.0.1:{service}")))
    assert ran.code == 0, ran.err
    config = Path("shipworthy.toml")
    docs, _, matching = added.partition("\n\n[suites.answers]\n")
    text = config.read_text("utf-8").replace("[suites.answers]\n", f"[suites.answers]\n{matching}")
    config.write_text(f"{docs}\n{text}", "utf-8")
    replay(check, 0)

    page = Path("handbook/1-handbook.md")
    page.write_text(page.read_text("utf-8").replace("has 27 days of paid", "has 28 days of paid"), "utf-8")
    replay(later, 3)
    replay(refresh, 3)
    review(reviews[-1], answer="28 days")
    assert cli("check", "--run").code in (0, 1), "it decides again"
    assert cli("gold", "coverage", "gold.jsonl", "--docs", "handbook").code == 0
