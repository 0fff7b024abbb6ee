"""Archives and limits: what is cut, damaged or meant to fill the memory is an error, never a short file."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT, Cli, gold, trace, write_lines
from shipworthy.core.contracts import Trace
from shipworthy.core.sources import Input, load_gold, stream_traces
from shipworthy.errors import DataError, ShipworthyError, UsageError
from shipworthy.reading import archives, jsonl, limits, lock
from shipworthy.reading.jsonl import BadLines, Problems, Reader, read_objects

ITEMS = [gold(f"Q{n:02d}") for n in range(50)]
LINES = [json.dumps(item).encode() + b"\n" for item in ITEMS]
TEXT = b"".join(LINES)


def packed(kind: str, text: bytes) -> bytes:
    if kind == "gz":
        return gzip.compress(text, mtime=0)
    return bytes(pytest.importorskip("zstandard").ZstdCompressor(write_checksum=True).compress(text))


def write(tmp_path: Path, data: bytes, kind: str) -> Path:
    path = tmp_path / f"gold.jsonl.{kind}"
    path.write_bytes(data)
    return path


both = pytest.mark.parametrize("kind", ["gz", "zst"])


@both
def test_members_one_after_the_other_are_one_file(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, packed(kind, TEXT[:3000]) + packed(kind, b"") + packed(kind, TEXT[3000:]), kind)
    assert len(load_gold(path).items) == 50


def test_gzip_may_be_padded_with_zeros(tmp_path: Path) -> None:
    assert len(load_gold(write(tmp_path, packed("gz", TEXT) + b"\0" * 5000, "gz")).items) == 50


@both
def test_a_large_archive_is_read_whole(kind: str, tmp_path: Path) -> None:
    rows = [trace(f"Q{n}", os.urandom(30).hex()) for n in range(5000)]
    text = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    path = tmp_path / f"t.jsonl.{kind}"
    path.write_bytes(packed(kind, text))
    assert [found.qid for _, found in stream_traces(path, Input())] == [row["qid"] for row in rows]


@both
@pytest.mark.parametrize("lenient", [False, True])
def test_a_cut_archive_is_an_error_at_every_byte(kind: str, lenient: bool, tmp_path: Path) -> None:
    """Also with --lenient: nobody knows how many gold items are gone."""
    whole = packed(kind, TEXT[:6000]) + packed(kind, TEXT[6000:])
    first = len(packed(kind, TEXT[:6000]))
    for end in [*range(0, len(whole), 7), first - 1, first + 1, len(whole) - 1]:
        if end == first:
            continue  # a whole archive, as far as anyone can see: the lock knows better
        with pytest.raises(DataError) as caught:
            load_gold(write(tmp_path, whole[:end], kind), lenient=lenient)
        assert caught.value.code in ("unreadable", "truncated"), end


@both
def test_an_archive_cut_between_members_is_told_by_its_lock(kind: str, tmp_path: Path, cli: Cli) -> None:
    """From the stream nobody can tell: ten items are a whole archive. The lock knows that there were fifty."""
    first = packed(kind, b"".join(LINES[:10]))
    path = write(tmp_path, first + packed(kind, b"".join(LINES[10:])), kind)
    lock.freeze(path, "R1", "Ada")
    path.write_bytes(first)
    traces = write_lines(tmp_path / "t.jsonl", [trace(f"Q{n:02d}") for n in range(50)])
    ran = cli("score", "--gold", path, "--trace", traces)
    assert ran.code == 3
    assert "40 items removed since the gold set was frozen" in ran.out + ran.err


@both
def test_garbage_behind_an_archive_is_an_error(kind: str, tmp_path: Path) -> None:
    with pytest.raises(BadLines, match="the rest of the file can't be read"):
        load_gold(write(tmp_path, packed(kind, TEXT) + b"garbage behind it", kind))


@both
def test_a_damaged_archive_is_exit_3(kind: str, tmp_path: Path, cli: Cli) -> None:
    data = bytearray(packed(kind, TEXT))
    data[len(data) // 2] ^= 0xFF
    path = write(tmp_path, bytes(data), kind)
    traces = write_lines(tmp_path / "t.jsonl", [trace("Q00")])
    for name in ("gold", "trace"):
        named = {"gold": path, "trace": traces} if name == "gold" else {"gold": traces, "trace": path}
        ran = cli("score", "--gold", named["gold"], "--trace", named["trace"])
        assert ran.code == 3 and "Traceback" not in ran.err
    assert cli("gold", "freeze", path, "--release", "R", "--signed-off-by", "A").code == 3
    assert cli("gold", "lint", path).code == 3


@pytest.mark.parametrize("content", [b"", b"not packed at all\n", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\0" * 100])
@both
def test_what_is_no_archive_is_an_error(kind: str, content: bytes, tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    with pytest.raises(DataError):
        load_gold(write(tmp_path, content, kind))


def test_a_trec_file_that_is_damaged_is_an_error(tmp_path: Path) -> None:
    """Other readers of archives get the same error, not the archive's own."""
    path = tmp_path / "run.gz"
    path.write_bytes(packed("gz", b"q1 Q0 d1 1 0.5 tag\n" * 999)[:-9])
    with (
        pytest.raises(DataError, match="the rest of the file can't be read"),
        archives.open_binary(str(path), lambda _: None) as stream,
    ):
        stream.read()


@settings(max_examples=100 * EFFORT, deadline=None)
@given(data=st.data(), kind=st.sampled_from(["gz", "zst"]))
def test_any_damage_of_an_archive_is_told(data: Any, kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Flip, cut or insert bytes: an error of ours, or every item as it was. Gzip's header has bytes without meaning."""
    pytest.importorskip("zstandard")
    whole = bytearray(packed(kind, TEXT))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=4))
    path = tmp_path_factory.mktemp("damage") / f"gold.jsonl.{kind}"
    path.write_bytes(bytes(whole))
    try:
        assert len(load_gold(path).items) == 50
    except ShipworthyError as error:
        assert error.exit_code == 3


# --- limits: what is counted is bytes and calls, never time ---


class Counted(io.RawIOBase):
    """Zeros without end, counted."""

    def __init__(self, byte: bytes = b"x") -> None:
        self.byte, self.read_so_far = byte, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        buffer[:] = self.byte * len(buffer)
        self.read_so_far += len(buffer)
        return len(buffer)


def test_a_line_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    endless = Counted()

    @contextmanager
    def opened(path: str, *_: object) -> Any:
        yield io.BufferedReader(endless, limits.BLOCK)

    monkeypatch.setattr(jsonl, "open_binary", opened)
    problems = Problems()
    assert list(Reader("endless.jsonl", Trace, problems)) == []
    assert [(problem.line, problem.code) for problem in problems.first] == [(1, "line-too-long")]
    assert problems.unread
    assert endless.read_so_far <= limits.MAX_SKIPPED + 2 * limits.MAX_LINE


@both
def test_a_bomb_is_stopped_by_its_ratio(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """150 MB of one letter: reading stops after the first 64 MB, in one line and in short ones."""
    out = 0
    check = archives._Unpacked._check

    def counting(self: Any) -> None:
        nonlocal out
        out = max(out, self._out)
        check(self)

    monkeypatch.setattr(archives._Unpacked, "_check", counting)
    for line in (b"0" * 1_000_000, (b" " * 99_999 + b"\n") * 10):
        out = 0
        path = tmp_path / f"bomb.jsonl.{kind}"
        path.write_bytes(_repeated(kind, line, 150))
        with pytest.raises(BadLines) as caught:
            list(stream_traces(path, Input(), lenient=True))
        assert "archive-ratio" in str(caught.value)
        assert out < limits.RATIO_FROM + 20_000_000


def _repeated(kind: str, part: bytes, times: int) -> bytes:
    packer: Any
    if kind == "gz":
        packer = zlib.compressobj(1, wbits=31)
    else:
        packer = pytest.importorskip("zstandard").ZstdCompressor(level=3).compressobj()
    return b"".join(
        [
            packer.compress(b'{"qid":"' if part[:1] == b"0" else b""),
            *(packer.compress(part) for _ in range(times)),
            packer.flush(),
        ]
    )


def test_an_archive_may_hold_so_much_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 10_000)
    with pytest.raises(BadLines, match="archive-size"):
        load_gold(write(tmp_path, packed("gz", TEXT * 2), "gz"))


def test_a_zst_file_may_ask_for_so_much_memory(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    greedy = zstandard.ZstdCompressionParameters.from_level(1, window_log=30, enable_ldm=False)
    data = zstandard.ZstdCompressor(compression_params=greedy).compressobj().compress(TEXT * 3)
    packer = zstandard.ZstdCompressor(compression_params=greedy).compressobj()
    data = packer.compress(TEXT) + packer.flush()
    with pytest.raises(BadLines, match="archive is damaged"):
        load_gold(write(tmp_path, data, "zst"))


def test_a_long_line_is_put_together_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """9 MB in one line: the bytes that are split are those of the file, not its square."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(json.dumps(trace("A", "x" * 9_000_000)).encode() + b"\n" + json.dumps(trace("B")).encode() + b"\n")
    split = 0
    real = jsonl._up_to_newline

    def counting(stream: Any, held: int) -> bytes:
        nonlocal split
        block = real(stream, held)
        split += held + len(block)
        return block

    monkeypatch.setattr(jsonl, "_up_to_newline", counting)
    assert [found.qid for _, found in stream_traces(path, Input())] == ["A", "B"]
    assert split < 3 * path.stat().st_size


@pytest.mark.parametrize(("depth", "fine"), [(150, True), (198, True), (199, True), (200, False), (5000, False)])
def test_depth_is_the_same_on_every_path(depth: int, fine: bool, tmp_path: Path) -> None:
    """The line itself is one level; 200 are allowed, whatever Python's own limit is."""
    row = json.dumps(trace("A"))[:-1] + ', "x": ' + "[" * depth + "]" * depth + "}"
    path = tmp_path / "t.jsonl"
    for lines in ([row], [json.dumps(trace("B")), row, json.dumps(trace("C"))]):
        path.write_text("\n".join(lines) + "\n")
        problems = Problems()
        assert len(list(Reader(path, Trace, problems))) == len(lines) - (not fine)
        assert [problem.code for problem in problems.first] == ([] if fine else ["too-deep"])


def test_brackets_in_a_text_are_no_depth(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [trace("A", "[" * 500), trace("B", "{[" * 500)])
    assert len(list(stream_traces(path, Input()))) == 2


@pytest.mark.parametrize(("digits", "fine"), [(30, True), (4300, True), (4301, False), (6000, False)])
def test_integers_have_so_many_digits(digits: int, fine: bool, tmp_path: Path) -> None:
    row = json.dumps(trace("A"))[:-1] + ', "x": -' + "9" * digits + "}"
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join([json.dumps(trace("B")), row]) + "\n")
    problems = Problems()
    assert len(list(Reader(path, Trace, problems))) == 1 + fine
    assert [problem.code for problem in problems.first] == ([] if fine else ["json"])


def test_a_parquet_row_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from shipworthy.reading import tables

    monkeypatch.setattr(tables, "MAX_ROW", 100_000)
    rows = [gold("A"), gold("B", notes="x" * 200_000), gold("C")]
    parquet.write_table(pyarrow.Table.from_pylist([{"notes": ""} | row for row in rows]), tmp_path / "g.parquet")
    with pytest.raises(DataError, match=r":2: the row is larger") as caught:
        load_gold(tmp_path / "g.parquet")
    assert caught.value.code == "row-too-long"


def test_a_parquet_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.Table.from_pylist([trace("A", e2e_ms=1.0), trace("B", e2e_ms=float("nan"))])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(DataError, match=":2: a number is not finite"):
        list(stream_traces(tmp_path / "t.parquet", Input()))


def test_a_parquet_gold_set_can_be_frozen(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "g.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(ITEMS), path)
    lock.freeze(path, "R", "Ada")
    assert lock.lock_problems(path) == []
    parquet.write_table(pyarrow.Table.from_pylist(ITEMS[1:]), path)
    assert lock.lock_problems(path)


def test_every_limit_has_a_line_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "limits.md").read_text("utf-8")
    names = [name for name in vars(limits) if name.isupper()]
    assert names and [name for name in names if f"`{name}`" not in page] == []


def test_a_path_with_a_nul_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        list(read_objects("a\0b"))
