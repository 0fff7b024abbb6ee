"""Receipts: a report computed again from its inputs, to see whether the bytes agree."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from .calls import CALLS, call, parameters
from .decision import DEFINITIONS, Decision, digest
from .decision import report as report_of
from .errors import DataError
from .gates import Gate
from .items import load_report
from .policy import Waiver, settle, with_regressions
from .text import visible

NAMED = 20  # how many differing metrics are named


class Receipt(msgspec.Struct, frozen=True):
    """Whether a report follows from its inputs, and where not."""

    suite: str
    agrees: bool
    stated: str
    computed: str
    differences: list[str] = []


def verify(report: Mapping[str, Any] | str | os.PathLike[str], **inputs: str) -> list[Receipt]:
    """Compute each suite of a report again; `inputs` (gold=, trace=, …) replace the paths that it names."""
    stated = load_report(report) if isinstance(report, (str, os.PathLike)) else report
    receipts = [_verify_suite(one, inputs) for one in (stated["suites"].values() if "suites" in stated else [stated])]
    if "suites" in stated and (computed := digest(dict(stated))) != stated["digest"]:
        receipts.append(
            Receipt("board", False, stated["digest"], computed, ["the board was edited after it was written"])
        )
    return receipts


def recompute(report: Mapping[str, Any], inputs: Mapping[str, str] | None = None) -> Decision:
    """The decision that the report's inputs, options and gates give now."""
    run = report.get("run", {})
    suite = report["shipworthy"]["suite"]
    if suite not in CALLS:
        raise DataError(f"can't compute a report of {suite!r} again", code="receipt-suite")
    made = run.get("call") or _guessed(suite, report)
    paths = {**made["inputs"], **{name: path for name, path in (inputs or {}).items() if path}}
    for name, path in paths.items():
        if not os.path.exists(path):
            raise DataError(f"the {name} of the report is not there", where=visible(path),
                            hint=f"Name it with --{name} FILE.", code="receipt-input")  # fmt: skip
    decision = call(suite, paths, made["options"], made["gates"])
    return _settled(decision, run.get("policy", {}))


def policy_block(
    waivers: list[Waiver], policies: list[Gate], baseline: Mapping[str, Fraction] | None, today: datetime.date
) -> dict[str, Any]:
    """What was laid on a decision, as it is kept in a report's `run` for computing it again."""
    return {
        "waivers": msgspec.to_builtins(waivers),
        "policies": [{"gate": str(gate), "severity": gate.severity, "on_unproven": gate.on_unproven} for gate in policies],
        "baseline": None if baseline is None else {key: str(value) for key, value in sorted(baseline.items())},
        "today": today.isoformat(),
    }  # fmt: skip


def _settled(decision: Decision, block: Mapping[str, Any]) -> Decision:
    if not block:
        return decision
    baseline = block["baseline"]
    settled = settle(
        decision,
        waivers=msgspec.convert(block["waivers"], list[Waiver]),
        policies=[Gate.parse(entry["gate"], severity=entry["severity"], on_unproven=entry["on_unproven"])
                  for entry in block["policies"]],
        baseline=None if baseline is None else {key: Fraction(value) for key, value in baseline.items()},
        today=datetime.date.fromisoformat(block["today"]),
    )  # fmt: skip
    return with_regressions(settled, block.get("regressions", []))


def _verify_suite(stated: Mapping[str, Any], inputs: Mapping[str, str]) -> Receipt:
    suite, said = str(stated["shipworthy"].get("suite", "")), str(stated["digest"])
    differences = list(_edited(stated))
    try:
        computed = report_of(recompute(stated, inputs))
    except DataError as error:
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
    changed = [f"{name} is another file: {_short(stated['inputs'][name])} was stated, {_short(given)} is there"
               for name, given in computed["inputs"].items()
               if name in stated.get("inputs", {}) and stated["inputs"][name] != given]  # fmt: skip
    metrics = [f"{name} was {_value(stated['metrics'].get(name))}, it is {_value(measure)}"
               for name, measure in computed["metrics"].items() if stated.get("metrics", {}).get(name) != measure]  # fmt: skip
    other = sorted(key for key in {*stated, *computed} - {"run", "digest", "inputs", "metrics"}
                   if stated.get(key) != computed.get(key))  # fmt: skip
    rest = [f"these parts differ: {', '.join(other)}"] if other and not metrics else []
    return changed + metrics[:NAMED] + rest


def _guessed(suite: str, report: Mapping[str, Any]) -> dict[str, Any]:
    """The call that a report without its `call` was made by, from its options and outcomes."""
    takes = parameters(suite)
    options = {name: value for name, value in report.get("options", {}).items() if name in takes and value is not None}
    options |= {"only_gates": True, "profile": report["shipworthy"].get("profile", "strict"),
                "lenient": bool(report.get("partial")), "offenders": len(report.get("offenders", []))}  # fmt: skip
    gates = [Gate.parse(one["gate"], severity=one["severity"], on_unproven=one.get("on_unproven", "pass"))
             for one in report.get("outcomes", [])]  # fmt: skip
    gates += [Gate.parse(bar) for bar in report.get("options", {}).get("bars", [])]  # of single questions, in stability
    inputs = {name: path for name, path in report.get("run", {}).items() if name in CALLS[suite].inputs}
    return {"inputs": inputs, "options": {name: value for name, value in options.items() if name in takes
                                          and name not in inputs}, "gates": gates}  # fmt: skip


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
