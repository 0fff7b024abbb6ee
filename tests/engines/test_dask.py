"""The dask engine on a real cluster of worker processes on this machine, one of which is killed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from test_same_report import CASES
from test_workers import hungry, killed, odd_suite
from under import loopback_cluster

from conftest import Cli, gold, refusal, trace, write_lines
from golden.runner import Case, produce
from shipworthy import _version, evaluate
from shipworthy.core.decision import report
from shipworthy.engines import dask as engine
from shipworthy.errors import EnvironmentFailure
from shipworthy.jobs import evaluate as door

distributed = pytest.importorskip("distributed", reason="the package distributed (extra: dask) is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with loopback_cluster(distributed, 2) as started:
        yield started


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    rows = [(trace if n % 7 else refusal)(f"q{n % 50:03}", ts=n) for n in range(400)]
    return write_lines(tmp_path / "gold.jsonl", [gold(f"q{n:03}") for n in range(40)]), write_lines(
        tmp_path / "trace.jsonl", rows
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reports_do_not_depend_on_the_cluster(case: Case, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = produce(case)
    run = partial(engine.run, scheduler=cluster.scheduler_address, part=700)
    monkeypatch.setattr(door, "engine_named", lambda name, **settings: run)
    assert produce(case) == whole


def test_the_command_line_names_the_cluster(inputs: tuple[Path, Path], cluster: Any, cli: Cli) -> None:
    given = ["score", "--gold", inputs[0], "--trace", inputs[1], "--json"]
    here, there = cli(*given), cli(*given, "--engine", "dask", "--scheduler", cluster.scheduler_address)
    assert there.json["digest"] == here.json["digest"]


def test_files_at_an_address_are_read_by_the_workers(tmp_path: Path, inputs: tuple[Path, Path], cluster: Any) -> None:
    pytest.importorskip("fsspec")
    lines = inputs[1].read_text().splitlines(keepends=True)
    (tmp_path / "logs").mkdir()
    for number in range(3):
        (tmp_path / "logs" / f"{number}.jsonl").write_text("".join(lines[number * 140 : (number + 1) * 140]))
    address = f"file://{tmp_path}/logs/*.jsonl"
    found = evaluate(inputs[0], address, engine="dask", scheduler=cluster.scheduler_address)
    assert report(found)["digest"] == report(evaluate(inputs[0], address))["digest"]


@pytest.mark.parametrize("when", ["read", "judge"])
def test_a_killed_worker_changes_nothing(
    tmp_path: Path, inputs: tuple[Path, Path], cluster: Any, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    marker = tmp_path / "killed"
    run = partial(engine.run, scheduler=cluster.scheduler_address, part=3_000)
    whole = report(evaluate(*inputs))
    monkeypatch.setattr(door, "engine_named", lambda name, **settings: run)
    suite = odd_suite(when, partial(killed, str(marker), os.getpid()))
    found = evaluate(suite, gold=inputs[0], trace=inputs[1])
    assert marker.exists()
    assert report(found)["digest"] == whole["digest"]


@pytest.mark.parametrize("when", ["read", "judge"])
def test_a_worker_out_of_memory_is_an_error_that_names_its_part(
    inputs: tuple[Path, Path], cluster: Any, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    run = partial(engine.run, scheduler=cluster.scheduler_address, part=3_000)
    monkeypatch.setattr(door, "engine_named", lambda name, **settings: run)
    what = r"trace\.jsonl:\d+" if when == "read" else "a group of questions"
    with pytest.raises(EnvironmentFailure, match=rf"out of memory at .*{what}.*\[worker-died\]"):
        evaluate(odd_suite(when, partial(hungry, os.getpid())), gold=inputs[0], trace=inputs[1])


def test_another_release_on_the_workers_is_refused(
    inputs: tuple[Path, Path], cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_version, "__version__", "999.0")  # here; the workers have imported their own
    with pytest.raises(EnvironmentFailure, match=r"\[cluster-differs\]"):
        evaluate(*inputs, engine="dask", scheduler=cluster.scheduler_address)


ODD_WORKERS = {
    "sys.modules['shipworthy'] = None": "can't run shipworthy",  # as where the package is not installed
    "import unicodedata; unicodedata.unidata_version = '3.2.0'": r"Unicode 3\.2\.0, here it is",
}


@pytest.mark.parametrize("made", ODD_WORKERS)
def test_workers_that_are_not_like_this_machine_are_refused(inputs: tuple[Path, Path], made: str) -> None:
    start = f"import sys; {made}; from distributed.cli.dask_worker import main; main(sys.argv[1:])"
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
    with loopback_cluster(distributed, 0) as empty:
        command = [sys.executable, "-W", "ignore", "-c", start, empty.scheduler_address, *options]
        worker = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            with pytest.raises(EnvironmentFailure, match=ODD_WORKERS[made]) as refused:
                evaluate(*inputs, engine="dask", scheduler=empty.scheduler_address)
        finally:
            worker.terminate()
            worker.wait()
    assert refused.value.code == "cluster-differs"


def test_a_scheduler_that_is_not_there_is_an_error(
    inputs: tuple[Path, Path], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 0.5)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        ran = cli("score", "--gold", inputs[0], "--trace", inputs[1], "--engine", "dask", "--scheduler", address)
    assert ran.code == 4
    assert "[scheduler-unreachable]" in ran.err


@pytest.mark.parametrize("address", ["", "no address at all"])
def test_a_cluster_has_to_be_named(inputs: tuple[Path, Path], cli: Cli, address: str) -> None:
    ran = cli("score", "--gold", inputs[0], "--trace", inputs[1], "--engine", "dask", "--scheduler", address)
    assert ran.code in (2, 4)
    assert "[scheduler-" in ran.err


def test_settings_of_another_engine_are_refused(inputs: tuple[Path, Path], cli: Cli) -> None:
    ran = cli("score", "--gold", inputs[0], "--trace", inputs[1], "--scheduler", "tcp://127.0.0.1:1")
    assert ran.code == 2
    assert "[engine-setting]" in ran.err
