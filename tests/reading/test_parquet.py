"""Columns: a Parquet file gives the report that the same records give as JSON lines, whatever its columns hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from shipworthy.errors import DataError, ShipworthyError
from shipworthy.jobs.evaluate import evaluate
from shipworthy.reading import tables

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

GOLD = [
    {
        "qid": f"Q{n}",
        "question": f"Question {n}?",
        "answerable": n % 3 > 0,
        "gold_claim_substr": [f"value {n} holds"],
        "gold_citations": [f"d{n}"],
    }
    for n in range(6)
]
SCHEMA = pyarrow.schema(
    [
        ("qid", pyarrow.string()),
        ("q", pyarrow.string()),
        ("ts", pyarrow.int64()),
        ("mine", pyarrow.float64()),
        ("confidence", pyarrow.float64()),
        ("retrieved_ids", pyarrow.list_(pyarrow.string())),
        ("error", pyarrow.string()),
        (
            "answer_json",
            pyarrow.struct([("claim", pyarrow.string()), ("citations", pyarrow.list_(pyarrow.string()))]),
        ),
    ]
)
ANSWER = st.fixed_dictionaries(
    {
        "claim": st.sampled_from(["value 1 holds.", "So value 2 holds: Größe", "not in context", "", "It fails"]),
        "citations": st.lists(st.sampled_from(["d1", "d2", "x"]), max_size=2),
    }
)
ROW = st.fixed_dictionaries(
    {"qid": st.sampled_from(["Q0", "Q1", "Q2", "Q3", "Q9"])},
    optional={
        "q": st.sampled_from(["Why?", ""]),
        "ts": st.integers(0, 9),
        "confidence": st.sampled_from([0.5, 1.0]),
        "retrieved_ids": st.lists(st.sampled_from(["d1", "d2", "x"]), max_size=3),
        "error": st.sampled_from(["timeout", ""]),
        "answer_json": ANSWER,
    },
)


def told(gold: list[dict[str, Any]], traces: Path, **more: Any) -> tuple[str, Any]:
    """The report without what names the file, or the error."""
    try:
        report = evaluate(gold, str(traces), **more).report()
    except ShipworthyError as error:
        return "error", getattr(error, "code", "")
    report["inputs"]["trace"].pop("sha256")
    return "report", {key: value for key, value in report.items() if key not in ("digest", "run")}


@settings(max_examples=25 * EFFORT, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=12), st.sampled_from(["last", "first", "worst"]))
def test_the_report_of_columns_is_that_of_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], keep: str
) -> None:
    folder = tmp_path_factory.mktemp("columns")
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    parquet.write_table(pyarrow.Table.from_pylist(rows, SCHEMA), folder / "t.parquet", row_group_size=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROWS", 3)  # several batches, some with a null and some without
        by_column = told(GOLD, folder / "t.parquet", on_duplicate=keep)
    assert by_column == told(GOLD, folder / "t.jsonl", on_duplicate=keep)


def written(path: Path, rows: list[dict[str, Any]], schema: Any = SCHEMA) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema), path)
    return path


GOOD = {
    "qid": "Q1",
    "q": "Why?",
    "retrieved_ids": ["d1"],
    "answer_json": {"claim": "value 1 holds", "citations": ["d1"]},
}


@pytest.mark.parametrize(
    ("odd", "code"),
    [({"qid": ""}, "type"), ({"qid": None}, "type"), ({"retrieved_ids": ["d1", None]}, "type")],
)
def test_a_row_that_is_wrong_is_named(tmp_path: Path, odd: dict[str, Any], code: str) -> None:
    path = written(tmp_path / "t.parquet", [GOOD, GOOD | odd])
    with pytest.raises(DataError) as raised:
        evaluate(GOLD, str(path))
    assert raised.value.code == code
    assert ":2" in str(raised.value.where)


def test_a_number_that_is_not_finite_is_an_error_where_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", [GOOD, GOOD | {"confidence": float("nan")}, GOOD])
    with pytest.raises(DataError) as raised:
        evaluate(GOLD, str(path))
    assert raised.value.code == "nonfinite"


def test_a_misspelt_column_is_an_error(tmp_path: Path) -> None:
    rows = [{**GOOD, "retreived_ids": ["d1"]}]
    del rows[0]["retrieved_ids"]
    schema = pyarrow.schema(
        [field.with_name("retreived_ids") if field.name == "retrieved_ids" else field for field in SCHEMA]
    )
    with pytest.raises(DataError) as raised:
        evaluate(GOLD, str(written(tmp_path / "t.parquet", rows, schema)))
    assert raised.value.code == "unknown-key"


def test_numbers_as_names_are_read_as_text(tmp_path: Path) -> None:
    schema = SCHEMA.set(0, pyarrow.field("qid", pyarrow.int64()))
    gold = [GOLD[1] | {"qid": "7"}]
    decision = evaluate(gold, str(written(tmp_path / "t.parquet", [GOOD | {"qid": 7}], schema)))
    assert decision.counts["missing"] == 0
    assert any("qid-number" in warning for warning in decision.warnings)


def test_a_text_that_is_not_utf_8_is_bad_data_even_where_a_later_row_counts(tmp_path: Path) -> None:
    """The first of the two rows is superseded, and so never made into a record."""
    texts = pyarrow.array(["a?x", "fine"])
    offsets, letters = texts.buffers()[1:]
    broken = pyarrow.py_buffer(letters.to_pybytes().replace(b"?", b"\xd3"))
    asked = pyarrow.Array.from_buffers(pyarrow.string(), 2, [None, offsets, broken])
    answers = pyarrow.array([{"claim": "value 1 holds.", "citations": ["d1"]}] * 2)
    table = pyarrow.table({"qid": pyarrow.array(["Q1", "Q1"]), "q": asked, "answer_json": answers})
    parquet.write_table(table, tmp_path / "trace.parquet")
    with pytest.raises(DataError, match="UTF"):
        evaluate(GOLD, str(tmp_path / "trace.parquet"))
