"""The N-th I/O call fails, for every N: files are whole or untouched, and no failure makes a verdict of its own."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import gold, refusal, trace, unanswerable, write_lines
from harness.failing_io import Failed, each_failure, failing
from shipworthy.cli import main
from shipworthy.core.decision import digest
from shipworthy.reading.lock import read_lock

ITEMS = [gold("A1"), gold("A2"), unanswerable("U1")]
GOOD = [trace("A1"), trace("A2"), refusal("U1")]
BAD = [trace("A1", "wrong"), trace("A2", "wrong"), refusal("U1")]
OLD = b"what was there before\n"


def called(*args: object) -> Callable[[], int]:
    return lambda: main([str(arg) for arg in args])


def is_report(data: bytes) -> bool:
    """Whole, and unchanged since it was made."""
    body = json.loads(data)
    return bool(body["digest"] == digest(body))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_lines(tmp_path / "gold.jsonl", ITEMS)
    write_lines(tmp_path / "good.jsonl", GOOD)
    write_lines(tmp_path / "bad.jsonl", BAD)
    main(
        ["score", "--gold", "gold.jsonl", "--trace", "good.jsonl"]
    )  # imports and caches of a first run are no I/O of it
    return tmp_path


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES])
@pytest.mark.parametrize(("traces", "own"), [("good.jsonl", 0), ("bad.jsonl", 1)])
def test_a_report_is_the_old_one_or_the_new_one(files: Path, traces: str, own: int, error: int) -> None:
    out = files / "report.json"
    fired = 0
    run = called("score", "--gold", "gold.jsonl", "--trace", traces, "-o", "report.json")
    out.write_bytes(OLD)
    for failed in each_failure(run, error):
        data = out.read_bytes()
        assert data == OLD or is_report(data), failed
        if failed.fired:
            fired += 1
            harmless = failed.what.startswith("mkdir")  # the folder is there already
            assert failed.result == (own if harmless else 4) or ("jsonl" in failed.what and failed.result == 3), failed
            assert data == OLD or failed.result == 4 or harmless, failed  # what was asked for and is not there is no 0
        else:
            assert failed.result == own and is_report(data)
        out.write_bytes(OLD)
        assert sorted(path.name for path in files.iterdir() if path.name.startswith(".report")) == []
    assert fired >= 5  # gold, traces, the temporary file, its content, its way to the disk, its name


def test_a_lock_is_the_old_one_or_the_new_one(files: Path) -> None:
    freeze = called("gold", "freeze", "gold.jsonl", "--release", "2.0", "--signed-off-by", "Ada")
    assert main(["gold", "freeze", "gold.jsonl", "--release", "1.0", "--signed-off-by", "Ada"]) == 0
    (lock,) = files.glob("*.lock")
    old = lock.read_bytes()
    fired = 0
    for failed in each_failure(freeze):
        assert read_lock(lock).release == ("1.0" if lock.read_bytes() == old else "2.0"), failed
        if failed.fired:
            fired += 1
            assert failed.result in (3, 4) or failed.what.startswith("mkdir"), failed
        else:
            assert failed.result == 0 and lock.read_bytes() != old
        lock.write_bytes(old)
    assert fired >= 4


@pytest.mark.parametrize(("traces", "own"), [("good.jsonl", 0), ("bad.jsonl", 1)])
def test_trouble_with_history_never_makes_another_verdict(files: Path, traces: str, own: int, capfd: object) -> None:
    (files / "shipworthy.toml").write_text(f'[suites.answers]\ngold = "gold.jsonl"\ntrace = "{traces}"\n')
    run = called("check")
    assert main(["check"]) == own
    for failed in each_failure(run):
        if not failed.fired:
            assert failed.result == own
        elif failed.what.startswith("connect") or ".shipworthy" in failed.what:
            assert failed.result == own, failed  # verdict first, then history
        else:
            assert failed.result in (own, 2, 3, 4), failed
            assert own == 0 or failed.result != 0, failed


def test_recording_a_report_says_when_it_did_not(files: Path) -> None:
    main(["score", "--gold", "gold.jsonl", "--trace", "good.jsonl", "-o", "report.json"])
    run = called("history", "record", "report.json", "--history", f"sqlite:///{files}/history.db")
    results: list[Failed] = list(each_failure(run))
    assert results[-1].result == 0
    assert all(failed.result in (0, 3, 4) for failed in results)
    assert any(failed.result == 4 for failed in results)


def test_the_harness_sees_the_calls_that_it_counts(files: Path) -> None:
    with failing(10**9) as counter:
        main(["score", "--gold", "gold.jsonl", "--trace", "good.jsonl", "-o", "report.json"])
    assert counter.count >= 6
    with failing(1) as counter, pytest.raises(OSError):
        (files / "gold.jsonl").read_bytes()
    assert counter.what.startswith("open")
