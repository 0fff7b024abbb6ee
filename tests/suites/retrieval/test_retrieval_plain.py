"""One retriever against a gold set: how good is it? No shadow, no λ, no ΔS unless the log has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, write_lines

GOLD: list[dict[str, Any]] = [
    {"qid": "A", "question": "a?", "answerable": True, "gold_citations": ["d1"]},
    {"qid": "B", "question": "b?", "relevant": ["d2", "d3"]},
    {"qid": "U", "question": "u?", "answerable": False},
]
RUN: list[dict[str, Any]] = [
    {"qid": "A", "retrieved_ids": ["d1", "d9"]},
    {"qid": "B", "retrieved_ids": ["d8", "d2"]},
    {"qid": "U", "retrieved_ids": ["d8"]},
]
TREC = "A Q0 d1 1 0.9 t\nA Q0 d9 2 0.8 t\nB Q0 d8 1 0.7 t\nB Q0 d2 2 0.6 t\nU Q0 d8 1 0.5 t\n"


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "gold.jsonl", GOLD)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "run.jsonl", RUN)


def test_a_log_is_measured_and_the_finding_comes_first(gold: Path, log: Path, cli: Cli) -> None:
    ran = cli("retrieval", "score", "--gold", gold, "--run", log)
    assert ran.code == 0
    assert ran.out.startswith("MEASURED  2 of 2 questions have a relevant block in the first 5 (recall@5 0.750")
    assert "add --gates recall@5=0.90" in ran.out
    for word in ("λ", "ΔS", "shadow", "delta_s", "lambda", "coverage", "citation_accuracy", "n/a"):
        assert word not in ran.out


def test_a_gate_makes_a_decision_of_it(gold: Path, log: Path, cli: Cli) -> None:
    assert cli("retrieval", "score", "--gold", gold, "--run", log, "--gates", "recall@5=0.7").code == 0
    ran = cli("retrieval", "score", "--gold", gold, "--run", log, "--gates", "recall@5=0.9")
    assert ran.code == 1
    assert ran.out.startswith("NO-SHIP  retrieval recall at 5 is 0.750; at least 0.90 is needed")


def test_a_trec_run_gives_the_same_numbers(gold: Path, log: Path, tmp_path: Path, cli: Cli) -> None:
    run = tmp_path / "run.txt"
    run.write_text(TREC)
    ours, theirs = (cli("retrieval", "score", "--gold", gold, "--run", path, "--json").json for path in (log, run))
    assert ours["metrics"] == theirs["metrics"]
    wanted = ("--metrics", "P@5,MRR")
    lists = [cli("retrieval", "score", "--gold", gold, "--run", path, *wanted, "--json").json for path in (log, run)]
    assert lists[0]["metrics"] == lists[1]["metrics"]
    assert lists[0]["mrr"] == 0.75


def test_what_the_log_has_is_shown(gold: Path, tmp_path: Path, cli: Cli) -> None:
    rich = [{**row, "lambda_state": "→", "delta_s": [0.2] * len(row["retrieved_ids"])} for row in RUN]
    rich[0] |= {"answer_citations": [{"id": "d1"}]}
    log = write_lines(tmp_path / "rich.jsonl", rich)
    out = cli("retrieval", "score", "--gold", gold, "--run", log).out
    assert "Convergence (λ)" in out
    assert "coverage" in out


def test_a_question_without_a_list_counts_as_nothing_found_and_is_named(gold: Path, tmp_path: Path, cli: Cli) -> None:
    log = write_lines(tmp_path / "short.jsonl", RUN[:1])
    ran = cli("retrieval", "score", "--gold", gold, "--run", log, "--gates", "recall@5=0.4")
    assert ran.code == 3
    assert ran.out.startswith("NO VERDICT")


def test_the_table_by_slice_fits_eighty_columns(gold: Path, log: Path, cli: Cli) -> None:
    for path in (gold, log):
        assert path.exists()
    rows = [{**row, "topic": "a long topic name"} for row in GOLD]
    sliced = write_lines(gold.parent / "sliced.jsonl", rows)
    out = cli("retrieval", "score", "--gold", sliced, "--run", log, "--by", "topic").out
    table = [line for line in out.splitlines() if line.startswith(("By slice", "  topic="))]
    assert len(table) == 2
    assert max(map(len, table)) <= 80


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--gold",), "a gold set (or qrels) and a result log"),
        (("--gold", "--run", "--live"), "Write --shadow instead of --run"),
        (("--gold", "--run", "--shadow"), "a gold set (or qrels) and a result log"),
        (("--gold", "--qrels", "--run"), "a gold set (or qrels) and a result log"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(
    flags: tuple[str, ...], words: str, gold: Path, log: Path, cli: Cli
) -> None:
    files = {"--gold": gold, "--qrels": gold}
    ran = cli("retrieval", "score", *(part for flag in flags for part in (flag, files.get(flag, log))))
    assert ran.code == 2
    assert words in ran.err
    assert "[retrieval-inputs]" in ran.err
