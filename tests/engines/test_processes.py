"""The processes engine: many files, odd lines, workers that die; always inline's report, or an error."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import Cli, gold, planned, refusal, trace, unanswerable, write_lines
from shipworthy import evaluate
from shipworthy.core.decision import report
from shipworthy.engines import auto, pool, processes, units
from shipworthy.engines.attempts import Failed
from shipworthy.errors import EnvironmentFailure, ShipworthyError
from shipworthy.suites import load_suite


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few lines, and several workers for a few questions."""
    monkeypatch.setattr(units, "LEAST", 300)
    monkeypatch.setattr(processes, "WORTH_SHARING", 1)


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    items = [gold(f"q{n:03}") if n % 5 else unanswerable(f"q{n:03}") for n in range(40)]
    rows = [
        trace(f"q{n % 50:03}", "The right answer." if n % 3 else "something else", ts=n)
        if n % 7
        else refusal(f"q{n % 50:03}", ts=n)
        for n in range(400)
    ]
    return write_lines(tmp_path / "gold.jsonl", items), write_lines(tmp_path / "trace.jsonl", rows)


def both(run: Callable[[str], Any]) -> tuple[Any, Any]:
    """What one process and what several give: a report without its `run`, or an error."""

    def outcome(engine: str) -> Any:
        try:
            found = report(run(engine))
        except ShipworthyError as error:
            return type(error), str(error)
        return {name: value for name, value in found.items() if name != "run"}

    return outcome("inline"), outcome("processes")


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("keep", ["last", "first", "worst", "error"])
def test_which_trace_counts_is_decided_by_its_place(inputs: tuple[Path, Path], keep: str) -> None:
    one, several = both(lambda engine: evaluate(*inputs, engine=engine, on_duplicate=keep))
    assert one == several


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("lenient", [False, True])
def test_bad_lines_keep_their_numbers(inputs: tuple[Path, Path], lenient: bool) -> None:
    lines = inputs[1].read_text().splitlines()
    for place in range(5, 400, 9):
        lines[place] = "{broken"
    inputs[1].write_text("\n".join(lines))
    one, several = both(lambda engine: evaluate(*inputs, engine=engine, lenient=lenient))
    assert one == several
    assert ":6: " in str(several if not lenient else several["inputs"]["trace"]["problems"])


@pytest.mark.usefixtures("small_parts")
def test_journals_count_their_runs_once(inputs: tuple[Path, Path]) -> None:
    rows = planned([trace(f"q{n % 50:03}", ts=n) for n in range(400)], 405)
    write_lines(inputs[1], [*rows, *rows[:3]])
    one, several = both(lambda engine: evaluate(*inputs, engine=engine))
    assert one == several
    assert "trace has 400 of 405 planned runs" in str(several)


@pytest.mark.usefixtures("small_parts")
def test_a_folder_a_glob_and_archives_are_one_input(tmp_path: Path, inputs: tuple[Path, Path]) -> None:
    gold_file, whole = inputs
    lines = whole.read_text().splitlines(keepends=True)
    folder = tmp_path / "logs"
    for number, start in enumerate(range(0, 400, 100)):
        part = folder / f"day={number}" / f"part.jsonl{'.gz' if number % 2 else ''}"
        part.parent.mkdir(parents=True)
        text = "".join(lines[start : start + 100]).encode()
        part.write_bytes(gzip.compress(text) if number % 2 else text)
    (folder / "_SUCCESS").touch()
    expected = report(evaluate(gold_file, whole))
    for source in (folder, f"{folder}/day=*/*.jsonl*", f"{folder}/**"):
        one, several = both(lambda engine, source=source: evaluate(gold_file, source, engine=engine))
        assert one == several
        assert several["metrics"] == expected["metrics"]
        assert several["items"] == expected["items"]
        assert several["inputs"]["trace"]["records"] == 400


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("first", "second", "precision"), [(1, 2, 1), (2, 1, 0)])
def test_the_later_of_two_files_wins_and_is_named(tmp_path: Path, first: int, second: int, precision: int) -> None:
    gold_file = write_lines(tmp_path / "gold.jsonl", [gold("q1")])
    write_lines(tmp_path / "b.jsonl", [trace("q1", ts=second)])
    write_lines(tmp_path / "a.jsonl", [trace("q1", "wrong", ts=first), trace("q1", "wrong again", ts=first)])
    pattern = str(tmp_path / "[ab].jsonl")
    one, several = both(lambda engine: evaluate(gold_file, pattern, engine=engine))
    assert one == several
    assert several["metrics"]["precision"]["value"] == precision
    with (tmp_path / "b.jsonl").open("a") as out:
        out.write(json.dumps(trace("q2")) + "\n")
    one, several = both(lambda engine: evaluate(gold_file, pattern, engine=engine, closed=True))
    assert one == several
    assert "line 2 of file 2 has qid 'q2'" in several[1]


@pytest.mark.usefixtures("small_parts")
def test_of_two_files_without_times_neither_wins(tmp_path: Path) -> None:
    gold_file = write_lines(tmp_path / "gold.jsonl", [gold("q1")])
    write_lines(tmp_path / "b.jsonl", [trace("q1")])
    write_lines(tmp_path / "a.jsonl", [trace("q1", "wrong"), trace("q1", "wrong again")])
    one, several = both(lambda engine: evaluate(gold_file, str(tmp_path / "[ab].jsonl"), engine=engine))
    assert one == several
    assert "a.jsonl:2 and " in several[1] and "b.jsonl:1 are both about qid 'q1'" in several[1]
    assert "[trace-order]" in several[1]


@pytest.mark.usefixtures("small_parts")
def test_a_damaged_archive_among_many_is_an_error(tmp_path: Path, inputs: tuple[Path, Path], cli: Cli) -> None:
    gold_file, whole = inputs
    for name in "abc":
        (tmp_path / f"part-{name}.jsonl.gz").write_bytes(gzip.compress(whole.read_bytes()))
    cut = tmp_path / "part-b.jsonl.gz"
    cut.write_bytes(cut.read_bytes()[:-30])
    ran = [
        cli("score", "--gold", gold_file, "--trace", tmp_path / "part-*.jsonl.gz", "--engine", engine, "--lenient")
        for engine in ("inline", "processes")
    ]
    assert ran[0] == ran[1]
    assert ran[0].code == 3
    assert "part-b.jsonl.gz:" in ran[0].err
    assert "the archive is cut off" in ran[0].err


@pytest.mark.usefixtures("small_parts")
def test_a_file_of_something_else_among_many_is_an_error(tmp_path: Path, inputs: tuple[Path, Path]) -> None:
    gold_file, whole = inputs
    whole.rename(tmp_path / "log-1.jsonl")
    write_lines(tmp_path / "log-2.jsonl", [{"qid": f"q{n}", "answer": "not where it belongs"} for n in range(30)])
    one, several = both(lambda engine: evaluate(gold_file, tmp_path / "log-*.jsonl", engine=engine))
    assert one == several
    assert "log-2.jsonl" in several[1]
    assert "[trace-fields]" in several[1]


@pytest.mark.usefixtures("small_parts")
def test_mapped_fields_may_match_in_any_part(inputs: tuple[Path, Path]) -> None:
    rows = [{"qid": f"q{n % 50:03}", "reply": "The right answer."} for n in range(300)]
    rows += [{"qid": "q001", "reply": "The right answer.", "docs": ["d1"]}]
    write_lines(inputs[1], rows)
    chosen = ("claim=reply", "retrieved_ids=docs")
    one, several = both(lambda engine: evaluate(*inputs, engine=engine, map=chosen))
    assert one == several
    assert "metrics" in several
    one, several = both(lambda engine: evaluate(*inputs, engine=engine, map=("claim=nowhere", "retrieved_ids=docs")))
    assert one == several
    assert "[map-nothing]" in several[1]


@pytest.mark.usefixtures("small_parts")
def test_row_groups_of_parquet(tmp_path: Path, inputs: tuple[Path, Path]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in inputs[1].read_text().splitlines()]
    path = tmp_path / "trace.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=37)
    one, several = both(lambda engine: evaluate(inputs[0], path, engine=engine))
    assert one == several
    assert several["inputs"]["trace"]["records"] == 400
    parquet.write_table(pyarrow.Table.from_pylist([{"name": "x"}] * 90), path, row_group_size=37)
    one, several = both(lambda engine: evaluate(inputs[0], path, engine=engine))
    assert one == several
    assert "[trace-fields]" in several[1]


def test_records_and_pipes_are_read_in_one_process(inputs: tuple[Path, Path]) -> None:
    rows = [json.loads(line) for line in inputs[1].read_text().splitlines()]
    one, several = both(lambda engine: evaluate(inputs[0], rows, engine=engine))
    assert one == several


@pytest.mark.parametrize("engine", ["auto", "inline", "processes"])
def test_standard_input_gives_the_report_of_the_file(inputs: tuple[Path, Path], cli: Cli, engine: str) -> None:
    call = [sys.executable, "-m", "shipworthy", "score", "--gold", str(inputs[0]), "--json", "--engine", engine]
    with inputs[1].open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        piped = subprocess.run([*call, "--trace", "-"], stdin=cat.stdout, capture_output=True, check=False)
    whole = cli("score", "--gold", inputs[0], "--trace", inputs[1], "--json").json
    assert json.loads(piped.stdout)["digest"] == whole["digest"], piped.stderr


@pytest.mark.parametrize("pattern", ["none-*.jsonl", "empty"])
def test_a_pattern_without_files_is_an_error(tmp_path: Path, inputs: tuple[Path, Path], cli: Cli, pattern: str) -> None:
    (tmp_path / "empty").mkdir()
    ran = cli("score", "--gold", inputs[0], "--trace", tmp_path / pattern)
    assert ran.code == 2
    assert "[no-match]" in ran.err


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(
    tmp_path: Path, inputs: tuple[Path, Path], cli: Cli
) -> None:
    odd = inputs[1].rename(tmp_path / "run[1].jsonl")
    assert cli("score", "--gold", inputs[0], "--trace", odd, "--json").json["inputs"]["trace"]["records"] == 400


def test_reports_over_many_files_can_be_verified(tmp_path: Path, inputs: tuple[Path, Path], cli: Cli) -> None:
    inputs[1].rename(tmp_path / "log-1.jsonl")
    write_lines(tmp_path / "log-2.jsonl", [trace("q001", ts=400)])
    made = tmp_path / "report.json"
    assert cli("score", "--gold", inputs[0], "--trace", tmp_path / "log-*.jsonl", "-o", made).code == 1
    assert cli("verify", made).code == 0
    (tmp_path / "log-3.jsonl").symlink_to("/etc/hosts")
    assert "[receipt-trust]" in cli("verify", made).out


@pytest.mark.usefixtures("small_parts")
def test_started_from_scratch_or_forked_is_the_same(inputs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from shipworthy.jobs import evaluate as door

    one = report(evaluate(*inputs))
    monkeypatch.setattr(door, "engine_named", lambda name, **more: partial(processes.run, jobs=2, start="spawn"))
    assert report(evaluate(*inputs))["digest"] == one["digest"]


def test_the_engine_is_chosen_by_how_much_there_is_to_read(
    inputs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    monkeypatch.setattr(processes, "in_processes", lambda *given: used.append(given) or pool.run(*given))
    evaluate(*inputs, engine="auto")
    assert not used
    monkeypatch.setattr(auto, "WORTH_STARTING", 1)
    evaluate(*inputs, engine="auto", jobs=1)
    assert not used
    evaluate(*inputs, engine="auto", jobs=2)
    assert used


def test_lists_of_ids_are_read_by_several_processes_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of a list is sent no faster than the list is read."""
    names = [f"q{number}" for number in range(300)]
    gold = write_lines(tmp_path / "gold.jsonl", [{"qid": name, "relevant": ["a", "b"]} for name in names])
    log = write_lines(tmp_path / "log.jsonl", [{"qid": name, "retrieved_ids": ["b", name, "a"]} for name in names])
    used = []
    monkeypatch.setattr(processes, "in_processes", lambda *given: used.append(given) or pool.run(*given))
    monkeypatch.setattr(auto, "WORTH_STARTING", 1)
    given = {"gold": gold, "run": log, "metrics": "nDCG@3,MAP", "jobs": 2}
    one = report(evaluate("retrieval", **given, engine="auto"))
    assert not used
    several = report(evaluate("retrieval", **given, engine="processes"))
    assert used and several["digest"] == one["digest"]


def test_progress_is_told(inputs: tuple[Path, Path]) -> None:
    told: list[int] = []
    evaluate(*inputs, engine="processes", jobs=2, tick=told.append)
    assert told[-1] == 400


# --- workers that die ---


def _killing_key(marker: str, here: int, record: Any) -> str:
    """The key of a record; the first worker that sees a certain one is killed, and all of them without a marker."""
    if record.qid == "q033" and os.getpid() != here and not (marker and os.path.exists(marker)):
        if marker:
            Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return str(record.qid)


@pytest.fixture
def deadly(small_parts: None) -> Iterator[Callable[[str], Any]]:
    yield lambda marker: msgspec.structs.replace(load_suite("answers"), key=partial(_killing_key, marker, os.getpid()))


def test_a_killed_worker_changes_nothing(tmp_path: Path, inputs: tuple[Path, Path], deadly: Any) -> None:
    marker = tmp_path / "killed"
    found = evaluate(deadly(str(marker)), gold=inputs[0], trace=inputs[1], engine="processes", jobs=2)
    assert marker.exists()
    assert report(found)["digest"] == report(evaluate(*inputs))["digest"]


def test_a_part_that_kills_twice_is_an_error(inputs: tuple[Path, Path], deadly: Any) -> None:
    with pytest.raises(EnvironmentFailure, match=r"trace.jsonl:\d+.*\[worker-died\]") as caught:
        evaluate(deadly(""), gold=inputs[0], trace=inputs[1], engine="processes", jobs=2)
    assert "signal 9" in caught.value.what


def _hungry_key(here: int, record: Any) -> str:
    """The key of a record; a worker that sees a certain one asks for more memory than there is."""
    if record.qid == "q033" and os.getpid() != here:
        bytearray(1 << 60)
    return str(record.qid)


@pytest.mark.usefixtures("small_parts")
def test_a_worker_out_of_memory_is_an_error_that_names_its_part(inputs: tuple[Path, Path]) -> None:
    suite = msgspec.structs.replace(load_suite("answers"), key=partial(_hungry_key, os.getpid()))
    with pytest.raises(EnvironmentFailure, match=r"out of memory at .*trace\.jsonl:\d+.*--jobs.*\[worker-died\]"):
        evaluate(suite, gold=inputs[0], trace=inputs[1], engine="processes", jobs=2)


@pytest.mark.parametrize("lacking", ["qid", "answer_json"])
def test_a_parquet_file_without_a_column_that_is_needed_is_an_error(
    tmp_path: Path, inputs: tuple[Path, Path], lacking: str
) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in inputs[1].read_text().splitlines()]
    bare = [{name: value for name, value in row.items() if name != lacking} for row in rows]
    parquet.write_table(pyarrow.Table.from_pylist(bare), tmp_path / "t.parquet", row_group_size=50)
    inline, several = both(lambda engine: evaluate(inputs[0], tmp_path / "t.parquet", engine=engine))
    assert inline == several and isinstance(inline, tuple)
    assert "t.parquet" in inline[1] and ("qid" if lacking == "qid" else "answer") in inline[1]


def _fails_from(number: int, task: int) -> int:
    if task >= number:
        raise ZeroDivisionError(task)
    return task * task


def test_results_come_with_the_number_of_their_task() -> None:
    assert sorted(pool.run(_fails_from, (99,), range(20), 3)) == [(n, n * n) for n in range(20)]


def test_errors_of_any_kind_come_back() -> None:
    results = dict(pool.run(_fails_from, (5,), range(8), 2))
    assert sorted(number for number, result in results.items() if isinstance(result, Failed)) == [5, 6, 7]
