"""`shipworthy import` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shipworthy.cli import main

EXPORTS = Path(__file__).parents[1] / "importers" / "exports"
GOLD, CHUNKS = str(EXPORTS / "expected" / "gold.jsonl"), str(EXPORTS / "expected" / "chunks.jsonl")


def test_an_import_can_be_scored_at_once(tmp_path, capsys):
    out = str(tmp_path / "runs" / "trace.jsonl")
    spans = str(EXPORTS / "openinference" / "langchain.otlp.jsonl")
    assert main(["import", spans, "--gold", GOLD, "--out", out]) == 0
    assert "wrote 9 traces" in capsys.readouterr().out
    assert main(["score", "--gold", GOLD, "--trace", out, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["decision"] == "NO-SHIP"


def test_a_dry_run_shows_the_coverage_and_writes_nothing(tmp_path, capsys):
    out = tmp_path / "trace.jsonl"
    file = str(EXPORTS / "ragas" / "v01_columns.jsonl")
    assert main(["import", file, "--gold", GOLD, "--chunks", CHUNKS, "--out", str(out), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    for part in (
        "ragas dataset, 9 records",
        "question          9 of 9",
        "answer            8 of 9   1 without an answer",
        "retrieved         9 of 9   documents: by its text, through --chunks 27",
        "citations         6 of 9   rows: inline ids 6",
        "in gold           9 of 9   8 of 8 gold questions have a run",
    ):
        assert part in shown
    assert not out.exists()


def test_coverage_as_json(capsys):
    file = str(EXPORTS / "ragas" / "v01_columns.jsonl")
    assert main(["import", file, "--dry-run", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["rows"] == 9
    assert read["guessed"]["documents named by a digest of their text"] == 27
    assert any("--chunks" in line for line in read["missing"])


def test_a_dry_run_ends_as_the_import_would(capsys):
    assert main(["import", str(EXPORTS / "otel" / "genai_no_content.otlp.jsonl"), "--dry-run"]) == 3
    captured = capsys.readouterr()
    assert "rows                9" in captured.out
    assert "[import-no-content]" in captured.err


def test_gold_candidates_are_written_and_a_person_completes_them(tmp_path, capsys):
    draft, out = tmp_path / "draft.jsonl", tmp_path / "trace.jsonl"
    source = str(EXPORTS / "ragas" / "evaluation_dataset.jsonl")
    assert main(["import", source, "--out", str(out), "--draft-gold", str(draft)]) == 0
    items = [json.loads(line) for line in draft.read_text("utf-8").splitlines()]
    assert {item["answerable"] for item in items} == {None}
    assert f"gold review {draft} --out gold.jsonl" in capsys.readouterr().out
    assert main(["score", "--gold", str(draft), "--trace", str(EXPORTS / "expected" / "trace.jsonl")]) == 3
    assert "answerable" in capsys.readouterr().err


def test_assertions_of_a_config_are_decided_already(tmp_path, capsys):
    draft = tmp_path / "gold.jsonl"
    assert main(["import", str(EXPORTS / "promptfoo" / "promptfooconfig.json"), "--draft-gold", str(draft)]) == 0
    items = [json.loads(line) for line in draft.read_text("utf-8").splitlines()]
    assert {item["answerable"] for item in items} == {True}
    assert f"gold lint {draft}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "nonsense"], "there is no format"),
        ([], "--out FILE or --dry-run"),
        (["--from", "deepeval", "--dry-run"], "is not deepeval"),
        (["--map", "x=y", "--dry-run"], "there is no field"),
    ],
)
def test_wrong_arguments(capsys, arguments, said):
    assert main(["import", str(EXPORTS / "otel" / "genai_1_41.otlp.jsonl"), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_the_formats_are_listed(capsys):
    assert main(["import", "-", "--from", "list"]) == 0
    assert {"openinference", "promptfoo", "trec", "table"} <= set(capsys.readouterr().out.split())


def test_hostile_text_stays_text(tmp_path, capsys):
    path = tmp_path / "::error::x\x1b[31m.jsonl"
    path.write_text(json.dumps({"user_input": "##[command]", "response": "::set-output::", "reference": "x"}) + "\n")
    assert main(["import", str(path), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert not any(line.startswith("::") for line in shown.splitlines())
