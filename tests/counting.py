"""Work counted instead of timed: how many calls something makes is the same on every machine and every day."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls(function: Callable[..., Any], *arguments: Any) -> int:
    """How many functions, ours and built-in ones, are called while `function` runs."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return count


def lines(function: Callable[..., Any], *arguments: Any) -> int:
    """How many lines of Python run while `function` does: loops that call nothing count too."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count
