"""What the tests share: the command line as a function, gold and traces in a few words, real data where it is."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from waiting import wait_until

# How long an example takes depends on the machine, and is never what a test is about.
# `make test` draws the same examples each time, so that it says something about the change; with more effort, new ones.
# Reports say when they were made, to the minute: two that are compared may not lie on either side of one.
os.environ["SOURCE_DATE_EPOCH"] = "1767225600"
EFFORT = int(os.environ.get("SHIPWORTHY_EFFORT", "1"))
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=EFFORT == 1
)
settings.load_profile("untimed")

ENGINE = os.environ.get("SHIPWORTHY_ENGINE", "")  # by which the suites' tests are evaluated; none: as they ask

# A shell starts background jobs with SIGINT ignored, and children inherit that; tests that interrupt one need it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]
VECTORS = Path(__file__).parent / "vectors"
CHROMIUM = "/usr/bin/chromium"
REAL_DATA = Path(os.environ.get("SHIPWORTHY_DATA", ROOT.parent / "shared" / "data"))


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, where it is installed."""
    if not os.path.exists(CHROMIUM):
        pytest.skip(f"no browser at {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """Run the command line in this process: `cli("score", "--gold", path)`."""
    from shipworthy.cli import main

    def run(*args: object) -> Ran:
        capfd.readouterr()
        code = main([str(arg) for arg in args])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture(autouse=True)
def chosen_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of every suite on any engine: `make engines`, or `SHIPWORTHY_ENGINE=disk pytest tests/suites`."""
    if ENGINE and ("suites" in request.path.parts or request.node.get_closest_marker("every_engine")):
        from under import ELSEWHERE, use_engine

        if ENGINE in ELSEWHERE and request.node.get_closest_marker("one_process"):
            pytest.skip(f"it watches or changes this process, and {ENGINE} judges in others")
        use_engine(ENGINE, monkeypatch)


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """A folder of data that nobody here wrote; the test is skipped where it is absent."""

    def find(name: str) -> Path:
        path = REAL_DATA / name
        if not path.exists():
            pytest.skip(f"real data {name} is not on this machine (SHIPWORTHY_DATA)")
        return path

    return find


def gold(
    qid: str, substr: Iterable[str] = ("right answer",), cite: Iterable[str] = ("d1",), **more: Any
) -> dict[str, Any]:
    """An answerable gold item."""
    return {
        "qid": qid,
        "question": f"Question {qid}?",
        "answerable": True,
        "gold_claim_substr": list(substr),
        "gold_citations": list(cite),
        **more,
    }


def unanswerable(qid: str, **more: Any) -> dict[str, Any]:
    return {
        "qid": qid,
        "question": f"Question {qid}?",
        "answerable": False,
        "gold_claim_substr": [],
        "gold_citations": [],
        **more,
    }


def trace(
    qid: str,
    claim: str = "The right answer.",
    cite: Iterable[str] = ("d1",),
    found: Iterable[str] = ("d1", "d2"),
    **more: Any,
) -> dict[str, Any]:
    answer = {"claim": claim, "citations": list(cite)}
    if "echo" in more:
        answer["constraints_echo"] = more.pop("echo")
    return {"qid": qid, "q": f"Question {qid}?", "retrieved_ids": list(found), "answer_json": answer, **more}


def refusal(qid: str, claim: str = "not in context", **more: Any) -> dict[str, Any]:
    return trace(qid, claim, cite=(), **more)


def planned(rows: Iterable[dict[str, Any]], runs: int, sweep: str = "s") -> list[dict[str, Any]]:
    """The rows as `run` writes them: each names its plan, its run, and how many runs were planned."""
    return [
        {"run_id": f"{sweep}{number}", **row, "sweep_id": sweep, "planned_runs": runs}
        for number, row in enumerate(rows)
    ]


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def service() -> Iterator[int]:
    """The plain HTTP service of the tutorial, in a process of its own; its port."""
    yield from served(str(ROOT / "examples" / "service" / "plain_service.py"))


def served(*command: str) -> Iterator[int]:
    """The port of a service, which a Python command with the port behind it starts, until the test is over."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, *command, str(port)])
    try:
        wait_until(lambda: _listens(port))
        yield port
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0
