"""Records: a run as it is kept, from a report to rows and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from ..core.metrics import decimal
from ..errors import DataError, EnvironmentFailure
from ..text import visible
from .store import masked


class RecordedRun(msgspec.Struct, frozen=True):
    """A recorded run, without its report."""

    seq: int
    id: str
    recorded_at: str
    suite: str
    profile: str
    decision: str
    definitions: str
    digest: str
    inputs: dict[str, Any]
    commit: str
    branch: str
    label: str

    @property
    def gold(self) -> str:
        """What the gold set was, whatever the order of its lines where the report says so."""
        gold = self.inputs.get("gold") or {}
        return str(gold.get("content") or gold.get("sha256") or "")


class TrendPoint(msgspec.Struct, frozen=True):
    """A metric in one run; num and den are whole numbers, so that nothing is rounded by a database."""

    run: RecordedRun
    kind: str
    num: int | None
    den: int | None

    @property
    def value(self) -> Fraction | None:
        return None if self.num is None or not self.den else Fraction(self.num, self.den)

    def __str__(self) -> str:
        if self.value is None:
            return "undefined"
        counts = f" ({self.num}/{self.den})" if self.kind == "rate" else ""
        return str(self.value) if self.kind == "count" else decimal(self.value) + counts


class Baseline(msgspec.Struct, frozen=True):
    """A run that somebody blessed under a name."""

    name: str
    suite: str
    run_id: str
    blessed_by: str
    blessed_at: str
    reason: str


class GateHealth(msgspec.Struct, frozen=True):
    """A gate over the recorded runs: one that never fails, or never holds, measures nothing."""

    suite: str
    gate: str
    runs: int
    held: int

    @property
    def says(self) -> str:
        if self.held == self.runs:
            return "never failed"
        return "never held" if not self.held else ""


def run_id(report: Mapping[str, Any], commit: str, branch: str, label: str) -> str:
    """A name that follows from what is recorded, so that recording twice is recording once."""
    parts = [str(report["digest"]), commit, branch, label]
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


def exact_value(measure: Mapping[str, Any]) -> Fraction | None:
    """A metric of a report as a fraction: its counts, its exact form, or at least the digits that are shown."""
    pair = _fraction(measure)
    return None if pair is None else Fraction(*pair)


def rows_of(
    report: Mapping[str, Any], commit: str, branch: str, label: str, recorded_at: str
) -> tuple[tuple[Any, ...], list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    head = report.get("shipworthy")
    if not isinstance(head, Mapping) or "suite" not in head or "digest" not in report:
        raise DataError(
            "is not a report of one suite",
            hint="Record the report that `score --json` or `check` writes.",
            code="history-not-report",
        )
    commit, branch, label = map(visible, (commit, branch, label))  # a database takes no NUL, and a reader no escapes
    name = run_id(report, commit, branch, label)
    run = (
        name,
        recorded_at,
        str(head["suite"]),
        str(head.get("profile", "")),
        str(report.get("decision", "")),
        str(head.get("definitions", "")),
        str(report["digest"]),
        json.dumps(report.get("inputs", {}), sort_keys=True),
        commit,
        branch,
        label,
        json.dumps(report, ensure_ascii=True),
    )
    metrics = [_metric_row(name, metric, measure) for metric, measure in report.get("metrics", {}).items()]
    metrics += [
        _metric_row(name, f"{metric}[{part}]", measure)
        for part, measures in report.get("slices", {}).items()
        for metric, measure in measures.items()
    ]
    gates = {
        outcome["gate"]: (name, visible(outcome["gate"]), outcome["state"], int(outcome["holds"]))
        for outcome in report.get("outcomes", [])
    }
    return run, metrics, list(gates.values())


def run_of(row: Sequence[Any], url: str) -> RecordedRun:
    values = dict(zip(RecordedRun.__struct_fields__, row, strict=True))
    return RecordedRun(**values | {"inputs": stored(values["inputs"], url)})


def stored(text: str, url: str) -> Any:
    """JSON that the database gave back; a page that went bad may give anything."""
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        raise damaged(url) from None


def damaged(url: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        "is damaged: a recorded run is not what was recorded",
        where=masked(url),
        hint="It is left as it is: restore it, or move it away.",
        code="history-corrupt",
    )


def _fraction(measure: Mapping[str, Any]) -> tuple[int, int] | None:
    if measure.get("value") is None:
        return None
    if measure.get("denominator"):
        return int(measure["numerator"]), int(measure["denominator"])
    value = Fraction(str(measure.get("exact", measure["value"])))
    return value.numerator, value.denominator


def _metric_row(run: str, name: str, measure: Mapping[str, Any]) -> tuple[Any, ...]:
    pair = _fraction(measure)
    return run, visible(name), str(measure.get("kind", "")), *((None, None) if pair is None else map(str, pair))
