"""`shipworthy explain`: a metric, a reason, a question of the last report, or an error code, in words."""

from __future__ import annotations

import shutil
import sys
import textwrap
from datetime import datetime

import click

from ..jobs.explain import explain
from ._flags import text
from ._say import say

_RECENT = 20  # runs of the history among which the last check's are


@click.command("explain")
@click.argument("name", metavar="METRIC|REASON|QID|CODE")
@text(
    "--report",
    "FILE",
    "Report (JSON) to look the question up in.  [default: the newest here, else the last run of the history]",
    default="",
)
@text("--history url", "URL", "History to look the question up in.", default="")
def command(name: str, report: str, url: str) -> None:
    """Explain a metric, a reason, one question of the last report, or an error code.

    \b
    shipworthy explain chr                       # what the metric means, its formula and default gate
    shipworthy explain containment               # why an item fails, as reports write it
    shipworthy explain Q17                       # question, answer, expected text, and why it fails
    shipworthy explain Q17 --report report.json
    shipworthy explain gate-unknown              # what an error code means and how to fix it
    """
    for line in explain(name, report, lambda: _last(url)):
        for part in _fitted(line):
            say(part)


def _fitted(line: str) -> list[str]:
    """A line as wide as the terminal, continued below its text; whole where nobody watches."""
    if not sys.stdout.isatty():
        return [line]
    indent = " " * (12 if line.startswith("  ") and line[2:12].strip() and line[11:12] == " " else 2)
    return textwrap.wrap(line, min(shutil.get_terminal_size().columns, 100), subsequent_indent=indent) or [line]


def _last(url: str) -> tuple[dict[str, object], float]:
    """The newest run of each suite as one board, and when the last of them was recorded."""
    from .history import open_history

    history = open_history(url)
    newest = history.find("last")
    recent = [run for run in history.runs(limit=_RECENT) if run.label == newest.label]
    runs = {run.suite: run for run in sorted(recent, key=lambda run: not run.subset)}  # whole runs before subsets
    reports = dict(zip(runs, history.reports(list(runs.values())), strict=True))
    return {"suites": reports}, datetime.fromisoformat(newest.recorded_at).timestamp()
