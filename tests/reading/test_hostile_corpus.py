"""The hostile corpus: forty files, each with the exit code, the code and the line that its manifest asks for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import REAL_DATA, Cli

SCRIPT = REAL_DATA.parent / "hostile" / "make_corpus.py"

# The manifest's names for what we call otherwise. A code of ours that is empty is told by the report, not by an error.
CODES = {
    "E_EMPTY_GOLD": "gold-empty",
    "E_DUP_QID": "gold-repeated",
    "E_TRUNCATED_LAST_LINE": "truncated",
    "E_JSON": "json",
    "E_ENCODING": "encoding",
    "E_NUL": "nul",
    "E_NONFINITE": "nonfinite",
    "E_DUP_KEY": "repeated-key",
    "E_TOO_DEEP": "too-deep",
    "E_NOT_OBJECT": "not-object",
    "E_TYPE": "type",
    "W_BOM": "bom",
}
# Where we differ on purpose, with the exit code of ours.
DIFFERS = {
    "answer_null.jsonl": (1, "null is absent (spec 1): an answer without a claim is empty, and counts as wrong"),
    "qid_int.jsonl": (3, "a numeric qid is its decimal string (spec 1), so it is a trace of an unknown question"),
    "citations_objects.jsonl": (0, "citations may be objects with an id (spec 1)"),
    "payload_claims.jsonl": (3, "its questions are not in the gold set: without them there is nothing to judge"),
    "payload_qids.jsonl": (3, "two of its qids are blank, which is an error"),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not SCRIPT.is_file():
        pytest.skip("hostile/make_corpus.py is not on this machine (SHIPWORTHY_DATA)")
    folder = tmp_path_factory.mktemp("hostile")
    subprocess.run([sys.executable, SCRIPT, folder], check=True, capture_output=True)
    return folder


def cases() -> list[Any]:
    """The names without making the files: the manifest is only there once the script has run."""
    if not SCRIPT.is_file():
        return [pytest.param("", id="absent")]
    import re

    return sorted(set(re.findall(r'add\("([a-z0-9_]+\.jsonl)"', SCRIPT.read_text("utf-8"))))


def scored(corpus: Path, case: dict[str, Any], cli: Cli, *more: str) -> Any:
    paths = {"gold": corpus / "gold_ok.jsonl", "trace": corpus / "crlf.jsonl", case["role"]: corpus / case["file"]}
    return cli("score", "--gold", paths["gold"], "--trace", paths["trace"], *more)


@pytest.mark.parametrize("name", cases())
def test_a_hostile_file_is_told_as_the_manifest_says(name: str, corpus: Path, cli: Cli) -> None:
    case = next(case for case in json.loads((corpus / "manifest.json").read_text()) if case["file"] == name)
    expect = case["expect"]
    ran = scored(corpus, case, cli)
    assert "Traceback" not in ran.err
    exit_code = DIFFERS[name][0] if name in DIFFERS else expect["exit"]
    assert ran.code == exit_code, ran.out + ran.err
    told = ran.err + ran.out
    if name not in DIFFERS and (code := CODES.get(expect["code"])):
        assert f"[{code}]" in told
        if expect["line"]:
            assert f"{name}:{expect['line']}: " in told or f":{expect['line']}: " in told
    if expect["keeps"] is not None and name not in DIFFERS:
        report = scored(corpus, case, cli, "--lenient", "--json").json
        read = report["inputs"][case["role"]]
        assert read["records"] == expect["keeps"]
