"""What the program's own source may not contain, and what a score may not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, gold, refusal, trace, unanswerable, write_lines
from harness.bans import violations

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
    ],
)
def test_the_list_finds_what_it_bans(tmp_path: Path, line: str) -> None:
    (tmp_path / "module.py").write_text(f"{line}\n")
    assert any(found.startswith("module.py:") for found in violations(tmp_path))


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
