"""A system without the tools of Unix, such as Windows: everything imports and runs there, but for the journal's lock.

The tools are taken away in a process of its own, before anything of the package is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import gold, trace, write_lines

# What asyncio, subprocess and multiprocessing of this system need themselves is imported before it is taken away.
WITHOUT = """
import asyncio, asyncio.unix_events, concurrent.futures, errno, multiprocessing.connection, os, select, selectors
import shutil, signal, socket, subprocess, sys, tempfile, types
subprocess.signal = types.SimpleNamespace(**vars(signal))
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
for module, names in {
    os: "O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY killpg getpgid setsid getuid geteuid fdatasync sched_getaffinity "
        "register_at_fork getloadavg sysconf",
    signal: "SIGKILL SIGHUP SIGALRM SIGUSR1 setitimer alarm pthread_sigmask",
    select: "poll POLLIN",
    errno: "EDQUOT",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""
SCORE = "from shipworthy.cli import main; sys.argv[0] = 'shipworthy'; sys.exit(main(sys.argv[1:]))"
IMPORT_ALL = """
import importlib, pkgutil, shipworthy
for module in pkgutil.walk_packages(shipworthy.__path__, "shipworthy."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there nothing has to be taken away")


def without_unix(folder: Path, program: str, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", WITHOUT + program, *args]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    ran = without_unix(tmp_path, IMPORT_ALL)
    assert ran.returncode == 0, ran.stderr
    names = ran.stdout.split()
    assert len(names) > 200 and "shipworthy.runner.journal" in names and "shipworthy.runner.targets.worker" in names


def test_traces_are_scored(tmp_path: Path) -> None:
    write_lines(tmp_path / "gold.jsonl", [gold("A"), gold("B")])
    write_lines(tmp_path / "trace.jsonl", [trace("A"), trace("B")])
    ran = without_unix(tmp_path, SCORE, "score", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "-o", "report.html")
    assert ran.returncode in (0, 1) and "SHIP" in ran.stdout, ran.stderr
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize("target", ["demo", "py:app:answer", f"cmd:{sys.executable} say.py {{question}}"])
def test_targets_are_asked_and_a_run_is_resumed(tmp_path: Path, target: str) -> None:
    write_lines(tmp_path / "gold.jsonl", [gold(f"Q{number}") for number in range(4)])
    (tmp_path / "app.py").write_text("def answer(question, seed):\n    print('noise')\n    return f'claim {seed}'\n")
    (tmp_path / "say.py").write_text("import json\nprint(json.dumps({'answer_json': {'claim': 'x'}}))\n")
    asked = ("run", "--gold", "gold.jsonl", "--target", target, "--seeds", "0-1", "--out", "runs.jsonl")
    ran = without_unix(tmp_path, SCORE, *asked, "--max-requests", "5")
    assert ran.returncode == 3 and "5 of 8 runs" in ran.stdout, ran.stderr
    ran = without_unix(tmp_path, SCORE, *asked, "--resume")
    assert ran.returncode == 0 and "8 of 8 runs in runs.jsonl: 0 failed, 5 resumed" in ran.stdout, ran.stderr
    assert not (tmp_path / "runs.jsonl.lock").exists()


def test_what_hangs_or_dies_is_a_failed_run(tmp_path: Path) -> None:
    write_lines(tmp_path / "gold.jsonl", [gold("Q1", question="die?"), gold("Q2", question="hang?"), gold("Q3")])
    (tmp_path / "app.py").write_text(
        "import os, time\ndef answer(question):\n    if question == 'die?': os._exit(9)\n"
        "    if question == 'hang?': time.sleep(3600)\n    return 'fine'\n"
    )
    (tmp_path / "hang.py").write_text("import time\ntime.sleep(3600)\n")
    asked = ("run", "--gold", "gold.jsonl", "--timeout-sec", "1.5", "--retries", "0")
    ran = without_unix(tmp_path, SCORE, *asked, "--target", "py:app:answer", "--out", "py.jsonl")
    assert ran.returncode == 0 and "Failures: crash 1, timeout 1." in ran.stderr, ran.stderr
    ran = without_unix(tmp_path, SCORE, *asked, "--target", f"cmd:{sys.executable} hang.py", "--out", "cmd.jsonl")
    assert ran.returncode == 4 and "timeout" in ran.stderr, ran.stderr
