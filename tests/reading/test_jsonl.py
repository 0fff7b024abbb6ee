"""Reading JSON lines: what is refused, with which words, and what is harmless."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT, gold, trace
from shipworthy.core.contracts import Trace
from shipworthy.core.sources import Input, load_gold, stream_traces
from shipworthy.errors import DataError, UsageError
from shipworthy.reading.jsonl import BadLines, Problems, Reader, read_objects

GOOD = json.dumps(trace("A")).encode()


def read(path: Path) -> list[Trace]:
    return [found for _, found in stream_traces(path, Input())]


def write(tmp_path: Path, content: bytes, name: str = "t.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def with_field(text: str) -> bytes:
    return GOOD[:-1] + b", " + text.encode("utf-8", "surrogatepass") + b"}"


BAD: dict[str, tuple[bytes, str, str]] = {
    "not JSON": (b"{oops", "json", "not JSON"),
    "an array": (b"[1, 2]", "not-object", "found an array"),
    "a number": (b"7", "not-object", "found a number"),
    "null": (b"null", "not-object", "found null"),
    "truncated": (GOOD[:40], "truncated", "cut off"),
    "two objects": (GOOD + GOOD, "json", "extra data"),
    "invalid UTF-8": (GOOD.replace(b"right", b"caf\xe9"), "encoding", "0xe9"),
    "invalid UTF-8 in a field that is not scored": (with_field('"x": "?"').replace(b"?", b"\xff"), "encoding", "0xff"),
    "a NUL byte": (b"\x00\x00\x00", "nul", "NUL"),
    "NaN": (with_field('"e2e_ms": NaN'), "nonfinite", "NaN"),
    "Infinity in a field that is not scored": (with_field('"x": -Infinity'), "nonfinite", "Infinity"),
    "a number out of range": (with_field('"score": 1e999'), "nonfinite", "1e999"),
    "an integer of 5000 digits": (with_field('"x": ' + "9" * 5000), "json", "5000 digits"),
    "a key twice": (with_field('"qid": "B"'), "repeated-key", "'qid'"),
    "a key twice in an answer": (
        b'{"qid":"A","answer_json":{"claim":"bad","claim":"good"}}',
        "repeated-key",
        "'claim'",
    ),
    "a key twice behind an escape": (with_field('"\\u0071id": "B"'), "repeated-key", "'qid'"),
    "half a surrogate pair in a key": (with_field('"\\ud800": 1'), "encoding", "surrogate"),
    "100,000 levels": (with_field('"x": ' + "[" * 100_000 + "]" * 100_000), "too-deep", "nested"),
    "no qid": (b'{"q": "?"}', "type", "qid"),
    "two qids": (with_field('"q_id": "B"'), "type", "two names"),
    "a claim that is a number": (GOOD.replace(b'"The right answer."', b"5"), "type", "answer_json.claim"),
    "citations that are a string": (GOOD.replace(b'["d1"]', b'"d1"'), "type", "answer_json.citations"),
    "a citation that is null": (GOOD.replace(b'["d1"]', b"[null]"), "type", "answer_json.citations[0]"),
    "retrieved ids that are an object": (GOOD.replace(b'["d1", "d2"]', b"{}"), "type", "retrieved_ids"),
    "a latency that is a string": (with_field('"e2e_ms": "12"'), "type", "e2e_ms"),
    "a seed that is a fraction": (with_field('"seed": 1.5'), "type", "seed"),
    "offsets that are reversed": (with_field('"topk": [{"id": "d1", "offsets": [9, 3]}]'), "type", "offsets"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_names_its_place_and_the_rest_is_read(name: str, tmp_path: Path) -> None:
    line, code, words = BAD[name]
    path = write(tmp_path, GOOD + b"\n" + line + b"\n" + GOOD + b"\n")
    with pytest.raises(BadLines) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:2: ")
    assert message.endswith(f"[{code}]")
    assert words in message
    assert caught.value.total == 1
    kept = Input()
    assert len(list(stream_traces(path, kept, lenient=True))) == 2
    assert kept.bad == 1


HARMLESS: dict[str, bytes] = {
    "a byte order mark": b"\xef\xbb\xbf" + GOOD + b"\n",
    "a byte order mark in the middle": b"\n\xef\xbb\xbf" + GOOD + b"\n",
    "CRLF": GOOD + b"\r\n",
    "blank lines": b"\n   \n" + GOOD + b"\n\n",
    "no final newline": GOOD,
    "a lone surrogate": GOOD.replace(b"right", b"right \\ud800") + b"\n",
    "line separators in text": GOOD.replace(b"right", "right \u2028 \u0085".encode()) + b"\n",
    "a NUL escape in text": GOOD.replace(b"right", b"right \\u0000") + b"\n",
    "escaped letters in text": GOOD.replace(b"right", b"\\u0072ight") + b"\n",
    "a claim that speaks of keys": GOOD.replace(b"right answer", b'\\"claim\\" right answer \\"claim\\"') + b"\n",
    "null where a field is optional": GOOD[:-1] + b', "error": null, "e2e_ms": null, "seed": null}\n',
    "an unknown field": GOOD[:-1] + b', "anything": {"at": ["all"]}}\n',
    "objects for ids": GOOD.replace(b'["d1", "d2"]', b'[{"id": "d1", "score": 0.5}, "d2"]') + b"\n",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_oddities_are_read(name: str, tmp_path: Path) -> None:
    (found,) = read(write(tmp_path, HARMLESS[name]))
    assert found.qid == "A"
    assert found.retrieved == ["d1", "d2"]
    assert "right" in found.answer.claim


def test_every_bad_line_is_counted_and_twenty_are_shown(tmp_path: Path) -> None:
    path = write(tmp_path, b"{oops\n" * 50 + GOOD)
    with pytest.raises(BadLines) as caught:
        read(path)
    lines = str(caught.value).splitlines()
    assert caught.value.total == 50
    assert len(lines) == 21
    assert lines[-1] == "… and 30 more."


def test_a_line_of_50_megabytes_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + b"\n" + b'{"qid": "' + b"x" * 50_000_000 + b'"}\n' + GOOD + b"\n")
    with pytest.raises(BadLines, match=":2: the line is longer than 10 MB") as caught:
        read(path)
    assert caught.value.total == 1


def test_gz_and_zst_are_read_as_they_are(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    lines = GOOD + b"\n" + GOOD + b"\n"
    assert len(read(write(tmp_path, gzip.compress(lines), "t.jsonl.gz"))) == 2
    assert len(read(write(tmp_path, zstandard.compress(lines), "t.jsonl.zst"))) == 2


def test_a_damaged_archive_is_a_problem_with_a_line(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(json.dumps(trace(f"A{n}")).encode() + b"\n" for n in range(2000)))
    with pytest.raises(BadLines, match="the rest of the file can't be read"):
        read(write(tmp_path, whole[: len(whole) // 2], "t.jsonl.gz"))


def test_missing_files_and_folders_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read(tmp_path / "nothing.jsonl")
    with pytest.raises(UsageError, match="directory"):
        read(tmp_path)


def test_a_file_without_permission_is_the_environments_fault(tmp_path: Path) -> None:
    """Root may read everything, so it gives up the right to; somebody else could not even import the package where the
    clone lies in a folder of root's own.
    """
    if os.getuid() == 0 and sys.platform != "linux":
        pytest.skip("root may read everything here")
    script = (
        "import ctypes, os, sys\n"
        "if os.getuid() == 0:\n"
        "    for right in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH\n"
        "        ctypes.CDLL(None).prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP, from the next program on\n"
        "score = ['score', '--gold', sys.argv[1], '--trace', sys.argv[1]]\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'shipworthy', *score])\n"
    )
    path = write(tmp_path, json.dumps(gold("A")).encode())
    path.chmod(0)
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "can't be opened: Permission denied" in done.stderr


def test_a_journal_header_is_no_trace(tmp_path: Path) -> None:
    header = json.dumps({"shipworthy_journal": 1, "sweep_id": "x"}).encode()
    assert len(read(write(tmp_path, header + b"\n" + GOOD + b"\n"))) == 1


def test_plain_objects_come_with_their_lines(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"a": 1}\n\n{"b": 2}\n')
    assert list(read_objects(path)) == [(1, {"a": 1}), (3, {"b": 2})]


def test_gold_errors_name_both_lines_and_emptiness(tmp_path: Path) -> None:
    rows = [gold("A"), gold("B"), gold("A")]
    path = write(tmp_path, "\n".join(map(json.dumps, rows)).encode())
    with pytest.raises(BadLines, match=r":3: duplicate qid 'A' \(first on line 1\)"):
        load_gold(path)
    with pytest.raises(DataError, match="has no questions") as caught:
        load_gold(write(tmp_path, b"\n\n"))
    assert caught.value.code == "gold-empty"


def test_a_number_for_a_qid_is_read_with_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(gold("x") | {"qid": 7}).encode())
    found = load_gold(path)
    assert list(found.items) == ["7"]
    assert found.source.warnings[0].code == "qid-number"


@pytest.mark.parametrize("value", ['"yes"', "1", '"false"', "[]"])
def test_answerable_is_never_guessed(value: str, tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(gold("A")).replace("true", value).encode())
    with pytest.raises(BadLines, match="answerable: expected bool"):
        load_gold(path)


@settings(max_examples=100 * EFFORT, deadline=None)
@given(data=st.data())
def test_any_damage_is_told_or_harmless(data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Flip, cut or insert a byte: either the line is refused with its place, or it reads as the definition says."""
    line = bytearray(GOOD)
    at = data.draw(st.integers(0, len(line) - 1))
    line[at : at + data.draw(st.integers(0, 1))] = data.draw(st.binary(max_size=2))
    problems = Problems()
    path = tmp_path_factory.mktemp("damage") / "t.jsonl"
    path.write_bytes(bytes(line))
    fast = [found for _, found in Reader(path, Trace, problems)]
    assert len(fast) + problems.total == sum(1 for part in bytes(line).split(b"\n") if part.strip())


def test_parquet_has_the_same_columns(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    golds, rows = [gold("A"), gold("B")], [trace("A", e2e_ms=12.5, error=None), {"qid": "B", "error": "boom"}]
    for name, table in (("gold", golds), ("trace", rows)):
        parquet.write_table(pyarrow.Table.from_pylist(table), tmp_path / f"{name}.parquet")
    from shipworthy import evaluate

    decision = evaluate(tmp_path / "gold.parquet", tmp_path / "trace.parquet")
    assert [item["status"] for item in decision.items] == ["shipped", "error"]
    assert len(decision.inputs["trace"]["sha256"]) == 64
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        load_gold(tmp_path / "bad.parquet")
