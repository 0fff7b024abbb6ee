"""Every record of a run says how many runs were planned: no copy, filter, format or folder can hide what is missing."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import gold, planned, trace, write_lines
from shipworthy import evaluate

Row = dict[str, Any]
GOLD = [gold(f"q{n}") for n in range(6)]
# Two runs of every question: losing one of them leaves each question with a trace.
ROWS = [{**trace(f"q{n % 6}", ts=n), "seed": n // 6} for n in range(12)]
OLDER = [trace(f"q{n}", ts=-1.0) for n in range(6)]  # a complete file that says nothing of a plan


def judged(path: Any, **more: Any) -> tuple[str, str]:
    found = evaluate("answers", gold=GOLD, trace=path, only_gates=True, gates="precision>=0", **more)
    return found.verdict, found.reasons[0]


def as_lines(path: Path, rows: list[Row]) -> Path:
    return write_lines(path.with_suffix(".jsonl"), rows)


def as_gz(path: Path, rows: list[Row]) -> Path:
    path = path.with_suffix(".jsonl.gz")
    path.write_bytes(gzip.compress(as_lines(path.with_name("plain"), rows).read_bytes()))
    return path


def as_array(path: Path, rows: list[Row]) -> Path:
    path = path.with_suffix(".json")
    path.write_text(json.dumps(rows), "utf-8")
    return path


def as_table(path: Path, rows: list[Row]) -> Path:
    path = path.with_suffix(".csv")
    flat = [{**row, **row["answer_json"]} for row in rows]
    for row in flat:
        del row["answer_json"]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, flat[0])
        writer.writeheader()
        writer.writerows(
            {name: json.dumps(value) if isinstance(value, list) else value for name, value in row.items()}
            for row in flat
        )
    return path


def as_parquet(path: Path, rows: list[Row]) -> Path:
    table, parquet = pytest.importorskip("pyarrow").Table, pytest.importorskip("pyarrow.parquet")
    path = path.with_suffix(".parquet")
    parquet.write_table(table.from_pylist(rows), path)
    return path


FORMATS = [as_lines, as_gz, as_array, as_table, as_parquet]


@pytest.mark.parametrize("written", FORMATS)
@pytest.mark.parametrize("mapped", [(), ("confidence=sure",)])
def test_any_surviving_line_tells_what_is_missing(
    tmp_path: Path, written: Callable[[Path, list[Row]], Path], mapped: tuple[str, ...]
) -> None:
    rows = planned(ROWS, 12)
    assert judged(written(tmp_path / "t", rows), map=mapped)[0] == "SHIP"
    for kept in (rows[6:], rows[:11], rows[11:0:-1], [*rows[6:], *rows[6:]]):
        verdict, reason = judged(written(tmp_path / "t", kept), map=mapped)
        held = len({row["run_id"] for row in kept})
        assert verdict == "NO VERDICT" and f"trace has {held} of 12 planned runs: " in reason


def test_no_other_file_of_a_folder_hides_what_is_missing(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", OLDER)
    write_lines(tmp_path / "b.jsonl", planned(ROWS, 12)[2:])
    for source in (tmp_path, f"{tmp_path}/*.jsonl"):
        verdict, reason = judged(source)
        assert verdict == "NO VERDICT" and "trace has 10 of 12 planned runs" in reason
    write_lines(tmp_path / "c.jsonl", planned(ROWS, 12)[:2])
    assert judged(tmp_path)[0] == "SHIP", "the plan is complete, over two files"


def test_what_stands_beside_the_traces_is_no_file_of_traces(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", planned(ROWS, 12))
    write_lines(tmp_path / "a.jsonl.journal", [{"shipworthy_journal": 2, "sweep_id": "s", "planned": 12}])
    write_lines(tmp_path / "a.jsonl.lock", [{"pid": 1, "host": "here"}])
    for source in (tmp_path, f"{tmp_path}/*", f"{tmp_path}/a*"):
        assert judged(source)[0] == "SHIP"


def test_each_of_several_plans_must_be_complete(tmp_path: Path) -> None:
    first, second = planned(ROWS, 12, "first"), planned(ROWS, 12, "second")
    path = write_lines(tmp_path / "t.jsonl", [*first, *second])
    assert judged(path)[0] == "SHIP"
    write_lines(path, [*first[1:], *second, *second])
    verdict, reason = judged(path)
    assert verdict == "NO VERDICT" and "trace has 11 of 12 planned runs of sweep first: " in reason


def test_a_sweep_that_is_named_needs_no_other(tmp_path: Path) -> None:
    rows = [*planned(ROWS, 12, "first")[1:], *planned(ROWS, 12, "second")]
    path = write_lines(tmp_path / "t.jsonl", [{**row, "jitter": "none"} for row in rows])
    for sweep, verdict in ((None, "NO VERDICT"), ("second", "SHIP"), ("first", "NO VERDICT"), ("all", "NO VERDICT")):
        found = evaluate("stability", gold=GOLD, runs=path, only_gates=True, gates="acr>=0", sweep=sweep)
        assert found.verdict == verdict, sweep


def test_a_run_without_its_run_id_is_known_by_what_it_asked(tmp_path: Path) -> None:
    rows = [{**row, "run_id": None} for row in planned(ROWS, 12)]
    assert judged(write_lines(tmp_path / "t.jsonl", rows))[0] == "SHIP"
    for again in (rows[0], {**rows[0], "ts": 99, "answer_json": {"claim": "Another.", "citations": ["d1"]}}):
        assert judged(write_lines(tmp_path / "t.jsonl", [*rows[:11], again]))[0] == "NO VERDICT"


def test_an_older_header_is_joined_by_its_records_wherever_they_are(tmp_path: Path) -> None:
    """The header of an older file counts for the runs that name its plan, in other files too."""
    header = {"shipworthy_journal": 1, "sweep_id": "s", "planned": 12}
    rows = [{name: value for name, value in row.items() if name != "planned_runs"} for row in planned(ROWS, 12)]
    write_lines(tmp_path / "a.jsonl", [header, *rows[:5]])
    write_lines(tmp_path / "b.jsonl", rows[5:11])
    assert "trace has 11 of 12 planned runs" in judged(tmp_path)[1]
    write_lines(tmp_path / "b.jsonl", planned(ROWS, 12)[5:])
    assert judged(tmp_path)[0] == "SHIP"


def test_a_bad_line_is_no_run_of_its_plan(tmp_path: Path) -> None:
    rows = planned(ROWS, 12)
    rows[3]["retrieved_ids"] = "d1"
    verdict, reason = judged(write_lines(tmp_path / "t.jsonl", rows), lenient=True)
    assert verdict == "NO VERDICT" and "11 of 12 planned runs" in reason


@pytest.mark.parametrize("count", [-1, 0, "12", 1.5])
def test_a_number_of_runs_that_is_none_is_an_error_or_ignored(tmp_path: Path, count: object) -> None:
    from shipworthy.errors import DataError

    path = write_lines(tmp_path / "t.jsonl", [{**row, "planned_runs": count} for row in planned(ROWS, 12)])
    if isinstance(count, int):
        assert judged(path)[0] == "SHIP"
    else:
        with pytest.raises(DataError, match="planned_runs"):
            judged(path)
