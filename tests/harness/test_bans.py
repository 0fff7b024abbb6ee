"""What the program's own source may not contain, and what a score may not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, gold, refusal, trace, unanswerable, write_lines
from harness.bans import CLUSTER, open_listeners, violations

SOURCE = ROOT / "src" / "shipworthy"


def test_nothing_that_is_banned_is_in_the_source() -> None:
    assert violations(SOURCE) == []


@pytest.mark.parametrize(
    "line",
    [
        "eval('1')",
        "exec('1')",
        "__import__(name)",
        "import pickle",
        "from pickle import loads",
        "import os\nos.system('true')",
        "import os\nos.execv('true', [])",
        "run(['true'], shell=True)",
        "import yaml\nyaml.load(text)",
        "import requests",
        "import socket",
        "from urllib.request import urlopen",
        "import httpx",
        "import subprocess",
        "from concurrent.futures import ProcessPoolExecutor",
        "import asyncio\nasyncio.create_subprocess_exec('true')",
        "import importlib\nimportlib.import_module(name)",
        "import datetime\ndatetime.date.today()",
        "from datetime import date\ndate.today()",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime\ndatetime.now().date()",
    ],
)
def test_the_list_finds_what_it_bans(tmp_path: Path, line: str) -> None:
    (tmp_path / "module.py").write_text(f"{line}\n")
    assert any(found.startswith("module.py:") for found in violations(tmp_path))


def test_whatever_tests_benchmarks_and_the_program_start_listens_on_the_loopback() -> None:
    assert open_listeners(ROOT) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("LocalCluster(n_workers=2)", True),
        ("distributed.LocalCluster(host='127.0.0.1', dashboard_address=None)", True),
        ("LocalCluster(host='127.0.0.1', dashboard_address=':8787', worker_dashboard_address='127.0.0.1:0')", True),
        (f"LocalCluster({', '.join(f'{key}={value!r}' for key, value in CLUSTER.items())})", False),
        ("ThreadingHTTPServer(('', 0), Handler)", True),
        ("ThreadingHTTPServer(('127.0.0.1', 0), Handler)", False),
        ("socket.create_server(('0.0.0.0', 0))", True),
        ("listener.bind((host, 0))", True),
        ("asyncio.start_server(connected, '127.0.0.1', 0)", False),
        ("asyncio.start_server(connected, sock=bound)", False),
    ],
)
def test_a_listener_on_every_interface_is_found(tmp_path: Path, line: str, found: bool) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "server.py").write_text(f"{line}\n")
    assert bool(open_listeners(tmp_path)) == found


def test_a_score_loads_nothing_that_could_connect_or_start_a_process(tmp_path: Path) -> None:
    write_lines(tmp_path / "gold.jsonl", [gold("A1"), unanswerable("U1")])
    write_lines(tmp_path / "trace.jsonl", [trace("A1"), refusal("U1")])
    code = (
        "import sys; from shipworthy.cli import main; "
        "main(['score', '--gold', 'gold.jsonl', '--trace', 'trace.jsonl', '-o', 'report.json']); print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert loaded.isdisjoint({"socket", "ssl", "http.client", "urllib.request", "subprocess", "asyncio", "aiohttp"})
