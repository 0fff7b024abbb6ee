"""Diagnosis: which way to look, from the gates that failed and the kinds of failure behind them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from ...core.evidence import Row
from ...core.metrics import decimal
from ...core.suite import Findings
from ...core.tally import Tally
from ...text import plural
from .metrics import failure
from .verdict import what_came


@cache
def failures() -> Mapping[str, Mapping[str, str]]:
    """Every way to fail, the worst first, with what it means."""
    return tomllib.loads((files("shipworthy.suites.reasoning") / "data" / "failures.toml").read_text("utf-8"))


def diagnose(findings: Findings, results: Iterable[Row]) -> list[str]:
    """Hints from the gates that failed; `results` are in the order of their ids."""
    tally, overlap = findings.tally, findings.measures["answer_overlap"].value
    failed = {outcome.gate.metric for outcome in findings.outcomes if not outcome.met and outcome.state != "NO-DATA"}
    hints = [
        about["hint_dimension"] for name, about in failures().items() if name in failed and "hint_dimension" in about
    ]
    if "answer_overlap" in failed and overlap is not None:
        shared = f"any two share {decimal(overlap)} of their runs of five words on average"
        hints.append(f"The answers are a template: {shared}.")
    return hints + _kinds(tally) + _refusals(tally, failed) + _errors(tally, results)


def _kinds(tally: Tally) -> list[str]:
    among = f"of {plural(tally['items'], 'case')}"
    hints = {kind: about["hint"] for kind, about in failures().items() if "hint" in about}
    return [f"{tally[failure(kind)]} {among} {hint}" for kind, hint in hints.items() if tally[failure(kind)]]


def _refusals(tally: Tally, failed: set[str]) -> list[str]:
    under, over = tally["under_refused"], tally["over_refused"]
    hints = []
    if under:
        asked = plural(tally["unanswerable"], "unanswerable case")
        hints.append(f"{under} of {asked} got an answer: the reasoner does not say when its notes are silent.")
    if over and (failed or 5 * over > tally["answerable"]):
        asked = plural(tally["answerable"], "answerable case")
        hints.append(f"{over} of {asked} were refused: the evidence is not found, or the reasoner is too careful.")
    return hints


def _errors(tally: Tally, results: Iterable[Row]) -> list[str]:
    first = next((result for result in results if result["status"] == "error"), None)
    if first is None:
        return []
    why = what_came(first["error"], first["seen"])
    return [f"{tally['error']} of {plural(tally['items'], 'case')} ended in an error, such as {first['id']}: {why}."]
