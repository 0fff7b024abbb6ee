"""Formats: JSON arrays, CSV, TSV and Parquet give the records that JSON lines give, and say what is wrong with them."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from shipworthy.core.sources import ANSWERS, Input, load_gold, stream_traces
from shipworthy.errors import DataError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.reading.formats import ArrayRows, TableRows, open_rows
from shipworthy.reading.jsonl import BadLines, Problems

GOLD = [
    {
        "qid": "Q1",
        "question": "Price?",
        "answerable": True,
        "gold_claim_substr": ["49 dollars"],
        "gold_citations": ["d1"],
    },
    {"qid": "Q2", "question": "Where?", "answerable": True, "gold_claim_substr": ["Frankfurt", "in Hesse"]},
    {"qid": "U1", "question": "Who?", "answerable": False},
]
TABLE = """qid,question,answerable,gold_claim_substr,gold_citations
Q1,Price?,true,49 dollars,"[""d1""]"
Q2,Where?,TRUE,Frankfurt; in Hesse,
U1,Who?,false,,
"""
ANSWERED = [
    {"qid": "Q1", "answer": "It is 49 dollars [d1]", "ctx": [{"id": "d1"}]},
    {"qid": "Q2", "answer": "In Frankfurt", "ctx": [{"id": "d2"}]},
    {"qid": "U1", "answer": "not in context", "ctx": []},
]
MAP = ("claim=answer", "retrieved_ids=ctx[*].id", r"citations=re:\[(\w+)\]@answer")


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8", newline="")
    return path


def rows(path: Path) -> tuple[list[Any], Problems]:
    problems = Problems()
    found = open_rows(str(path), problems)
    assert found is not None
    return [row for _, row in found], problems


def test_every_format_gives_the_same_gold(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in GOLD)
    paths = [
        write(tmp_path / "a.jsonl", lines),
        write(tmp_path / "a.json", json.dumps(GOLD, indent=2)),
        write(tmp_path / "b.json", "\ufeff" + json.dumps(GOLD)),
        write(tmp_path / "a.csv", "\ufeff" + TABLE.replace("\n", "\r\n")),
        write(tmp_path / "a.tsv", TABLE.replace(",", "\t")),
    ]
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    contents = {load_gold(path).source.content for path in [*paths, tmp_path / "z.csv.gz"]}
    assert len(contents) == 1
    assert len({load_gold(path).source.digest for path in paths}) == len(paths)


def test_parquet_is_mapped_too(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(ANSWERED), tmp_path / "t.parquet")
    read = [trace for _, trace in stream_traces(tmp_path / "t.parquet", Input(), map=MAP, needs=ANSWERS)]
    assert [(trace.qid, trace.answer.claim, trace.retrieved) for trace in read] == [
        ("Q1", "It is 49 dollars", ["d1"]),
        ("Q2", "In Frankfurt", ["d2"]),
        ("U1", "not in context", []),
    ]


def test_a_mapped_array_is_scored_as_our_own_traces_are(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.csv", TABLE)
    foreign = write(tmp_path / "answers.json", json.dumps(ANSWERED))
    own = [
        {
            "qid": row["qid"],
            "answer_json": {
                "claim": row["answer"].removesuffix(" [d1]"),
                "citations": ["d1"] if row["qid"] == "Q1" else [],
            },
            "retrieved_ids": [one["id"] for one in row["ctx"]],
        }
        for row in ANSWERED
    ]
    mapped, direct = evaluate(gold, foreign, map=MAP), evaluate(gold, own)
    assert mapped.items == direct.items
    assert mapped.report()["metrics"] == direct.report()["metrics"]


@pytest.mark.parametrize("column", ["claim", "answer"])
def test_flat_columns_of_a_table_are_traces(tmp_path: Path, column: str) -> None:
    table = write(tmp_path / "t.csv", f"qid,{column},citations,retrieved_ids,e2e_ms\nQ1,yes,a;b,a;b;c,12.5\n")
    (_, trace), *_ = stream_traces(table, Input(), map=() if column == "claim" else ("claim=answer",), needs=ANSWERS)
    assert (trace.answer.claim, trace.answer.citations, trace.retrieved) == ("yes", ["a", "b"], ["a", "b", "c"])
    assert trace.e2e_ms == 12.5


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "csv-header"),
        (",,\n1,2,3\n", "csv-header"),
        ("qid,qid\nA,B\n", "csv-header"),
        ("qid,claim\nA\n", "csv-ragged"),
        ("qid,claim\nA,b,c\n", "csv-ragged"),
        ('qid,claim\nA,"b\n', "csv"),
        ("qid,claim,e2e_ms\nA,b,fast\n", "map-value"),
        ("qid,claim,answer_json\nA,b,{\n", "map-value"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, text: str, code: str) -> None:
    path = write(tmp_path / "t.csv", text)
    with pytest.raises(DataError) as caught:
        list(stream_traces(path, Input()))
    assert caught.value.code == code


def test_a_table_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"qid,claim\nA,\xff\xfe\n")
    with pytest.raises(DataError, match="not UTF-8"):
        list(stream_traces(tmp_path / "t.csv", Input()))


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('[{"qid": "A"}, {"qid":', "truncated", 1),
        ('[{"qid": "A"}\n{"qid": "B"}]', "json", 1),
        ('[\n{"qid": "A"},\n{"qid" "B"}]', "json", 3),
        ('[{"qid": "A"}] x', "json", 1),
        ('[{"qid": "A"}, 5]', "not-object", 1),
        ('[\n{"qid": "A"},\n{"qid": "B", "qid": "C"}]', "repeated-key", 3),
        ('[{"qid": NaN}]', "nonfinite", 1),
        ("[" * 100_000, "too-deep", 1),
    ],
)
def test_arrays_that_are_none(tmp_path: Path, text: str, code: str, line: int) -> None:
    _, problems = rows(write(tmp_path / "a.json", text))
    assert (problems.first[0].code, problems.first[0].line) == (code, line)


def test_bad_elements_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    found, problems = rows(write(tmp_path / "a.json", '[{"a": 1}, 5, {"a": 2, "a": 3}, {"a": 4}]'))
    assert (found, problems.total, problems.unread) == ([{"a": 1}, {"a": 4}], 2, False)
    assert rows(write(tmp_path / "e.json", " [ ] "))[0] == []


def test_a_large_array_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("w") as stream:
        stream.write("[")
        for number in range(20_000):
            stream.write(("," if number else "") + json.dumps({"qid": str(number), "answer": "x" * 400}) + "\n")
        stream.write("]")
    tracemalloc.start()
    count = sum(1 for _ in ArrayRows(str(path), Problems()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000 and peak < path.stat().st_size / 4


def test_long_elements_span_blocks(tmp_path: Path) -> None:
    value = [{"qid": "A", "answer": "ä\\" * 300_000}, {"qid": "B"}]
    assert rows(write(tmp_path / "a.json", json.dumps(value, ensure_ascii=False)))[0] == value


def test_a_single_object_says_where_the_records_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", json.dumps({"rows": [{"qid": "A"}]}, indent=1))
    with pytest.raises(DataError, match=r"one object with rows\[\*\]\.qid.*under rows.*not-list"):
        list(stream_traces(path, Input()))
    one_line = write(tmp_path / "b.json", '{"qid": "A", "answer_json": {"claim": "x"}}\n')
    assert len(list(stream_traces(one_line, Input()))) == 1


def messages(cli: Cli, gold: Path, trace: Path, *more: str) -> tuple[int, str]:
    ran = cli("score", "--gold", gold, "--trace", trace, *more)
    return ran.code, ran.err


def test_a_record_that_names_no_question_asks_for_that_alone_where_the_rest_is_there(tmp_path: Path, cli: Cli) -> None:
    gold = write(tmp_path / "gold.csv", TABLE)
    code, err = messages(cli, gold, write(tmp_path / "a.jsonl", '{"trace": {"id": "A"}, "claim": "x"}\n'))
    assert code == 3 and "Add the qid of its gold question to each record. [trace-fields]" in err


def test_a_file_without_the_fields_says_how_to_map_it(tmp_path: Path, cli: Cli) -> None:
    gold = write(tmp_path / "gold.csv", TABLE)
    for name, text in {"a.json": json.dumps(ANSWERED), "a.jsonl": "\n".join(map(json.dumps, ANSWERED))}.items():
        code, err = messages(cli, gold, write(tmp_path / name, text))
        assert code == 3 and "[trace-fields]" in err
        assert "found qid, answer, ctx[*].id. Map them: --map claim=answer" in err
    code, err = messages(cli, gold, tmp_path / "a.json", "--map", "claim=answr")
    assert code == 3 and "claim=answr matches nothing in 3 records" in err and "Try --map claim=answer." in err
    code, err = messages(cli, gold, tmp_path / "a.json", "--map", "claim=re:[@answer")
    assert code == 2 and "does not compile" in err


def test_swapped_files_are_recognised(tmp_path: Path, cli: Cli) -> None:
    gold = write(tmp_path / "gold.csv", TABLE)
    trace = write(tmp_path / "t.jsonl", '{"qid": "Q1", "answer_json": {"claim": "x"}, "retrieved_ids": ["a"]}\n')
    for one, other in ((trace, gold), (gold, gold)):
        code, err = messages(cli, one, other)
        assert code == 3 and "are --gold and --trace swapped? [files-swapped]" in err


@pytest.mark.parametrize(
    ("row", "tool"),
    [
        ({"user_input": "q", "response": "a", "retrieved_contexts": ["c"]}, "ragas"),
        ({"input": "q", "actual_output": "a", "retrieval_context": ["c"]}, "deepeval"),
    ],
)
def test_rows_of_other_tools_are_named_with_the_command(
    tmp_path: Path, cli: Cli, row: dict[str, Any], tool: str
) -> None:
    path = write(tmp_path / "rows.jsonl", json.dumps(row) + "\n")
    code, err = messages(cli, write(tmp_path / "gold.csv", TABLE), path)
    assert code == 3 and f"these are {tool} rows" in err and f"shipworthy import {path}" in err


def test_our_own_journal_is_not_mapped_again(tmp_path: Path) -> None:
    line = {"qid": "Q1", "sweep_id": "s", "answer_json": {"claim": "ours"}, "answer": "theirs"}
    path = write(tmp_path / "t.jsonl", json.dumps(line) + "\n")
    (_, trace), *_ = stream_traces(path, Input(), map=("claim=answer", "retrieved_ids=nowhere"), needs=ANSWERS)
    assert trace.answer.claim == "ours"


def test_lenient_skips_bad_rows_of_a_table(tmp_path: Path) -> None:
    path = write(tmp_path / "g.csv", TABLE + "Q9,x\n")
    with pytest.raises(BadLines):
        load_gold(path)
    assert load_gold(path, lenient=True).source.bad == 1
    assert TableRows(str(path), ",", Problems()).cells
