"""`check` with [target] and [map]: sent, scored, controlled and verified by one mapping."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT, Cli

sys.path.insert(0, str(ROOT / "examples" / "service"))
from plain_service import serve

CONFIG = r"""
[target]
url = "http://127.0.0.1:PORT/ask"
body = { question = "{question}" }

[map]
claim = "answer"
retrieved_ids = "sources[*].id"
evidence = "sources[*].text"
citations = 're:\[(\w+)\]@answer'

[map.gold]
qid = "name"

[suites.answers]
gold = "gold.json"
trace = "runs/trace.jsonl"
refusal = "natural"

[controls]
run = true
"""
GOLD = [
    {
        "name": 1,
        "question": "Where is customer data stored?",
        "answerable": True,
        "gold_claim_substr": ["Frankfurt"],
        "gold_citations": ["doc5"],
    },
    {
        "name": 2,
        "question": "How many requests per minute?",
        "answerable": True,
        "gold_claim_substr": ["100 requests"],
        "gold_citations": ["doc8"],
    },
    {"name": 3, "question": "Who is the chief executive?", "answerable": False},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    server = serve(0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "shipworthy.toml").write_text(CONFIG.replace("PORT", str(server.server_port)))
    (tmp_path / "gold.json").write_text(json.dumps(GOLD))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    server.shutdown()
    server.server_close()


def test_one_mapping_for_sending_scoring_controls_and_verify(folder: Path, cli: Cli) -> None:
    ran = cli("check")
    assert ran.code == 2 and "Add --run to send the questions to the target" in " ".join(ran.out.split())
    ran = cli("check", "--run", "--filter-failing", "none.json")
    assert ran.code == 2
    ran = cli("check", "--run", "--json")
    assert ran.code == 0, ran.out
    report = ran.json["suites"]["answers"]
    assert report["metrics"]["precision"]["numerator"] == 2 and report["metrics"]["under_refusal"]["numerator"] == 0
    assert "controls" not in ran.json.get("failures", {})
    assert cli("check", "-o", "report.json").code == 0
    assert cli("verify", "report.json").code == 0
    controls = cli("controls", "--config", "shipworthy.toml")
    assert controls.code == 0 and "map-nothing" not in controls.out


def test_a_field_that_never_comes_stops_the_check(folder: Path, cli: Cli) -> None:
    config = folder / "shipworthy.toml"
    config.write_text(config.read_text().replace("sources[*].id", "source[*].id"))
    ran = cli("check", "--run")
    assert ran.code == 2 and "the mapping of retrieved_ids matches nothing in 3 responses" in ran.err
    assert not (folder / "runs" / "trace.jsonl").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('clam = "answer"', "there is no field 'clam' to map. Did you mean claim?"),
        ('claim = "a..b"', "'a..b' is not a path"),
        ("citations = 're:(@answer'", "does not compile"),
        ("claim = 5", "is not FIELD=PATH"),
    ],
)
def test_mistakes_of_a_mapping_have_their_line(tmp_path: Path, cli: Cli, line: str, said: str) -> None:
    path = tmp_path / "shipworthy.toml"
    path.write_text(f'[map]\n{line}\n[suites.answers]\ngold = "g.jsonl"\ntrace = "t.jsonl"\n')
    ran = cli("check", "--config", path)
    assert ran.code == 2 and said in ran.err and "shipworthy.toml:2" in ran.err


def test_scoring_with_a_mapping_loads_no_http_library(tmp_path: Path) -> None:
    (tmp_path / "gold.json").write_text(json.dumps(GOLD))
    (tmp_path / "a.csv").write_text("name,answer\n1,Frankfurt\n2,100 requests\n3,not in context\n")
    code = (
        "import sys; from shipworthy.cli import main; "
        "main(['score', '--gold', 'gold.json', '--trace', 'a.csv', '--map', 'qid=name', '--map', 'claim=answer']); "
        "sys.exit(bool({'aiohttp', 'asyncio', 'ssl'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL, check=False).returncode
        == 0
    )
