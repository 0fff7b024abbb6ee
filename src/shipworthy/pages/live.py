"""Live: a `check --run` that is under way, as its journal tells it: how many responses are saved, which failed."""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress

import msgspec

from ..config import Config
from ..runner.journal import beside
from .render import At, Page, brief, page

FIRST = 20  # failures that are shown
_BLOCK = 1 << 20


class _Line(msgspec.Struct):
    qid: str = ""
    error: str | None = None


class Sweep(msgspec.Struct):
    """A file of traces that is being written."""

    suite: str
    target: str
    planned: int
    done: int
    failed: int
    failures: list[tuple[str, str]]  # question and error, the first ones
    started: str

    @property
    def share(self) -> int:
        return 100 * self.done // self.planned if self.planned else 0


class Live:
    """What the suites of a config are being sent; what was counted of a file is not counted again."""

    def __init__(self, config: Config | None) -> None:
        driven = [one for one in config.suites if one.driving.get("target", "") in config.targets] if config else []
        self._files = {one.inputs[one.driven]: one.name for one in driven if one.driven in one.inputs}
        self._counted: dict[str, tuple[int, int, int, list[tuple[str, str]]]] = {}  # to where, done, failed, failures

    def sweeps(self) -> list[Sweep]:
        """Those that are under way now."""
        found = []
        for path, suite in self._files.items():
            for name in (f"{path}.rerun", path):
                with suppress(OSError, ValueError, TypeError):
                    if _is_written(name):
                        found.append(self._sweep(name, suite))
                        break
        return found

    def _sweep(self, path: str, suite: str) -> Sweep:
        header = json.loads(_read(os.fspath(beside(path)), _BLOCK))
        size = os.path.getsize(path)
        at, done, failed, failures = self._counted.get(path, (0, 0, 0, []))
        if size < at:  # begun anew
            at, done, failed, failures = 0, 0, 0, []
        with open(path, "rb") as stream:
            stream.seek(at)
            for line in stream:
                if not line.endswith(b"\n"):
                    break  # not whole yet
                at += len(line)
                done += 1
                if b'"error"' in line and (error := _error(line)):
                    failed += 1
                    failures = [*failures, error][:FIRST]
        self._counted[path] = (at, done, failed, failures)
        return Sweep(
            suite,
            brief(header.get("target", ""), 80),
            int(header.get("planned", 0)),
            done,
            failed,
            failures,
            brief(header.get("created", ""), 40),
        )

    def page(self) -> Page:
        found = self.sweeps()
        data = [msgspec.to_builtins(sweep) | {"share": sweep.share} for sweep in found]
        return page("live", At("live/index.html"), {"running": data}, sweeps=found)


def _is_written(path: str) -> bool:
    """Whether a process that still runs holds the journal; its note says which."""
    note = json.loads(_read(f"{path}.lock", 1000))
    if note["host"] != platform.node():
        return os.path.exists(path)
    try:
        os.kill(int(note["pid"]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return os.path.exists(path)


def _read(path: str, most: int) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(most)


def _error(line: bytes) -> tuple[str, str] | None:
    try:
        found = msgspec.json.decode(line, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return (brief(found.qid, 60), brief(found.error, 200)) if found.error else None
