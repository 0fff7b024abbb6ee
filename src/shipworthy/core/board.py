"""Board: several suites, one verdict."""

from __future__ import annotations

from typing import Any

import msgspec

from ..reading.reports import digest
from . import notebook
from .decision import DEFINITIONS, EXIT, REPORT, Decision, report


class Board(msgspec.Struct):
    """Several suites, one verdict: a failing suite does not hide another."""

    decisions: list[Decision]
    failures: dict[str, str] = {}  # suites that could not be run at all, and why
    exit_codes: dict[str, int] = {}  # the exit code of each failure
    notes: list[str] = []  # what holds for the whole board: controls, waivers, baselines
    trends: dict[str, list[dict[str, Any]]] = {}  # metric → earlier runs from history, oldest first
    run: dict[str, Any] = {}
    changes: dict[str, dict[str, list[str]]] = {}  # by suite: items lost and gained since the baseline

    @property
    def verdict(self) -> str:
        verdicts = {decision.verdict for decision in self.decisions}
        if "NO-SHIP" in verdicts:
            return "NO-SHIP"
        undecided = verdicts <= {"MEASURED"}  # without any gate nothing is decided, and nothing may ship by that
        return "NO VERDICT" if "NO VERDICT" in verdicts or self.failures or undecided else "SHIP"

    @property
    def exit_code(self) -> int:
        if self.verdict != "NO VERDICT":
            return EXIT[self.verdict]
        return max([*self.exit_codes.values(), *(decision.exit_code for decision in self.decisions)], default=0) or 3

    def report(self) -> dict[str, object]:
        body = self.body() | {"suites": {decision.suite: report(decision) for decision in self.decisions}}
        return body | {"digest": digest(body), "run": self.run}

    def _repr_html_(self) -> str:
        return notebook.board_html(self)

    def body(self) -> dict[str, object]:
        """The report without its suites: their place is kept, because readers see them in the middle of it."""
        return {
            "shipworthy": {"report": REPORT, "definitions": DEFINITIONS, "board": True},
            "decision": self.verdict,
            "exit_code": self.exit_code,
            "pass": self.exit_code == 0,
            "suites": {},
            "failures": self.failures,
            "notes": self.notes,
            **({"changes": self.changes} if self.changes else {}),
        }
