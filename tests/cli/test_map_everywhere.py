"""--map is one language with one help text, wherever gold, traces, logs or tables are read."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from conftest import Cli
from shipworthy.cli import COMMANDS, group
from shipworthy.core.options import MAP_HELP

GOLD = ("--map", "qid=Name", "--map", "question=Frage", "--map", "answerable=ok")
EXPECTED = (*GOLD, "--map", "gold_claim_substr=exp", "--map", "gold_citations=src")
RANKED = ("--map", "retrieved_ids=contexts[*].id")
ANSWERS = (*RANKED, "--map", "claim=answer", "--map", r"citations=re:\[(\w+)\]@answer")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold, answers = tmp_path / "gold.csv", tmp_path / "answers.json"
    gold.write_text("Name,Frage,ok,exp,src\nQ1,How much?,true,49 dollars,doc1\nQ2,Who?,false,,\n", "utf-8")
    rows = [
        {"Name": "Q1", "answer": "It costs 49 dollars [doc1].", "contexts": [{"id": "doc1"}, {"id": "doc2"}]},
        {"Name": "Q2", "answer": "not in context", "contexts": [{"id": "doc3"}]},
    ]
    answers.write_text(json.dumps(rows), "utf-8")
    return gold, answers


def test_a_retrieval_log_with_other_names(files: tuple[Path, Path], cli: Cli) -> None:
    gold, answers = files
    plain = ("retrieval", "score", "--gold", gold, "--run", answers, *EXPECTED)
    for more in ((), ("--metrics", "R@5")):
        ran = cli(*plain, *RANKED, *more, "--json")
        assert ran.json["metrics"]["recall@5"]["value"] == 1.0, ran.err
        lacking = cli(*plain, *more)
        assert lacking.code == 3 and "no record has retrieved_ids or topk" in lacking.err
        assert "--map 'retrieved_ids=contexts[*].id'" in lacking.err and "[trace-fields]" in lacking.err
        wrong = cli(*plain, "--map", "retrieved_ids=kontexts[*].id", *more)
        assert wrong.code == 3 and "matches nothing" in wrong.err and "[map-nothing]" in wrong.err


def test_gold_files_are_linted_frozen_verified_and_compared_by_their_mapping(
    files: tuple[Path, Path], cli: Cli
) -> None:
    gold, answers = files
    linted = cli("gold", "lint", gold, *EXPECTED, "--json")
    assert linted.code == 0 and {one["code"] for one in json.loads(linted.out)} == {"gold-size"}
    assert cli("gold", "lint", gold).code == 3
    assert cli("gold", "freeze", gold, *EXPECTED, "--release", "1", "--signed-off-by", "Ada").code == 0
    assert cli("gold", "verify", gold, *EXPECTED).code == 0
    assert cli("gold", "diff", gold.with_suffix(".lock"), gold, *EXPECTED).code == 0
    scored = ("score", "--gold", gold, "--trace", answers, *EXPECTED, *ANSWERS)
    assert cli(*scored).code == 0
    gold.write_text(gold.read_text("utf-8").replace("How much?", "How many?"), "utf-8")
    changed = cli("gold", "verify", gold, *EXPECTED)
    assert changed.code == 3 and changed.out.splitlines()[0].split() == ["changed", "Q1"]
    assert cli(*scored).code == 3


def test_two_trace_files_are_compared_by_their_mapping(files: tuple[Path, Path], cli: Cli, tmp_path: Path) -> None:
    gold, answers = files
    worse = tmp_path / "worse.json"
    worse.write_text(answers.read_text("utf-8").replace("49 dollars", "50 dollars"), "utf-8")
    ran = cli("compare", answers, worse, "--gold", gold, *EXPECTED, *ANSWERS, "--json")
    assert ran.code == 1 and ran.json["lost"] == ["Q1"], ran.err
    assert cli("aa", answers, worse, "--gold", gold, *EXPECTED, *ANSWERS).out.startswith("SHIP and NO-SHIP")
    alone = cli("compare", "a.json", "b.json", "--map", "claim=answer")
    assert alone.code == 2 and "without --gold" in alone.err


def test_an_import_reads_paths_and_patterns_like_scoring_does(
    files: tuple[Path, Path], cli: Cli, tmp_path: Path
) -> None:
    _, answers = files
    out = tmp_path / "t.jsonl"
    assert cli("import", answers, "--map", "qid=Name", *ANSWERS, "--out", out).code == 0
    first = json.loads(out.read_text("utf-8").splitlines()[0])
    assert first["answer_json"] == {"claim": "It costs 49 dollars.", "citations": ["doc1"]}
    assert first["retrieved_ids"] == ["doc1", "doc2"]


def test_a_cell_of_a_table_may_hold_json_that_a_path_leads_into(files: tuple[Path, Path], cli: Cli) -> None:
    gold, answers = files
    table = answers.with_suffix(".csv")
    table.write_text('Name,answer.text,contexts\nQ1,49 dollars,"[{""id"": ""doc1""}]"\nQ2,not in context,[]\n', "utf-8")
    ran = cli("score", "--gold", gold, "--trace", table, *EXPECTED, *RANKED, "--map", "claim=answer.text", "--json")
    assert ran.json["recall@k"] == 1.0 and ran.json["answered"] == 1, ran.err


def test_every_map_flag_has_the_same_help() -> None:
    context = click.Context(group)
    helps: dict[str, str | None] = {}
    for verb in COMMANDS:
        command = group.get_command(context, verb)
        assert command is not None
        for one in [command, *(command.commands.values() if isinstance(command, click.Group) else ())]:
            helps |= {
                f"{verb} {one.name}": option.help
                for option in one.params
                if isinstance(option, click.Option) and "--map" in option.opts
            }
    assert set(helps.values()) == {MAP_HELP}
    assert {"score score", "import import", "init init", "compare compare", "gold lint", "retrieval score"} <= set(
        helps
    )
