"""Waiting for something to happen, however long a busy machine takes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path

FOREVER = 300  # seconds after which something that was bound to happen counts as hanging


def wait_until(happened: Callable[[], object], step: float = 0.02) -> None:
    """Look again and again until it has happened."""
    for turn in itertools.count():
        if happened():
            return
        assert turn * step < FOREVER, "it never happened"
        time.sleep(step)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
