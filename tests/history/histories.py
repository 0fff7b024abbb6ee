"""Reports to put into a history."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from conftest import gold, trace
from shipworthy import evaluate
from shipworthy.core.decision import report
from shipworthy.history import History
from shipworthy.history import store as storing
from shipworthy.reading.reports import digest


def made(wrong: int = 0, of: int = 7, **options: Any) -> dict[str, Any]:
    items = [gold(f"Q{index}") for index in range(of)]
    traces = [trace(f"Q{index}", cite=("d2",) if index < wrong else ("d1",)) for index in range(of)]
    return report(evaluate(items, traces, **options))


def small(index: int) -> dict[str, Any]:
    """A report that is cheap to make, of which there can be many."""
    measure = {"kind": "rate", "value": 1 / 3, "n": 3, "numerator": 1, "denominator": 3}
    outcome = {"gate": "precision >= 0.1", "metric": "precision", "slice": "", "state": "PASS", "holds": True}
    return sealed(
        {
            "shipworthy": {"suite": "answers", "profile": "strict", "definitions": "1"},
            "decision": "SHIP",
            "inputs": {},
            "metrics": {"precision": measure},
            "outcomes": [outcome],
            "number": index,
        }
    )


def sealed(body: dict[str, Any]) -> dict[str, Any]:
    """A report that somebody made up, with the digest of what it says."""
    return {**body, "digest": digest(body)}


def recorded_before(url: str, reports: list[dict[str, Any]], version: int = 2) -> None:
    """A history as an earlier version recorded it: before reports were compressed, or before items were kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storing, "VERSION", version)
        for index, report in enumerate(reports):
            text = json.dumps(report)
            with storing.opened(url, 5) as store:
                store.count(
                    "INSERT INTO shipworthy_runs (id, recorded_at, suite, profile, decision, definitions, digest, "
                    "inputs, commit_id, branch, label, report) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        f"{index}-{report['digest']}",
                        f"2026-11-{index + 1:02d}T00:00:00+00:00",
                        *("answers", "strict", report["decision"], "1", report["digest"]),
                        json.dumps(report["inputs"]),
                        *("", "main", f"r{index}"),
                        text if version < 3 else zlib.compress(text.encode()),
                    ),
                )


def schema_of(url: str) -> int:
    with storing.opened(url, 5, write=False) as store:
        return store.version()


def record_or_keep(history: History, kept: dict[str, Any], **known: str) -> tuple[str, str]:
    """Record one report as `check` does; its id, and the warnings."""
    (name,), warnings = history.record_all([kept], **known)
    return name, " ".join(warnings)
