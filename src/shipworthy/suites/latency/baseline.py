"""A baseline for latency: the numbers of an earlier report, usable only for the same gold set."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ...core.gates import Gate
from ...core.sources import Input
from ...errors import DataError
from ...reading.reports import check_report, exact_value, report_of_bytes
from ...text import visible

Report = Mapping[str, object]
BaselineSource = str | os.PathLike[str] | Report

AGAINST_BASELINE = (
    "p95 <= baseline * 1.15",
    "precision >= baseline - 0.02",
    "p50 <= baseline * 1.2",
    "p90 <= baseline * 1.5",
    "cost_per_correct <= baseline * 1.3",
)
_COST = "cost_per_correct"
_HINT = "Give the JSON that `latency score --json` writes."


def read_baseline(source: BaselineSource, gold: Input) -> tuple[dict[str, Fraction], Input]:
    """What an earlier latency report measured, as a whole (`p95`) and in parts (`p95[load=5]`), exactly.

    Its gold set must have the same content, or where an old report does not tell the content, the same bytes.
    """
    report, read = _checked(source)
    where = visible(read.path)
    if report["shipworthy"]["suite"] != "latency":
        raise DataError("is not a latency report", where=where, hint=_HINT, code="baseline-report")
    values, metrics = _values(report), report["metrics"]
    guarded = [gate.metric for gate in map(Gate.parse, AGAINST_BASELINE)]
    if absent := [name for name in guarded if name not in metrics or (name == "p95" and name not in values)]:
        what = f"the baseline has no {', '.join(absent)} to compare with"
        raise DataError(what, where=where, hint=_HINT, code="baseline-report")
    if not _of_same_gold(report.get("inputs", {}).get("gold", {}), gold):
        raise DataError(
            "the baseline was made with another gold set, so the two can't be compared",
            where=where,
            hint="Score the baseline's traces with this gold set, and give that report.",
            code="baseline-gold",
        )
    return values, read


def _checked(source: BaselineSource) -> tuple[dict[str, Any], Input]:
    """The report as it was written, and what was read: one reading, so that the digest is that of the numbers used."""
    if isinstance(source, Mapping):
        return check_report(dict(source), "<baseline>"), Input(path="<baseline>", records=1)
    where = visible(os.fspath(source))
    try:
        with open(source, "rb") as file:
            data = file.read()
        read = Input(path=os.fspath(source), digest=hashlib.sha256(data).hexdigest(), records=1)
        return report_of_bytes(data, where), read
    except OSError as error:
        what = f"can't be read: {error.strerror or error}"
        raise DataError(what, where=where, hint="Check --baseline.", code="baseline-report") from None
    except DataError as error:
        if error.code == "report-invalid":
            raise DataError(error.what, where=where, hint=_HINT, code="baseline-report") from None
        raise


def _of_same_gold(theirs: Mapping[str, object], gold: Input) -> bool:
    if "content" in theirs:
        return bool(theirs["content"] == gold.content)
    return bool(gold.digest) and theirs.get("sha256") == gold.digest


def _values(report: Mapping[str, Any]) -> dict[str, Fraction]:
    values = {name: exact_value(shown) for name, shown in report["metrics"].items()}
    for part, measures in report.get("slices", {}).items():
        values |= {f"{name}[{part}]": exact_value(shown) for name, shown in measures.items()}
    return {name: value for name, value in values.items() if value is not None}


def baseline_gates(values: Mapping[str, Fraction]) -> list[Gate]:
    """The usual guards where there is a baseline. Costs may never have been logged; what else it lacks is no data."""
    if not values:
        return []
    return [gate for gate in map(Gate.parse, AGAINST_BASELINE) if gate.metric in values or gate.metric != _COST]
