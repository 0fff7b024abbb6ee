"""Progress: done, rate, errors and time left; a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import suppress
from typing import TextIO

from ..text import one_line

EVERY = 10.0  # seconds between two lines where there is no terminal


class Progress:
    """Counts finished runs and says nothing; the base of those that speak."""

    def __init__(self, total: int = 0, done: int = 0) -> None:
        self.total, self.done, self.failed = total, done, 0
        self._before, self._began = done, time.monotonic()

    def update(self, *, failed: bool = False) -> None:
        self.done += 1
        self.failed += failed

    def close(self) -> None:
        """Nothing was drawn."""

    @property
    def rate(self) -> float:
        return (self.done - self._before) / max(time.monotonic() - self._began, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.done) / self.rate if self.done > self._before else None

    def text(self) -> str:
        left = "" if not self.seconds_left else f"  ETA {clock(self.seconds_left)}"
        share = 100 * self.done // self.total if self.total else 100
        return f"{self.done}/{self.total}  {share}%  {self.rate:.1f}/s  errors {self.failed}{left}"


class ProgressLines(Progress):
    """One plain line every ten seconds, and one at the end."""

    every = EVERY

    def __init__(self, total: int, done: int = 0, stream: TextIO | None = None) -> None:
        super().__init__(total, done)
        self._stream, self._next = stream or sys.stderr, time.monotonic() + self.every

    def update(self, *, failed: bool = False) -> None:
        super().update(failed=failed)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self.every
            self._draw()

    def close(self) -> None:
        if self.done > self._before:
            self._draw()

    def _draw(self) -> None:
        self._write(one_line(f"run  {self.text()}") + "\n")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads along any more, which is no reason to stop
            self._stream.write(text)
            self._stream.flush()


class ProgressBar(ProgressLines):
    """A bar that is redrawn in its line a few times a second, whatever the rate. Plain characters, no colour."""

    every = 0.2

    def __init__(self, total: int, done: int = 0, stream: TextIO | None = None) -> None:
        super().__init__(total, done, stream)
        self._draw()

    def close(self) -> None:
        self._draw()
        self._write("\n")

    def _draw(self) -> None:
        columns, text = shutil.get_terminal_size().columns - 1, f"  {self.text()}"
        width = max(0, min(40, columns - len(text) - 6))
        full = width * self.done // self.total if self.total else width
        line = f"run [{'=' * full}{' ' * (width - full)}]{text}"[:columns]  # a line that wraps can't be drawn over
        self._write(f"\r{line}\x1b[K")


def progress_for(total: int, done: int = 0) -> Progress:
    """The bar on a terminal, plain lines otherwise; always on standard error."""
    return ProgressBar(total, done) if sys.stderr.isatty() else ProgressLines(total, done)


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
