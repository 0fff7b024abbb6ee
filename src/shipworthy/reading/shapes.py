"""Shapes: the least that makes a report one. What is read from disk is data, and may be anything."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, TypedDict

import msgspec


class _About(msgspec.Struct):
    report: int
    definitions: str
    suite: str = ""
    profile: str = ""
    board: bool = False


class _SuiteAbout(msgspec.Struct):
    report: int
    definitions: str
    suite: str
    profile: str = ""


class _Measure(msgspec.Struct):
    kind: str = ""
    value: float | None = None
    n: int = 0
    numerator: int | None = None
    denominator: int | None = None
    exact: str | None = None
    better: str = ""
    unit: str = ""
    interval95: tuple[float, float] | None = None


class _Outcome(msgspec.Struct):
    gate: str
    metric: str
    severity: str
    state: str = ""
    holds: bool = False
    on_unproven: str = "pass"
    slice: str = ""


class _Read(msgspec.Struct):
    sha256: str | None = None
    records: int = 0
    bad: int = 0
    problems: list[str] = []
    content: str | None = None


class _Call(msgspec.Struct):
    inputs: dict[str, str]
    options: dict[str, object]
    unicode: str = ""


class _GatePolicy(msgspec.Struct):
    gate: str
    severity: Literal["block", "warn", "info"]
    on_unproven: Literal["pass", "fail"]


class _Policy(msgspec.Struct):
    waivers: list[dict[str, str]]
    policies: list[_GatePolicy]
    baseline: dict[str, str] | None
    today: str
    regressions: list[str] = []
    incomparable: list[str] = []


class _Run(msgspec.Struct, frozen=True):
    call: _Call | None = None
    policy: _Policy | None = None


class SuiteReport(msgspec.Struct):
    shipworthy: _SuiteAbout
    digest: str
    decision: str
    metrics: dict[str, _Measure]
    outcomes: list[_Outcome]
    reasons: list[str] = []
    slices: dict[str, dict[str, _Measure]] = {}
    inputs: dict[str, _Read] = {}
    options: dict[str, object] = {}
    items: list[dict[str, object]] = []
    run: _Run = _Run()


NAME_FIELDS = ("qid", "id", "prompt_id", "arm")  # what `row_name` reads of a row


@cache
def results_type(field: str) -> Any:
    """Of a report, what says which items pass: their names and one field."""
    fields: dict[str, Any] = dict.fromkeys((*NAME_FIELDS, field), object)
    row: Any = TypedDict("row", fields, total=False)  # type: ignore[misc]
    return msgspec.defstruct("Results", [("items", list[row], msgspec.field(default_factory=list))])


class BoardReport(msgspec.Struct):
    shipworthy: _About
    digest: str
    decision: str
    suites: dict[str, SuiteReport]
    failures: dict[str, str] = {}
