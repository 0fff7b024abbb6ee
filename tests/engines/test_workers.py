"""Worker processes that die or run out of memory, and how engines are named and chosen."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import Cli, gold, refusal, trace, write_lines
from shipworthy import evaluate
from shipworthy.core.decision import report
from shipworthy.core.suite import Material
from shipworthy.engines import disk, memory
from shipworthy.errors import EnvironmentFailure, ShipworthyError, UsageError
from shipworthy.jobs import evaluate as door
from shipworthy.suites import load_suite
from shipworthy.suites.ranking.suite import SUITE as ranking


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    rows = [(trace if n % 7 else refusal)(f"q{n % 50:03}", ts=n) for n in range(400)]
    return write_lines(tmp_path / "gold.jsonl", [gold(f"q{n:03}") for n in range(40)]), write_lines(
        tmp_path / "trace.jsonl", rows
    )


@pytest.fixture(params=["disk", "memory"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two processes for a few lines."""
    run = partial(disk.run, jobs=2, part=3_000, piles=4) if request.param == "disk" else partial(memory.run, jobs=2)
    monkeypatch.setattr(memory, "WORTH_SHARING", 1)
    # Tests that ran here before may have left threads behind, with which no process is forked by itself.
    monkeypatch.setattr("shipworthy.engines.workers.can_fork", lambda: sys.platform == "linux")
    monkeypatch.setattr(door, "engine_named", lambda name, **settings: run)
    return str(request.param)


Happens = Callable[[], None]


def killed(marker: str, here: int) -> None:
    """A worker is killed: the first that gets here, or every one where there is no marker."""
    if os.getpid() != here and not (marker and os.path.exists(marker)):
        if marker:
            Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def hungry(here: int) -> None:
    if os.getpid() != here:
        bytearray(1 << 60)


class Reading:
    """A format at one of whose lines something happens."""

    def __init__(self, format: Any, happens: Happens) -> None:
        self._format, self._happens = format, happens

    def blocks(self, source: Any, read: Any) -> Iterator[Any]:
        for places, names, lines in self._format.blocks(source, read):
            if "q033" in names:
                self._happens()
            yield places, names, lines

    def records(self, lines: Sequence[Any], refuse: Any) -> list[Any]:
        found: list[Any] = self._format.records(lines, refuse)
        return found


def read_with(happens: Happens, sources: Any, options: Any) -> Material:
    material = load_suite("answers").read(sources, options)
    material.streams["trace"].format = Reading(material.streams["trace"].format, happens)
    return material


def judge_with(happens: Happens, case: Any, context: Any) -> Any:
    if case.key == "q033":
        happens()
    return load_suite("answers").judge(case, context)


def odd_suite(when: str, happens: Happens) -> Any:
    changed: dict[str, Any] = {"read": partial(read_with, happens)} if when == "read" else {}
    changed |= {"judge": partial(judge_with, happens)} if when == "judge" else {}
    return msgspec.structs.replace(load_suite("answers"), **changed)


@pytest.mark.parametrize("when", ["read", "judge"])
def test_a_killed_worker_changes_nothing(tmp_path: Path, inputs: tuple[Path, Path], engine: str, when: str) -> None:
    if (engine, when) == ("memory", "read"):
        pytest.skip("it reads in this process")
    marker = tmp_path / "killed"
    suite = odd_suite(when, partial(killed, str(marker), os.getpid()))
    found = report(evaluate(suite, gold=inputs[0], trace=inputs[1]))
    assert marker.exists()
    marker.unlink()
    assert found["digest"] == report(evaluate("answers", gold=inputs[0], trace=inputs[1]))["digest"]


@pytest.mark.parametrize("when", ["read", "judge"])
def test_a_part_that_kills_twice_is_an_error_that_names_it(inputs: tuple[Path, Path], engine: str, when: str) -> None:
    if (engine, when) == ("memory", "read"):
        pytest.skip("it reads in this process")
    what = r"trace\.jsonl:\d+" if when == "read" else "a group of questions"
    with pytest.raises(EnvironmentFailure, match=rf"signal 9.*{what}.*--jobs.*\[worker-died\]"):
        evaluate(odd_suite(when, partial(killed, "", os.getpid())), gold=inputs[0], trace=inputs[1])


def test_a_worker_out_of_memory_is_an_error_that_names_its_part(inputs: tuple[Path, Path], engine: str) -> None:
    when, what = ("read", r"trace\.jsonl:\d+") if engine == "disk" else ("judge", "a group of questions")
    with pytest.raises(EnvironmentFailure, match=rf"out of memory at .*{what}.*--jobs.*\[worker-died\]"):
        evaluate(odd_suite(when, partial(hungry, os.getpid())), gold=inputs[0], trace=inputs[1])


def noted(folder: str) -> None:
    Path(folder, str(os.getpid())).touch()


def judge_noting(folder: str, case: Any, context: Any) -> Any:
    noted(folder)
    return load_suite("answers").judge(case, context)


def test_as_many_processes_are_started_as_were_asked_for(
    tmp_path: Path, inputs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each works on one pile after the other, and none is left when all is done."""
    run = partial(disk.run, jobs=2, part=3_000, piles=20)
    monkeypatch.setattr("shipworthy.engines.workers.can_fork", lambda: sys.platform == "linux")
    monkeypatch.setattr(door, "engine_named", lambda name, **settings: run)
    (tmp_path / "seen").mkdir()
    suite = msgspec.structs.replace(load_suite("answers"), judge=partial(judge_noting, str(tmp_path / "seen")))
    found = report(evaluate(suite, gold=inputs[0], trace=inputs[1]))
    workers = {int(path.name) for path in (tmp_path / "seen").iterdir()}
    assert 1 <= len(workers) <= 2 and os.getpid() not in workers
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    monkeypatch.setattr(door, "engine_named", lambda name, **settings: memory.run)
    assert found["digest"] == report(evaluate("answers", gold=inputs[0], trace=inputs[1]))["digest"]


def test_where_processes_can_not_be_forked_the_report_is_the_same(
    inputs: tuple[Path, Path], engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = report(evaluate(*inputs))
    monkeypatch.setattr("shipworthy.engines.workers.can_fork", lambda: False)
    assert report(evaluate(*inputs))["digest"] == whole["digest"]


def test_a_file_that_changes_while_it_is_read_is_an_error(
    inputs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are read twice on disk: once to cut them, once for their lines. What is only added is no harm."""
    golds, traces = inputs
    text = traces.read_bytes()
    run = partial(disk.run, part=3_000, piles=4)
    monkeypatch.setattr(door, "engine_named", lambda name, **settings: run)

    def changed() -> None:
        traces.write_bytes(text.replace(b"q033", b"q034"))

    def replaced() -> None:  # once: what replaces it again may have the number of the first file on disk
        if traces.stat().st_size == len(text):
            other = traces.with_suffix(".new")
            other.write_bytes(text + text)
            other.replace(traces)

    def added() -> None:
        traces.write_bytes(text + text.splitlines(keepends=True)[0])

    with pytest.raises(ShipworthyError, match=r"trace\.jsonl: changed while it was read.*\[input-changed\]"):
        evaluate(odd_suite("read", changed), gold=golds, trace=traces)
    traces.write_bytes(text)
    with pytest.raises(ShipworthyError, match=r"trace\.jsonl: changed while it was read.*\[input-changed\]"):
        evaluate(odd_suite("read", replaced), gold=golds, trace=traces)
    traces.write_bytes(text)
    evaluate(odd_suite("read", added), gold=golds, trace=traces)


def test_progress_is_told(inputs: tuple[Path, Path]) -> None:
    for engine in ("memory", "disk"):
        told: list[int] = []
        evaluate(*inputs, engine=engine, jobs=2, tick=told.append)
        assert told[-1] >= 400


@pytest.mark.parametrize(
    ("name", "now"), [("inline", "memory"), ("processes", "auto"), ("spilled", "disk"), ("spark", "")]
)
def test_an_engine_of_another_name_is_an_error_that_names_those_there_are(
    inputs: tuple[Path, Path], name: str, now: str, cli: Cli
) -> None:
    with pytest.raises(UsageError, match=r"auto, memory, disk, dask.*\[engine-unknown\]") as refused:
        evaluate(*inputs, engine=name)
    assert not now or f"It is {now} now" in str(refused.value)
    ran = cli("score", "--gold", str(inputs[0]), "--trace", str(inputs[1]), "--engine", name)
    assert ran.code == 2 and (f"It is {now} now" if now else "'auto', 'memory', 'disk', 'dask'") in ran.err


def test_a_large_trec_run_is_judged_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ranks are kept of it, so that a temporary folder would save nothing."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("shipworthy.engines.LARGE", 1)
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 a 1 2 t\n")
    seen: list[int] = []

    def watched(case: Any, context: Any) -> Any:
        seen.append(len(list(folder.iterdir())))
        return ranking.judge(case, context)

    suite = msgspec.structs.replace(ranking, judge=watched)
    monkeypatch.setattr("shipworthy.suites.ranking.suite.SUITE", suite)
    evaluate("retrieval", qrels=tmp_path / "qrels.txt", run=tmp_path / "run.txt", engine="auto", jobs=1)
    assert seen == [0]


def test_small_files_are_judged_in_memory_and_large_ones_from_disk(
    tmp_path: Path, inputs: tuple[Path, Path], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen from outside: a temporary folder is made, or none."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    seen: list[int] = []

    def watched(case: Any, context: Any) -> Any:
        seen.append(len(list(folder.iterdir())))
        return load_suite("answers").judge(case, context)

    suite = msgspec.structs.replace(load_suite("answers"), judge=watched)
    evaluate(suite, gold=inputs[0], trace=inputs[1], engine="auto", jobs=1)
    assert set(seen) == {0}
    seen.clear()
    monkeypatch.setattr("shipworthy.engines.LARGE", 1_000)
    evaluate(suite, gold=inputs[0], trace=inputs[1], engine="auto", jobs=1)
    assert set(seen) == {1} and list(folder.iterdir()) == []
    seen.clear()
    monkeypatch.setattr("shipworthy.engines.ROOM", 1 << 60)  # a full disk is no reason to stop
    evaluate(suite, gold=inputs[0], trace=inputs[1], engine="auto", jobs=1)
    assert set(seen) == {0}
