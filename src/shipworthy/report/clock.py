"""Clock: when a file for another machine was written; only formats that demand a time have one."""

from __future__ import annotations

import os
import time


def nanoseconds() -> int:
    """Since 1970; SOURCE_DATE_EPOCH, where it is set, makes files that are the same every time."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(fixed) * 10**9 if fixed.isascii() and fixed.isdigit() else time.time_ns()
