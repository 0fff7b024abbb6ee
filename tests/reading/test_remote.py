"""Inputs elsewhere: read through fsspec as if they were here, on every engine, and clear words where that fails."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from conftest import gold, trace
from harness.nosockets import no_sockets
from shipworthy import evaluate
from shipworthy.core.decision import report
from shipworthy.errors import EnvironmentFailure, UsageError
from shipworthy.jobs.check import check
from shipworthy.reading import remote
from shipworthy.reading.files import is_remote
from shipworthy.reading.lock import freeze

fsspec = pytest.importorskip("fsspec")

GOLD = [gold(f"q{number}") for number in range(12)]
TRACES = [trace(item["qid"]) for item in GOLD]


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "gold.jsonl").write_bytes(lines(GOLD))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_bytes(lines(TRACES[:5]))
    (tmp_path / "logs" / "b.jsonl.gz").write_bytes(gzip.compress(lines(TRACES[5:])))
    (tmp_path / "logs" / "_SUCCESS").write_bytes(b"")
    (tmp_path / "t.jsonl").write_bytes(lines(TRACES))
    return tmp_path


@pytest.fixture
def memory(here: Path) -> Iterator[str]:
    """The same files in fsspec's memory."""
    files = fsspec.filesystem("memory")
    for path in here.rglob("*"):
        if path.is_file():
            files.pipe(f"/shop/{path.relative_to(here).as_posix()}", path.read_bytes())
    yield "memory://shop"
    files.rm("/shop", recursive=True)


def meaning(decision: Any) -> dict[str, Any]:
    return {name: value for name, value in report(decision).items() if name != "run"}


@pytest.mark.parametrize("how", [{}, {"engine": "auto"}, {"engine": "disk", "jobs": 2}, {"memory_limit": "32MB"}])
@pytest.mark.parametrize("traces", ["t.jsonl", "logs", "logs/*.jsonl*"])
def test_the_report_is_that_of_the_files_here(here: Path, memory: str, how: dict[str, Any], traces: str) -> None:
    found = evaluate(f"{memory}/gold.jsonl", f"{memory}/{traces}", **how)
    assert meaning(found) == meaning(evaluate(str(here / "gold.jsonl"), str(here / traces)))
    assert found.run["call"]["inputs"]["gold"] == "memory://shop/gold.jsonl"


def test_files_by_their_address(here: Path) -> None:
    assert evaluate(f"file://{here}/gold.jsonl", f"file://{here}/t.jsonl").ships


def test_parquet_elsewhere(here: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(TRACES), here / "t.parquet")
    fsspec.filesystem("memory").pipe("/p/t.parquet", (here / "t.parquet").read_bytes())
    found = evaluate(str(here / "gold.jsonl"), "memory://p/t.parquet")
    assert meaning(found) == meaning(evaluate(str(here / "gold.jsonl"), str(here / "t.parquet")))


@pytest.fixture
def server(here: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(here))) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def test_a_web_server_is_read_like_a_file(here: Path, server: str) -> None:
    found = evaluate(f"{server}/gold.jsonl", f"{server}/t.jsonl")
    assert meaning(found) == meaning(evaluate(str(here / "gold.jsonl"), str(here / "t.jsonl")))
    with pytest.raises(UsageError, match=r"gone\.jsonl: no such file"):
        evaluate(f"{server}/gold.jsonl", f"{server}/gone.jsonl")


@pytest.fixture
def changing(here: Path) -> Iterator[tuple[str, list[str]]]:
    """A server whose traces fail more questions each time that they are fetched, and what was asked of it."""
    asked: list[str] = []

    class Changing(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if self.path == "/t.jsonl":
                wrong = [trace(item["qid"], claim="Nobody knows that.") for item in GOLD[: asked.count(self.path) - 1]]
                (here / "t.jsonl").write_bytes(lines([*wrong, *TRACES[len(wrong) :]]))
            super().do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Changing, directory=str(here))) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", asked
        running.shutdown()


def three_suites(here: Path, server: str) -> Path:
    """A config whose suites read the same files."""
    suite = f'[suites.%s]\ngold = "{server}/gold.jsonl"\n%s = "{server}/t.jsonl"\n'
    inputs = {"answers": "trace", "retrieval": "run", "latency": "trace"}
    (here / "shipworthy.toml").write_text("".join(suite % pair for pair in inputs.items()))
    return here / "shipworthy.toml"


def test_suites_of_a_board_fetch_a_file_once_and_judge_the_same_bytes(
    here: Path, changing: tuple[str, list[str]]
) -> None:
    server, asked = changing
    board = check(three_suites(here, server), record=False)
    assert board.failures == {} and len(board.decisions) == 3
    read = {block["sha256"] for one in board.decisions for name, block in one.inputs.items() if name != "gold"}
    assert read == {hashlib.sha256(lines(TRACES)).hexdigest()}
    assert [asked.count(path) for path in ("/gold.jsonl", "/t.jsonl")] == [1, 1]
    assert evaluate(f"{server}/gold.jsonl", f"{server}/t.jsonl").inputs != board.decisions[0].inputs  # fetched anew


def test_a_file_that_changes_between_suites_gives_no_verdict(here: Path, changing: tuple[str, list[str]]) -> None:
    """As one that is too large to share; within a memory limit none is."""
    server, asked = changing
    board = check(three_suites(here, server), record=False, memory_limit="64MB")
    assert asked.count("/t.jsonl") == 3
    assert board.verdict == "NO VERDICT" and board.exit_code == 3
    assert [note.partition(" ")[0] for note in board.notes if "changed while the suites were reading it" in note] == [
        "answers:",
        "retrieval:",
        "latency:",
    ]
    assert "SHIP" not in [one.verdict for one in board.decisions]


def test_a_server_that_is_not_there_is_an_error_of_the_environment(here: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"can't be read.*\[unreadable\]"):
        evaluate(str(here / "gold.jsonl"), "http://127.0.0.1:9/t.jsonl")


class Odd(SimpleHTTPRequestHandler):
    """A server that leads elsewhere, fails, cuts files off, or says nothing."""

    asked: list[str] = []
    silent = threading.Event()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to"))
            self.end_headers()
        elif self.path == "/silent.jsonl":
            self.silent.wait(60)
        elif self.path == "/cut.jsonl":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(lines(TRACES[:2]))
        elif self.path == "/drip.jsonl":  # no gap is long, and there is no end
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                for _ in range(2_000 if self.command == "GET" else 0):
                    self.wfile.write(b" ")
                    if self.silent.wait(0.005):
                        break
        elif self.path == "/broken.jsonl":
            self.send_error(500)
        else:
            super().do_GET()

    do_HEAD = do_GET  # type: ignore[assignment]

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def odd(here: Path) -> Iterator[str]:
    Odd.asked.clear()
    Odd.silent.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Odd, directory=str(here))) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        Odd.silent.set()
        running.shutdown()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("to/t.jsonl", "status 302 leads to '/t.jsonl', and redirects are not followed"),
        ("cut.jsonl", "the connection was closed in the middle"),
        ("broken.jsonl", "status 500"),
        ("silent.jsonl", "nothing came for"),
    ],
)
def test_a_web_server_of_inputs_is_held_to_the_rules_of_targets(
    here: Path, odd: str, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    monkeypatch.setattr(remote, "IDLE", 0.5)
    with pytest.raises(EnvironmentFailure, match=re.escape(says)) as caught:
        evaluate(str(here / "gold.jsonl"), f"{odd}/{name}")
    assert caught.value.code == "unreadable" and "/t.jsonl" not in Odd.asked
    with pytest.raises(EnvironmentFailure):
        evaluate(f"{odd}/{name}", str(here / "t.jsonl"))


def test_a_file_that_never_ends_is_given_up_in_time(here: Path, odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shipworthy.net.client.WHOLE", 0.02)  # of the minute that each piece may take
    with pytest.raises(EnvironmentFailure, match=r"it did not end within 1\.2 s"):
        evaluate(str(here / "gold.jsonl"), f"{odd}/drip.jsonl")


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "100.100.100.200", "2852039166", "224.0.0.1"]
)
def test_addresses_that_no_target_may_have_hold_no_inputs_either(here: Path, host: str) -> None:
    with no_sockets(), pytest.raises(UsageError, match=r"\[target-address\]"):
        evaluate(str(here / "gold.jsonl"), f"http://{host}/t.jsonl")


def test_proxies_of_the_environment_are_not_asked_for_inputs(
    here: Path, odd: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, odd)
    assert evaluate(str(here / "gold.jsonl"), f"{server}/t.jsonl").ships
    assert Odd.asked == []


def test_inputs_of_a_web_server_need_no_other_package(here: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert evaluate(f"{server}/gold.jsonl", f"{server}/logs/b.jsonl.gz", allow_missing=5).verdict


def test_bad_lines_are_named_by_their_address(here: Path, memory: str) -> None:
    fsspec.filesystem("memory").pipe("/shop/bad.jsonl", lines(TRACES[:2]) + b"not json\n")
    with pytest.raises(Exception, match=r"memory://shop/bad\.jsonl:3: "):
        evaluate(f"{memory}/gold.jsonl", f"{memory}/bad.jsonl")


def test_a_lock_beside_a_gold_set_elsewhere_holds(here: Path) -> None:
    files = fsspec.filesystem("memory")
    lock = freeze(here / "gold.jsonl", "1.0", "Ada")
    files.pipe("/locked/gold.lock", Path(lock).read_bytes())
    files.pipe("/locked/gold.jsonl", lines(GOLD))
    assert evaluate("memory://locked/gold.jsonl", TRACES).ships
    files.pipe("/locked/gold.jsonl", lines([*GOLD[1:], GOLD[0] | {"question": "Another?"}]))
    assert evaluate("memory://locked/gold.jsonl", TRACES).verdict == "NO VERDICT"


def test_a_config_names_addresses(here: Path, memory: str) -> None:
    (here / "shipworthy.toml").write_text(
        f'[suites.answers]\ngold = "{memory}/gold.jsonl"\ntrace = "{memory}/logs/*.jsonl*"\n'
    )
    assert check(here / "shipworthy.toml", record=False).verdict == "SHIP"


def test_what_is_missing_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gold_file = str(here / "gold.jsonl")
    with pytest.raises(UsageError, match=r"can't be opened.*nosuchscheme"):
        evaluate(gold_file, "nosuchscheme://x/t.jsonl")
    with pytest.raises(UsageError, match=r"no file of traces is there.*\[no-match\]"):
        evaluate(gold_file, "memory://empty/*.jsonl")
    with pytest.raises(UsageError, match=r"\*\*\*@host/t.jsonl: has a password.*\[address-secret\]") as caught:
        evaluate(gold_file, "https://me:hunter2@host/t.jsonl")
    assert "hunter2" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match=r"need the package fsspec.*shipworthy\[fs\].*\[needs-extra\]"):
        evaluate(gold_file, "s3://bucket/t.jsonl")


@pytest.mark.parametrize("path", ["a.jsonl", "./a://b", "C://x", "://x", "-", "día://x"])
def test_paths_are_no_addresses(path: str) -> None:
    assert not is_remote(path)
