"""The process behind `shipworthy` and `python -m shipworthy`: a quick start, the command line, a quick end.

Everything here is about time: a small run is mostly start and end, and CI has many of them. What is done to the process
is done here alone, because only here the process is known to be ours.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress


def main() -> None:
    gc.set_threshold(20_000)  # what a start makes is kept to the end: looking for garbage in it finds none
    if len(sys.argv) > 2:  # more than a plea for help
        _import_msgspec()
    from .cli import main as command_line

    try:
        command_line()
    except SystemExit as stop:
        if sys.gettrace() or sys.getprofile():
            raise
        _leave(stop.code if isinstance(stop.code, int) else 0)


def _import_msgspec() -> None:
    """Import msgspec without `typing_extensions`, which it takes, where there is one, for names that `typing` has too."""
    hidden = "typing_extensions" not in sys.modules
    if hidden:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    import msgspec  # noqa: F401

    if hidden:
        del sys.modules["typing_extensions"]


def _leave(code: int) -> None:
    """End at once: files and history are closed by now, and taking the interpreter down is a tenth of a small run."""
    with suppress(OSError, ValueError):  # nobody reads any more, or it is closed
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
