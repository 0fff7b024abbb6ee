"""A memory limit: what is used is measured, what is left over is nothing, and a full disk is an error."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import gold, trace, write_lines
from shipworthy import check, evaluate
from shipworthy.core.decision import report
from shipworthy.core.temporary import parse_size
from shipworthy.errors import EnvironmentFailure, UsageError

GOLD = [gold(f"q{number:03}") for number in range(60)]
TRACES = [trace(item["qid"]) for item in GOLD]
LIMIT = "32MB"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder


MEASURED = """
import json, re, sys
from shipworthy import check, evaluate
from shipworthy.core.decision import report
given = json.loads(sys.argv[1])
found = evaluate(**given) if "gold" not in given else evaluate("answers", **given)
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
print(json.dumps([report(found)["digest"], int(peak.group(1))]))
"""


def measured(**given: Any) -> tuple[str, int]:
    """The digest of the report, and the most memory that the process had, in bytes."""
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, json.dumps(given, default=str)], capture_output=True, text=True, check=True
    )
    digest, kilobytes = json.loads(ran.stdout)
    return digest, kilobytes * 1024


def test_memory_does_not_grow_with_the_files(tmp_path: Path) -> None:
    """Thirty thousand pairs take three times as much in memory as on disk, and the report is the same."""
    text = "The right answer. " * 40
    golds = write_lines(tmp_path / "g.jsonl", (gold(f"q{n:05}", question=text) for n in range(30_000)))
    traces = write_lines(tmp_path / "t.jsonl", (trace(f"q{n:05}", q=text) for n in range(30_000)))
    whole, in_memory = measured(gold=golds, trace=traces)
    again, on_disk = measured(gold=golds, trace=traces, memory_limit="64MB")
    nothing = measured(gold=write_lines(tmp_path / "g1.jsonl", GOLD), trace=write_lines(tmp_path / "t1.jsonl", TRACES))
    assert again == whole
    assert 2 * (on_disk - nothing[1]) < in_memory - nothing[1]
    assert on_disk < 160_000_000


def test_nothing_is_left_behind_however_it_ends(own_folder: Path) -> None:
    evaluate(GOLD, TRACES, memory_limit=LIMIT)
    assert list(own_folder.iterdir()) == []

    def interrupted() -> Iterator[dict[str, Any]]:
        yield from TRACES[:30]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(GOLD, interrupted(), memory_limit=LIMIT)
    assert list(own_folder.iterdir()) == []


def test_a_folder_that_is_not_there_is_an_error_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    with pytest.raises(EnvironmentFailure, match=r"can't be written.*TMPDIR.*\[spill-disk\]"):
        evaluate(GOLD, TRACES, memory_limit=LIMIT)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_is_an_error_of_the_environment(tmp_path: Path, jobs: int) -> None:
    """No file may grow beyond a few kilobytes, as on a disk that is full."""
    golds, traces = write_lines(tmp_path / "g.jsonl", GOLD * 1), write_lines(tmp_path / "t.jsonl", TRACES * 40)
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); from shipworthy.cli import main; main()"
    )
    flags = ["score", "--gold", golds, "--trace", traces, "--engine", "disk", "--jobs", str(jobs)]
    ran = subprocess.run(
        [sys.executable, "-c", code, *flags, "--on-duplicate", "worst"], capture_output=True, text=True, check=False
    )
    assert "[spill-disk]" in ran.stderr, ran.stderr
    assert "Free some space" in ran.stderr


@pytest.mark.parametrize("size", ["", "much", "12", "16MB", "128 apples", "-1GB", "1.2.3GB"])
def test_a_limit_that_is_none_or_too_small_is_told(size: str) -> None:
    with pytest.raises(UsageError, match=r"\[memory-limit\]"):
        parse_size(size)


def test_sizes() -> None:
    sizes = [parse_size(size) for size in ("128MB", "2gb", "1.5 GB", "64MiB", 10**9)]
    assert sizes == [128 * 10**6, 2 * 10**9, 15 * 10**8, 64 * 10**6, 10**9]


def test_a_cluster_has_memory_of_its_own() -> None:
    with pytest.raises(UsageError, match=r"\[engine-setting\]"):
        evaluate(GOLD, TRACES, engine="dask", scheduler="tcp://127.0.0.1:1", memory_limit=LIMIT)


def test_the_flag_and_the_config_key(tmp_path: Path) -> None:
    golds, traces = write_lines(tmp_path / "gold.jsonl", GOLD), write_lines(tmp_path / "t.jsonl", TRACES)
    (tmp_path / "shipworthy.toml").write_text(
        '[engine]\nmemory_limit = "64MB"\n[suites.answers]\ngold = "gold.jsonl"\ntrace = "t.jsonl"\n'
    )
    assert check(tmp_path / "shipworthy.toml", record=False).verdict == "SHIP"
    with pytest.raises(UsageError, match="memory-limit"):
        check(tmp_path / "shipworthy.toml", record=False, memory_limit="1MB")
    call = [sys.executable, "-m", "shipworthy", "score", "--gold", str(golds), "--trace", str(traces), "--memory-limit"]
    small = subprocess.run([*call, "8MB"], check=False, capture_output=True, text=True)
    assert small.returncode == 2 and "at least 32MB" in small.stderr
    assert subprocess.run([*call, "32MB"], check=False, capture_output=True).returncode == 0


def test_a_line_of_fifty_megabytes_is_a_bad_line(tmp_path: Path) -> None:
    traces = write_lines(tmp_path / "t.jsonl", TRACES)
    with traces.open("ab") as out:
        out.write(b'{"qid": "q000", "answer_json": {"claim": "' + b"x" * 50_000_000 + b'"}}\n')
    told = []
    for how in ({}, {"memory_limit": LIMIT}):
        with pytest.raises(Exception, match=r"t\.jsonl:61.*longer than 10 MB.*\[line-too-long\]") as raised:
            evaluate(GOLD, traces, **how)
        told.append(str(raised.value))
    assert told[0] == told[1]


def test_ten_thousand_small_files(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(10_000):
        (logs / f"{number:05}.jsonl").write_text(json.dumps(trace(f"q{number % 60:03}", ts=number)) + "\n")
    whole = report(evaluate(GOLD, logs))
    assert whole["inputs"]["trace"]["records"] == 10_000 and whole["counts"]["superseded"] == 9_940
    assert report(evaluate(GOLD, logs, engine="disk", jobs=2))["digest"] == whole["digest"]
