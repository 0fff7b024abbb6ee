"""Damage to any file that is read: bytes flipped, cut and inserted. Only errors of ours, never a silent loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conftest import EFFORT, gold, trace, write_lines
from shipworthy import evaluate
from shipworthy.core.contracts import DetailedTrace
from shipworthy.core.sources import Input, load_gold, stream_traces
from shipworthy.errors import ShipworthyError
from shipworthy.reading import lock as goldlock
from shipworthy.reading.idmap import parse_id_map
from shipworthy.reading.jsonl import Problems, Reader

GOLDS = [gold(f"Q{n}", constraints=["cite"], relevant=[{"id": "d1", "offsets": [0, 9]}]) for n in range(4)]
TRACES = [
    trace(
        f"Q{n}", echo=["cite"], topk=[{"id": "d1", "score": 0.5}], delta_s=[0.1], lambda_state="→", e2e_ms=1.5, seed=n
    )
    for n in range(4)
]
SIGNS = [
    b"\n",
    b"\r",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
]
WORDS = [b"\\ud800", b"\\u0071", b"1e999", b"NaN", b"9" * 5000, b"[" * 300, b"null", b"true", b"-0", b'"qid":"Q0",']
NOISE = st.binary(max_size=3) | st.sampled_from(SIGNS + WORDS)
fuzzed = settings(max_examples=100 * EFFORT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def damage(draw: st.DrawFn) -> list[tuple[float, int, bytes]]:
    """Up to three wounds: where (as a share of the file), how many bytes go, what comes in their place."""
    place = st.floats(0, 1, allow_nan=False)
    return draw(st.lists(st.tuples(place, st.integers(0, 40), NOISE), min_size=1, max_size=3))


def wounded(data: bytes, wounds: list[tuple[float, int, bytes]]) -> bytes:
    found = bytearray(data)
    for share, cut, noise in wounds:
        at = int(share * len(found))
        found[at : at + cut] = noise
    return bytes(found)


def lines_of(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


@fuzzed
@given(wounds=damage())
@example(wounds=[(0.5, 0, b'"qid":"Q0",')])
@example(wounds=[(0.005, 0, b"\\ud800")])  # half a surrogate pair in a key was a traceback
@example(wounds=[(0.3, 0, b"9" * 5000)])
@example(wounds=[(0.7, 40, b"[" * 300)])
def test_every_line_is_a_record_or_a_problem(wounds: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for rows, record in ((TRACES, DetailedTrace), (TRACES, dict)):
        path.write_bytes(data := wounded(lines_of(rows), wounds))
        problems = Problems()
        found = list(Reader(path, record, problems))
        blank = sum(not line.removeprefix(b"\xef\xbb\xbf").strip() for line in data.split(b"\n"))
        assert len(found) + problems.total == data.count(b"\n") + 1 - blank


@fuzzed
@given(wounds=damage())
def test_damaged_gold_is_told_or_shown_by_the_lock(wounds: Any, tmp_path: Path) -> None:
    """What the reader can't see, such as another letter in a text, the lock sees."""
    path = tmp_path / "gold.jsonl"
    path.write_bytes(lines_of(GOLDS))
    goldlock.freeze(path, "R", "Ada")
    path.write_bytes(wounded(lines_of(GOLDS), wounds))
    try:
        found = load_gold(path)
        changed = bool(goldlock.lock_problems(path))
    except ShipworthyError as error:
        assert error.exit_code == 3
        return
    assert changed or found.source.content == load_gold(GOLDS).source.content


@fuzzed
@given(wounds=damage())
def test_a_damaged_lock_never_passes_for_a_signature(wounds: Any, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "gold.jsonl", GOLDS[1:])
    goldlock.freeze(write_lines(tmp_path / "gold.jsonl", GOLDS), "R", "Ada")
    write_lines(path, GOLDS[1:])  # one item is gone
    lock = tmp_path / "gold.lock"
    lock.write_bytes(wounded(lock.read_bytes(), wounds))
    try:
        assert goldlock.lock_problems(path)
    except ShipworthyError as error:
        assert error.exit_code == 3


@fuzzed
@given(wounds=damage(), ending=st.sampled_from([".jsonl", ".tsv"]))
def test_a_damaged_id_map_is_a_usage_error_or_a_table(wounds: Any, ending: str, tmp_path: Path) -> None:
    rows = b'{"trace": "a", "gold": "b"}\n{"trace": "c", "gold": "d"}\n' if ending == ".jsonl" else b"a\tb\nc\td\n"
    path = tmp_path / f"map{ending}"
    path.write_bytes(wounded(rows, wounds))
    try:
        assert isinstance(parse_id_map(str(path)).table, dict)
    except ShipworthyError as error:
        assert error.exit_code == 2


@fuzzed
@given(
    text=st.text(max_size=40) | st.sampled_from(["a\0b", "x" * 5000, "drop-prefix=", "\ud800.jsonl", ",,,", "/", "."])
)
def test_any_text_is_an_id_map_or_a_usage_error(text: str) -> None:
    try:
        parse_id_map(text)
    except ShipworthyError as error:
        assert error.exit_code == 2


@pytest.mark.parametrize(
    "row", ['{"trace": "a", "trace": "x", "gold": "b"}', '{"trace": "a", "gold": "b", "gold": "c"}']
)
def test_a_repeated_key_in_an_id_map_is_refused(row: str, tmp_path: Path) -> None:
    path = tmp_path / "map.jsonl"
    path.write_text(row)
    with pytest.raises(ShipworthyError, match="occurs twice") as caught:
        parse_id_map(str(path))
    assert caught.value.code == "repeated-key"


def test_a_repeated_key_in_a_fixture_is_refused(tmp_path: Path) -> None:
    from shipworthy.suites.reasoning.contracts import read_fixture

    path = tmp_path / "fixture.json"
    path.write_text('{"name": "x", "cases": [{"id": "a", "prompt": "p", "id": "b"}]}')
    with pytest.raises(ShipworthyError, match="occurs twice"):
        read_fixture(path)


@fuzzed
@given(wounds=damage(), what=st.sampled_from(["gold", "trace"]))
def test_damage_never_makes_a_run_ship_that_should_not(wounds: Any, what: str, tmp_path: Path) -> None:
    """A wrong answer among the traces: whatever is damaged, the decision is an error, or not SHIP by losing it."""
    traces = [*TRACES[:3], trace("Q3", "Something else.", echo=["cite"])]
    data = {"gold": lines_of(GOLDS), "trace": lines_of(traces)}
    data[what] = data[what].rsplit(b"\n", 2)[0] + b"\n" + data[what].rsplit(b"\n", 2)[1]  # no newline at the end
    cut = data[what][: int(wounds[0][0] * len(data[what]))] if what == "trace" else data[what]
    paths = {}
    for name, content in (data | {what: cut}).items():
        paths[name] = tmp_path / f"{name}.jsonl"
        paths[name].write_bytes(content)
    try:
        decision = evaluate(paths["gold"], paths["trace"], gates=["precision=1"])
    except ShipworthyError as error:
        assert error.exit_code == 3
        return
    assert decision.verdict != "SHIP"


def test_traces_of_a_damaged_line_are_counted_with_lenient(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(lines_of(TRACES[:2]) + b"{oops\n" + lines_of(TRACES[2:]))
    read = Input()
    assert len(list(stream_traces(path, read, lenient=True))) == 4
    assert (read.bad, read.records) == (1, 4)
