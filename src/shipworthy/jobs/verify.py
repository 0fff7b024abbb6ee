"""Receipts: a report computed again from its inputs, to see whether the bytes agree."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from ..core.decision import DEFINITIONS, Decision, digest
from ..core.decision import report as report_of
from ..core.gates import Gate
from ..core.options import fields_of
from ..core.policy import Waiver, apply_policy, with_regressions
from ..errors import DataError, UsageError
from ..reading.reports import load_report, reports_of
from ..suites import SUITES, load_suite
from ..text import visible
from .evaluate import run_suite

NAMED = 20  # how many differing metrics are named


class Receipt(msgspec.Struct, frozen=True):
    """Whether a report follows from its inputs, and where not."""

    suite: str
    agrees: bool
    stated: str
    computed: str
    differences: list[str] = []


def verify(report: Mapping[str, Any] | str | os.PathLike[str], *, trust: bool = False, **inputs: str) -> list[Receipt]:
    """Compute each suite of a report again; `inputs` (gold=, trace=, …) replace the paths that it names.

    A report is data: what in it would open a connection or run code is refused unless you `trust` it.
    """
    stated = load_report(report) if isinstance(report, (str, os.PathLike)) else report
    reports = reports_of(stated)
    receipts = [_verify_suite(one, inputs if len(reports) == 1 else _own(one, inputs), trust) for one in reports]
    if "suites" in stated and (computed := digest(dict(stated))) != stated["digest"]:
        receipts.append(
            Receipt("board", False, stated["digest"], computed, ["the board was edited after it was written"])
        )
    return receipts


def _own(report: Mapping[str, Any], inputs: Mapping[str, str]) -> dict[str, str]:
    """Those of the inputs that this suite of a board was made from."""
    call = report.get("run", {}).get("call") or {"inputs": {}, "options": {}}
    return {name: path for name, path in inputs.items() if name in call["inputs"] or name in call["options"]}


def recompute(report: Mapping[str, Any], inputs: Mapping[str, str] | None = None, trust: bool = False) -> Decision:
    """The decision that the report's inputs, options and gates give now."""
    run = report.get("run", {})
    suite = report["shipworthy"]["suite"]
    if suite not in SUITES:
        raise DataError(f"can't compute a report of {suite!r} again", code="receipt-suite")
    call = run.get("call")
    if not call:
        raise DataError(
            "the report does not say how it was made",
            hint="Score again, and keep its `run` block.",
            code="receipt-call",
        )
    moved = {name: path for name, path in (inputs or {}).items() if path}
    options = call["options"] | {name: moved.pop(name) for name in list(moved) if name in call["options"]}
    paths = call["inputs"] | moved
    for name, path in paths.items():
        if not os.path.exists(path):
            raise DataError(
                f"the {name} of the report is not there",
                where=visible(path),
                hint=f"Name it with --input {name}=FILE.",
                code="receipt-input",
            )
    for name in report.get("inputs", {}):
        if name not in paths and name in {spec.name for spec in load_suite(suite).inputs if spec.required}:
            raise DataError(
                f"the {name} of the report was not read from a file",
                hint=f"Write it to one and name it: --input {name}=FILE.",
                code="receipt-input",
            )
    if not trust:
        _check_inert(suite, call["options"])
    return _with_policy(run_suite(load_suite(suite), paths, options), run.get("policy", {}))


def _check_inert(suite: str, options: Mapping[str, Any]) -> None:
    fields = fields_of(load_suite(suite).options)
    for name in options:
        if name in fields and not fields[name].opt.inert:
            raise DataError(
                f"the report sets {name}, which may open a connection, run code or write a file",
                hint="Add --trust if the report is your own.",
                code="receipt-trust",
            )


def policy_block(
    waivers: list[Waiver], policies: list[Gate], baseline: Mapping[str, Fraction] | None, today: datetime.date
) -> dict[str, Any]:
    """What was laid on a decision, as it is kept in a report's `run` for computing it again."""
    return {
        "waivers": msgspec.to_builtins(waivers),
        "policies": [
            {"gate": str(gate), "severity": gate.severity, "on_unproven": gate.on_unproven} for gate in policies
        ],
        "baseline": None if baseline is None else {key: str(value) for key, value in sorted(baseline.items())},
        "today": today.isoformat(),
    }


def _with_policy(decision: Decision, block: Mapping[str, Any]) -> Decision:
    if not block:
        return decision
    baseline = block["baseline"]
    judged = apply_policy(
        decision,
        waivers=msgspec.convert(block["waivers"], list[Waiver]),
        policies=[
            Gate.parse(entry["gate"], severity=entry["severity"], on_unproven=entry["on_unproven"])
            for entry in block["policies"]
        ],
        baseline=None if baseline is None else {key: Fraction(value) for key, value in baseline.items()},
        today=datetime.date.fromisoformat(block["today"]),
    )
    return with_regressions(judged, block.get("regressions", []))


def _verify_suite(stated: Mapping[str, Any], inputs: Mapping[str, str], trust: bool) -> Receipt:
    suite, said = str(stated["shipworthy"].get("suite", "")), str(stated["digest"])
    differences = list(_edited(stated))
    try:
        computed = report_of(recompute(stated, inputs, trust))
    except (DataError, UsageError) as error:
        return Receipt(suite, False, said, "", [*differences, str(error)])
    if differences or computed["digest"] != said:
        differences += _differences(stated, computed)
    return Receipt(suite, not differences and computed["digest"] == said, said, computed["digest"], differences)


def _edited(stated: Mapping[str, Any]) -> Iterator[str]:
    if digest(dict(stated)) != stated["digest"]:
        yield "the report was edited after it was written: its digest is not that of its content"
    version = stated["shipworthy"].get("definitions")
    if version != DEFINITIONS:
        yield f"it was made by definitions {version}, these are {DEFINITIONS}"


def _differences(stated: Mapping[str, Any], computed: Mapping[str, Any]) -> list[str]:
    """Inputs that changed, then metrics, then whatever else differs; the first kind that there is explains the rest."""
    changed = [
        f"{name} is another file: {_short(stated['inputs'][name])} was stated, {_short(given)} is there"
        for name, given in computed["inputs"].items()
        if name in stated.get("inputs", {}) and stated["inputs"][name] != given
    ]
    metrics = [
        f"{name} was {_value(stated['metrics'].get(name))}, it is {_value(measure)}"
        for name, measure in computed["metrics"].items()
        if stated.get("metrics", {}).get(name) != measure
    ]
    other = sorted(
        key
        for key in {*stated, *computed} - {"run", "digest", "inputs", "metrics"}
        if stated.get(key) != computed.get(key)
    )
    rest = [f"these parts differ: {', '.join(other)}"] if other and not metrics else []
    return changed + metrics[:NAMED] + rest


def file_digest(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _short(given: Mapping[str, Any]) -> str:
    return f"sha256 {str(given.get('sha256'))[:12]} with {given.get('records')} records"


def _value(measure: Mapping[str, Any] | None) -> str:
    if not measure or measure.get("value") is None:
        return "undefined"
    counts = f" ({measure['numerator']}/{measure['denominator']})" if "numerator" in measure else ""
    return f"{measure['value']}{counts}"
