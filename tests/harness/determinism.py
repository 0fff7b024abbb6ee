"""The determinism matrix: one command under other hash seeds, locales and time zones; every byte must be the same.

outputs = under_each(["check", "--config", path], folder, FORMATS)
assert len(set(outputs.values())) == 1
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# hash seed, locale, time zone; a locale that a machine lacks falls back to C, which is one of them
SURROUNDINGS = (
    ("0", "C", "UTC"),
    ("1", "C.UTF-8", "Pacific/Kiritimati"),
    ("4242", "tr_TR.UTF-8", "America/St_Johns"),
    ("random", "de_DE.UTF-8", "Asia/Kathmandu"),
)
FORMATS = ("json", "md", "tsv", "xml", "html", "txt")


def under_each(args: Sequence[str], folder: Path, formats: Sequence[str] = FORMATS) -> dict[tuple[str, ...], str]:
    """A digest of the exit code and all files that the command writes, by surroundings.

    What it prints is left out: a terminal that has no Unicode gets escapes.
    """
    return {where: _digest(args, folder, formats, where) for where in SURROUNDINGS}


def _digest(args: Sequence[str], folder: Path, formats: Sequence[str], where: tuple[str, str, str]) -> str:
    seed, locale, zone = where
    outputs = [folder / f"report.{ending}" for ending in formats]
    flags = [part for path in outputs for part in ("-o", path.name)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "SHIPWORTHY_"))}
    environment |= {"PYTHONHASHSEED": seed, "LC_ALL": locale, "LANG": locale, "TZ": zone, "PYTHONUTF8": "0"}
    environment["SOURCE_DATE_EPOCH"] = "0"  # pages say when they were made
    command = [sys.executable, "-m", "shipworthy", *args, *flags]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300, check=False)
    assert b"Traceback" not in ran.stderr, ran.stderr
    parts = [str(ran.returncode).encode(), *(_bytes(path) for path in outputs)]
    for path in outputs:
        path.unlink()
    return hashlib.sha256(b"\x00".join(parts)).hexdigest()


def _bytes(path: Path) -> bytes:
    """What a file holds; of JSON without the `run` blocks, where clocks and paths are."""
    data = path.read_bytes()
    return json.dumps(_without_runs(json.loads(data))).encode() if path.suffix == ".json" else data


def _without_runs(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_runs(below) for key, below in value.items() if key != "run"}
    return [_without_runs(below) for below in value] if isinstance(value, list) else value
