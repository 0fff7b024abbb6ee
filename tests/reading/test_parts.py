"""Parts of a file: read one by one they give what the whole file gives, with the same numbers and problems."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipworthy.core.contracts import Trace, trace_keys
from shipworthy.reading import cutting
from shipworthy.reading.cutting import LineRanges, RowGroups, parts_of
from shipworthy.reading.jsonl import Problems, Reader
from shipworthy.reading.parts import Part

LINES = (
    b'{"qid": "a", "answer_json": {"claim": "x"}}',
    '{"qid": "b", "answer_json": {"claim": "Größe"}}'.encode(),
    b'{"qid": "c", "answer_json": {"claim": "\\ud800"}}',
    b'{"qid": "a", "qid": "b"}',
    b'{"qid": 7}',
    b'{"qid": "d", "retreived_ids": []}',
    b"\xef\xbb\xbf" + b'{"qid": "e"}',
    b"\xff\xfe",
    b"{",
    b"[]",
    b"",
    b"  \t",
    b"\r",
    b'{"qid": "f", "q": "' + b"long " * 50 + b'"}',
)


def read_all(sources: list[Path | Part]) -> tuple[list[tuple[int, Trace]], int, list[str]]:
    problems, records = Problems(), []
    for source in sources:
        found = Problems()
        records += list(Reader(source, Trace, found, keys=trace_keys()))
        problems += found
    records = pickle.loads(pickle.dumps(records))  # the plain records, whatever lines were learnt from
    return records, problems.total, [str(problem) for problem in problems.first]


@given(st.lists(st.sampled_from(LINES), max_size=40), st.integers(1, 400), st.integers(1, 90), st.booleans())
def test_parts_read_as_the_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], size: int, scanned: int, ended: bool
) -> None:
    path = tmp_path_factory.mktemp("parts") / "trace.jsonl"
    path.write_bytes(b"\n".join(lines) + (b"\n" if ended else b""))
    ranges = LineRanges(str(path), size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "SCANNED", scanned)  # so that lines go on in the next block
        parts = list(ranges)
    assert ranges.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [part.start for part in parts] == [0, *(part.end for part in parts[:-1])]
    assert parts[-1].end == path.stat().st_size
    assert read_all(parts) == read_all([path])


def test_a_line_longer_than_a_part_is_one_part(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b'{"qid": "' + b"x" * 3_000_000 + b'"}\n{"qid": "b"}\n')
    parts = list(LineRanges(str(path), 10))
    assert [part.first for part in parts] == [1, 2]
    assert [number for number, _ in read_all(parts)[0]] == [1, 2]


def test_row_groups_keep_their_row_numbers(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "trace.parquet"
    parquet.write_table(pyarrow.table({"qid": [f"q{n}" for n in range(10)]}), path, row_group_size=3)
    parts = list(RowGroups(str(path), 1))
    assert [(part.start, part.end, part.first) for part in parts] == [(0, 1, 1), (1, 2, 4), (2, 3, 7), (3, 4, 10)]


@pytest.mark.parametrize("name", ["trace.jsonl.gz", "trace.jsonl.zst", "trace.csv", "trace.json", "absent.jsonl"])
def test_what_must_be_read_whole_has_no_parts(tmp_path: Path, name: str) -> None:
    if name != "absent.jsonl":
        (tmp_path / name).write_bytes(b"")
    assert parts_of(str(tmp_path / name), 10) is None
