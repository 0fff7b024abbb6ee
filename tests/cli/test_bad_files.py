"""Files that are not what they were given as: the message says what they are, and the command or flag that helps."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from conftest import Cli

GOLD = "qid,question,answerable,gold_claim_substr,gold_citations\nQ1,What does it cost?,true,$49,doc1\n"
RESPONSES = [{"qid": "Q1", "answer": "It costs $49 [doc1].", "sources": [{"id": "doc1", "text": "It costs $49."}]}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("gold.csv").write_text(GOLD)
    Path("answers.json").write_text(json.dumps(RESPONSES))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOLD.split("\n", 1)[1] * 2, "Is the first line a header?"),
        (GOLD.replace(",", "\t"), "The cells are separated by tabs"),
        (GOLD + "Q2,More\n", "bad.csv:3: 2 cells, the header has 5"),
        (GOLD + "Q2,a,true,b,c,d\n", "bad.csv:3: 6 cells, the header has 5"),
        ("", "there is no header"),
    ],
    ids=["no header", "tabs", "too few", "too many", "empty"],
)
def test_a_table_that_is_laid_out_otherwise(text: str, said: str, cli: Cli) -> None:
    Path("bad.csv").write_text(text)
    ran = cli("score", "--gold", "bad.csv", "--trace", "answers.json", "--map", "claim=answer")
    assert ran.code == 3 and said in ran.err


def test_a_table_with_semicolons_and_a_mark_of_its_encoding_is_read_as_one_with_commas(cli: Cli) -> None:
    Path("semicolons.csv").write_text("\ufeff" + GOLD.replace(";", ",,").replace(",", ";").replace("\n", "\r\n"))
    flags = ("--trace", "answers.json", "--map", "claim=answer")
    ran, usual = cli("score", "--gold", "semicolons.csv", *flags), cli("score", "--gold", "gold.csv", *flags)
    assert (ran.code, ran.out.replace("semicolons", "gold")) == (usual.code, usual.out)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("質問,正解\n家賃はいくらですか？,1250ユーロ\n管理人は誰ですか？,ブラント\n", "--map gold_claim_substr=正解"),
        ("Frage,Antwort\nWas kostet es?,49 Euro\nWer ist es?,Herr Brandt\n", "--map gold_claim_substr=Antwort"),
    ],
)
def test_a_gold_set_without_ids_is_told_to_have_them(text: str, hint: str, cli: Cli) -> None:
    Path("bad.csv").write_text(text)
    ran = cli("score", "--gold", "bad.csv", "--trace", "answers.json")
    assert ran.code == 3 and "Add a column qid" in ran.err and hint in ran.err and "qid=" not in ran.err


def test_a_column_of_yes_and_no_is_not_the_expected_text(cli: Cli) -> None:
    rows = "1,Was kostet es?,49 Euro,ja\n2,Wer ist es?,Herr Brandt,ja\n3,Wem gehört es?,,nein\n"
    Path("bad.csv").write_text(f"Nr,Frage,Erwartet,beantwortbar\n{rows}")
    ran = cli("score", "--gold", "bad.csv", "--trace", "answers.json")
    for flag in ("qid=Nr", "question=Frage", "gold_claim_substr=Erwartet", "'answerable=re:\\S@Erwartet'"):
        assert f"--map {flag}" in ran.err


def test_responses_without_a_qid_are_not_told_to_map_the_answer_again(cli: Cli) -> None:
    Path("bad.json").write_text(json.dumps([{"question": "What does it cost?", "answer": "$49"}]))
    ran = cli("score", "--gold", "gold.csv", "--trace", "bad.json", "--map", "claim=answer")
    assert ran.code == 3 and "no record has a qid" in ran.err and "Add the qid of its gold question" in ran.err


def test_records_inside_an_object(cli: Cli) -> None:
    Path("bad.json").write_text(json.dumps({"data": RESPONSES}))
    ran = cli("score", "--gold", "gold.csv", "--trace", "bad.json")
    assert ran.code == 3 and "jq .data bad.json > records.json" in ran.err


def test_gold_and_responses_of_another_shape_that_were_swapped(cli: Cli) -> None:
    ran = cli("score", "--gold", "answers.json", "--trace", "gold.csv")
    assert ran.code == 3 and "are --gold and --trace swapped?" in ran.err


@pytest.mark.parametrize(
    ("rows", "tool"),
    [
        ([{"user_input": "What does it cost?", "retrieved_contexts": ["$49"], "response": "$49"}], "ragas"),
        ([{"input": "What does it cost?", "actual_output": "$49", "retrieval_context": ["$49"]}], "deepeval"),
    ],
)
def test_rows_of_another_tool_are_read_by_the_command_in_the_message(
    rows: list[dict[str, object]], tool: str, cli: Cli
) -> None:
    Path("rows.json").write_text(json.dumps(rows))
    ran = cli("score", "--gold", "gold.csv", "--trace", "rows.json")
    assert ran.code == 3 and f"these are {tool} rows" in ran.err
    command = shlex.split(ran.err.split("shipworthy import", 1)[1].split("[")[0].replace("gold.jsonl", "gold.csv"))
    assert cli("import", *command).code == 0
    trace = json.loads(Path("runs/trace.jsonl").read_text().splitlines()[-1])
    assert trace["qid"] == "Q1" and trace["answer_json"]["claim"] == "$49"
