"""Receipts: a report computed again from its inputs, to see whether the bytes agree."""

from __future__ import annotations

import datetime
import hashlib
import os
import unicodedata
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from ..core.custom import label_files, runs_code
from ..core.decision import DEFINITIONS, Decision
from ..core.decision import report as report_of
from ..core.gates import Gate
from ..core.options import fields_of
from ..core.policy import Waiver, apply_policy, with_incomplete, with_regressions
from ..errors import DataError, UsageError
from ..reading.files import files_of
from ..reading.reports import check_report, digest_of, exact_text, load_report, reports_of
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


def verify(
    report: Mapping[str, object] | str | os.PathLike[str], *, trust: bool = False, **inputs: str
) -> list[Receipt]:
    """Compute each suite of a report again; `inputs` (gold=, trace=, …) replace the paths that it names.

    A report is data: what in it would open a connection or run code is refused unless you `trust` it.
    """
    path = "" if isinstance(report, Mapping) else os.fspath(report)
    # what was edited is among the differences
    stated = (
        check_report(dict(report), edited=True) if isinstance(report, Mapping) else load_report(report, edited=True)
    )
    reports = reports_of(stated)
    reach = None if trust else Reach(path)
    receipts = [_verify_suite(one, inputs if len(reports) == 1 else _own(one, inputs), reach) for one in reports]
    if "suites" in stated and (computed := digest_of(stated)) != stated["digest"]:
        receipts.append(
            Receipt("board", False, stated["digest"], computed, ["the board was edited after it was written"])
        )
    return receipts


def _own(report: Mapping[str, Any], inputs: Mapping[str, str]) -> dict[str, str]:
    """Those of the inputs that this suite of a board was made from."""
    call = report.get("run", {}).get("call") or {"inputs": {}, "options": {}}
    return {name: path for name, path in inputs.items() if name in call["inputs"] or name in call["options"]}


class Reach:
    """What a report that nobody vouches for may touch: files beside it or where the user stands, and nothing else."""

    def __init__(self, report: str = "") -> None:
        beside = [os.path.dirname(os.path.abspath(report))] if report else []
        self._roots = [os.path.realpath(folder) for folder in (*beside, os.getcwd())]

    def check(self, suite: str, paths: Mapping[str, str], options: Mapping[str, Any]) -> None:
        """Refuse what would open a connection, run code, write a file, or read one that lies elsewhere."""
        fields = fields_of(load_suite(suite).options)
        for name in options:
            if name in fields and not fields[name].opt.inert and (name != "custom_metrics" or runs_code(options[name])):
                raise DataError(
                    f"the report sets {name}, which may open a connection, run code or write a file",
                    hint="Add --trust if the report is your own.",
                    code="receipt-trust",
                )
        tables = {
            name: path
            for name, path in options.items()
            if name == "id_map" and ("://" in str(path) or os.path.exists(str(path)))
        }
        for name, path in {**paths, **tables, **label_files(options.get("custom_metrics"))}.items():
            if not self._holds(path):
                raise DataError(
                    f"the {name} of the report is neither beside it nor in the working directory",
                    where=visible(path),
                    hint=f"Name it with --input {name}=FILE, or add --trust if the report is your own.",
                    code="receipt-trust",
                )

    def _holds(self, path: str) -> bool:
        """Addresses are never held, and a pattern is looked at before the files that it stands for are looked up."""
        return "://" not in path and self._is_inside(path) and all(map(self._is_inside, files_of(path)))

    def _is_inside(self, path: str) -> bool:
        real = os.path.realpath(path)
        return any(os.path.commonpath([root, real]) == root for root in self._roots)


def recompute(
    report: Mapping[str, Any], inputs: Mapping[str, str] | None = None, reach: Reach | None = None
) -> Decision:
    """The decision that the report's inputs, options and gates give now; `reach` bounds what it may touch."""
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
    if reach is not None:
        stated = {name: path for name, path in call["inputs"].items() if name not in moved}
        reach.check(suite, stated, call["options"])
    for name, path in paths.items():
        if not files_of(path):
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
    return _with_policy(run_suite(load_suite(suite), paths, options), run.get("policy", {}))


def policy_block(
    waivers: list[Waiver], policies: list[Gate], baseline: Mapping[str, Fraction] | None, today: datetime.date
) -> dict[str, object]:
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
    try:
        policy = _policy(block)
    except (msgspec.ValidationError, ValueError, UsageError) as error:
        what = f"its policy can't be read: {visible(str(error), 200)}"
        raise DataError(what, hint="The report was edited; score again.", code="report-invalid") from None
    judged = with_incomplete(apply_policy(decision, **policy), block.get("incomparable", []))
    return with_regressions(judged, block.get("regressions", []))


def _policy(block: Mapping[str, Any]) -> dict[str, Any]:
    stated = block["baseline"]
    values = {} if stated is None else {key: exact_text(value) for key, value in stated.items()}
    if None in values.values():
        raise ValueError("a value of the baseline is not a number")
    return {
        "waivers": msgspec.convert(block["waivers"], list[Waiver]),
        "policies": [
            Gate.parse(entry["gate"], severity=entry["severity"], on_unproven=entry["on_unproven"])
            for entry in block["policies"]
        ],
        "baseline": None if stated is None else values,
        "today": datetime.date.fromisoformat(block["today"]),
    }


def _verify_suite(stated: Mapping[str, Any], inputs: Mapping[str, str], reach: Reach | None) -> Receipt:
    suite, said = str(stated["shipworthy"].get("suite", "")), str(stated["digest"])
    differences = list(_edited(stated))
    try:
        computed = report_of(recompute(stated, inputs, reach))
    except (DataError, UsageError) as error:
        return Receipt(suite, False, said, "", [*differences, str(error)])
    if differences or computed["digest"] != said:
        differences += [*_differences(stated, computed), *_other_unicode(stated)]
    return Receipt(suite, not differences and computed["digest"] == said, said, computed["digest"], differences)


def _edited(stated: Mapping[str, Any]) -> Iterator[str]:
    if digest_of(stated) != stated["digest"]:
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


def _other_unicode(stated: Mapping[str, Any]) -> list[str]:
    """A reason why the same texts may fold to others here."""
    made = stated.get("run", {}).get("call", {}).get("unicode", "")
    if made in ("", unicodedata.unidata_version):
        return []
    return [f"it was made with Unicode {visible(made, 20)}; this Python has {unicodedata.unidata_version}"]


def file_digest(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _short(given: Mapping[str, object]) -> str:
    return f"sha256 {str(given.get('sha256'))[:12]} with {given.get('records')} records"


def _value(measure: Mapping[str, object] | None) -> str:
    if not measure or measure.get("value") is None:
        return "undefined"
    over, under = measure.get("numerator"), measure.get("denominator")
    counts = "" if over is None or under is None else f" ({over}/{under})"
    return f"{measure['value']}{counts}"
