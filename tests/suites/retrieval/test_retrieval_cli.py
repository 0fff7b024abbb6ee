"""Retrieval on the command line: score, write, measure, and flags without effect."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from retrieval_helpers import line, question

from conftest import write_lines


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold = write_lines(tmp_path / "gold.jsonl", [question()])
    return gold, write_lines(tmp_path / "shadow.jsonl", [line(delta_s=[0.1, 0.2, 0.3])])


def test_the_command_line_scores_writes_and_measures(tmp_path: Path, files: tuple[Path, Path], cli: Any) -> None:
    gold, shadow = files
    call = ("retrieval", "score", "--gold", gold, "--shadow", shadow, "--live", shadow)
    call = (*call, "--write-trec", tmp_path / "trec")
    ran = cli(*call, "--json")
    shown = ran.json
    assert ran.code == 0 and shown["decision"] == "SHIP"
    assert shown["recall@5"] == 1 and shown["comparison"]["worse"] == []
    states = {outcome["metric"]: outcome["state"] for outcome in shown["outcomes"]}
    assert states["citation_accuracy"] == "NOT-APPLICABLE"  # no gold block has a byte range
    ran = cli(*call)
    assert ran.code == 0
    for text in ("Settings: preset native, match ids", "trec_eval P_5 0.400", "Shadow against live on 1 question:"):
        assert text in ran.out
    qrels, run = tmp_path / "trec" / "qrels.txt", tmp_path / "trec" / "run.txt"
    ran = cli("retrieval", "score", "--qrels", qrels, "--run", run, "--metrics", "P@5,MRR")
    assert ran.code == 0 and re.search(r"P_5\)? +0\.400", ran.out)
    ran = cli("retrieval", "score", "--gold", gold)
    assert ran.code == 2 and "[retrieval-inputs]" in ran.err


@pytest.mark.parametrize(
    ("call", "flag"),
    [
        ("--qrels q --run r --match offsets", "--match"),
        ("--qrels q --run r --profile reference", "--profile"),
        ("--qrels q --run r --by x", "--by"),
        ("--qrels q --run r --texts t", "--texts"),
        ("--qrels q --run r --live l --embedder http", "--embedder"),
        ("--qrels q --run r --lenient", "--lenient"),
        ("--gold g --shadow s --rel-level 2", "--rel-level"),
        ("--gold g --shadow s --metrics P@5 --k 3", "--k"),
        ("--gold g --shadow s --metrics P@5 --live l", "--metrics"),
        ("--qrels q --run r --write-trec d", "--write-trec"),
    ],
)
def test_flags_without_effect_are_refused(call: str, flag: str, cli: Any) -> None:
    ran = cli("retrieval", "score", *call.split())
    assert ran.code == 2 and re.search(rf"{flag}.*\[retrieval-inputs\]", ran.err)


def test_metrics_must_be_named(cli: Any) -> None:
    ran = cli("retrieval", "score", "--qrels", "q", "--run", "r", "--metrics", "")
    assert ran.code == 2 and "no metric is named" in ran.err


@pytest.mark.one_process
def test_nothing_but_the_report_is_printed_where_nobody_watches(
    files: tuple[Path, Path], cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shipworthy.cli import _output

    seconds = iter(range(0, 1000, 2))
    monkeypatch.setattr(_output.time, "monotonic", lambda: next(seconds))  # as slow as a large file
    ran = cli("retrieval", "score", "--gold", files[0], "--shadow", files[1], "--json")
    assert ran.err == "" and json.loads(ran.out)["decision"] == "SHIP"


def test_bars_for_distances_are_suggested(tmp_path: Path, cli: Any) -> None:
    item = question("q", relevant=["a"], negatives=["n"]) | {"question": "How heavy is the crate?"}
    texts = [{"id": "a", "text": "The crate is heavy."}, {"id": "n", "text": "Opening hours are nine to five."}]
    given = ("--gold", write_lines(tmp_path / "g.jsonl", [item]), "--texts", write_lines(tmp_path / "t.jsonl", texts))
    assert cli("retrieval", "calibrate", *given, "--json").json["embedder"] == "lexical:char3-5"
    assert "--gates 'delta_s_median<=" in cli("retrieval", "calibrate", *given).out
    ran = cli("retrieval", "calibrate", *given, "--embedder", "precomputed")
    assert ran.code == 2 and "[embedder-setting]" in ran.err


def test_a_log_in_many_files_and_a_run_in_one(tmp_path: Path, cli: Any) -> None:
    gold = write_lines(tmp_path / "gold.jsonl", [question("q1"), question("q2")])
    (tmp_path / "logs").mkdir()
    for name in ("q1", "q2"):
        write_lines(tmp_path / "logs" / f"{name}.jsonl", [line(name)])
    together = write_lines(tmp_path / "log.jsonl", [line("q1"), line("q2")])
    for more in ((), ("--metrics", "P@5")):
        whole, parts = (
            cli("retrieval", "score", "--gold", gold, "--run", path, "--json", *more).json
            for path in (together, tmp_path / "logs")
        )
        assert parts["items"] == whole["items"] and parts["metrics"] == whole["metrics"]
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q1 0 a 1\n")
    ran = cli("retrieval", "score", "--qrels", qrels, "--run", tmp_path / "logs" / "*", "--metrics", "P@5")
    assert ran.code == 2 and "2 files, but a TREC run is one file" in ran.err
