"""Exports for other tools: OTLP JSON, an MLflow batch, CSV and Parquet, read back by what reads them elsewhere."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, gold, refusal, trace, unanswerable, write_lines
from shipworthy import check, evaluate, render

HOSTILE = '=HYPERLINK("http://x","y")'
ITEMS = [gold("A1", type="table"), gold("A2", type="text"), gold(HOSTILE, type="text"), unanswerable("U1", type="text")]
TRACES = [
    trace("A1", scores={"kept": 0.9}),
    trace("A2", "wrong", cite=("d2",), scores={"kept": 0.1}),
    trace(HOSTILE, scores={"kept": 1}),
    refusal("U1"),
]
METRICS = {"kept": {"from": "scores.kept", "at_least": 0.5, "source": "code"}}


@pytest.fixture
def decision() -> Any:
    return evaluate(ITEMS, TRACES, custom_metrics=METRICS, by=["type"], gates=["kept>=0.9"])


def values(record: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in record["attributes"]}


def records(text: bytes) -> list[dict[str, Any]]:
    (resource,) = json.loads(text)["resourceLogs"]
    (scope,) = resource["scopeLogs"]
    return scope["logRecords"]


def test_events_of_opentelemetry(decision: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    found = records(render(decision, "otlp"))
    assert {one["eventName"] for one in found} == {"gen_ai.evaluation.result"}
    assert {one["timeUnixNano"] for one in found} == {"1700000000000000000"}
    assert render(decision, "otlp") == render(decision, "otlp")
    named = [values(one) for one in found]
    first = named[0]
    assert first["gen_ai.evaluation.name"] == "answers" and first["gen_ai.evaluation.score.label"] == "NO-SHIP"
    assert found[0]["severityNumber"] == 13
    items = {one["shipworthy.qid"]: one for one in named if one["gen_ai.evaluation.name"] == "answers.item"}
    assert items["A2"]["gen_ai.evaluation.score.value"] == 0.0
    assert items["A2"]["gen_ai.evaluation.explanation"] == "containment" and HOSTILE in items
    kept = [one for one in named if one["gen_ai.evaluation.name"] == "answers.item.kept"]
    assert [one["gen_ai.evaluation.score.label"] for one in kept] == ["pass", "pass", "fail"]
    assert any(one["gen_ai.evaluation.name"] == "answers.precision" for one in named)
    assert all("doubleValue" in one["attributes"][1]["value"] for one in found)


def test_events_of_opentelemetry_are_read_by_its_own_schema(decision: Any) -> None:
    logs = pytest.importorskip("opentelemetry.proto.logs.v1.logs_pb2")
    parse = pytest.importorskip("google.protobuf.json_format").Parse
    assert parse(render(decision, "otlp"), logs.LogsData()).resource_logs[0].scope_logs[0].log_records


def test_a_batch_of_mlflow(decision: Any) -> None:
    batch = json.loads(render(decision, "mlflow"))
    metrics = {one["key"]: one["value"] for one in batch["metrics"]}
    assert metrics["ships"] == 0 and metrics["precision"] == pytest.approx(2 / 3) and "recall_at_5" in metrics
    assert metrics["precision/type_table"] == 1 and metrics["kept"] == pytest.approx(2 / 3)
    keys = [one["key"] for part in batch.values() for one in part]
    assert all(re.fullmatch(r"[\w./ -]{1,250}", key, re.ASCII) for key in keys)
    assert len({one["key"] for one in batch["metrics"]}) == len(batch["metrics"]) <= 800
    assert {one["key"]: one["value"] for one in batch["tags"]}["shipworthy.decision"] == "NO-SHIP"


def test_too_many_slices_for_a_batch() -> None:
    items = [gold(f"Q{i}", topic=f"t{i}") for i in range(80)]
    batch = json.loads(render(evaluate(items, [trace(one["qid"]) for one in items], by=["topic"]), "mlflow"))
    assert len(batch["metrics"]) == 800 and batch["metrics"][1]["key"] == "precision"
    assert "metrics" in {one["key"]: one["value"] for one in batch["tags"]}["shipworthy.left_out"]


def test_csv_has_no_formula_and_reads_back(decision: Any) -> None:
    text = render(decision, "csv").decode()
    rows = list(csv.DictReader(text.splitlines()))
    assert {row["qid"] for row in rows} == {"A1", "A2", "U1", f"'{HOSTILE}"}
    assert {row["kept"] for row in rows} == {"true", "false", ""}
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


def test_parquet_has_types(decision: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    path.write_bytes(render(decision, "parquet"))
    table = parquet.read_table(path)
    assert {row["qid"] for row in table.to_pylist()} == {"A1", "A2", "U1", HOSTILE}
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["qid"], types["correct"], types["recall_rank"]) == ("string", "bool", "int64")


def test_from_the_command_line_for_a_score_and_a_board(tmp_path: Path, cli: Cli) -> None:
    write_lines(tmp_path / "gold.jsonl", ITEMS)
    write_lines(tmp_path / "trace.jsonl", TRACES)
    names = ("e.otlp.json", "m.mlflow.json", "rows.csv", "rows.parquet")
    flags = [part for name in names for part in ("-o", tmp_path / name)]
    assert cli("score", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "trace.jsonl", *flags).code == 1
    assert all((tmp_path / name).stat().st_size for name in names)
    config = tmp_path / "shipworthy.toml"
    config.write_text('[suites.answers]\ngold = "gold.jsonl"\ntrace = "trace.jsonl"\n')
    board = check(config, record=False)
    assert render(board, "csv").decode().startswith("suite,qid,")
    assert values(records(render(board, "otlp"))[0])["gen_ai.evaluation.name"] == "answers"


def test_without_the_package_parquet_is_refused_before_scoring(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    ran = cli("score", "--gold", "absent", "--trace", "absent", "-o", tmp_path / "rows.parquet")
    assert ran.code == 2 and "needs-extra" in ran.err and not (tmp_path / "rows.parquet").exists()
