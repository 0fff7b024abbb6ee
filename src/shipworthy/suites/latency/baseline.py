"""A baseline for latency: the numbers of an earlier report, usable only for the same gold set."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from fractions import Fraction

from ...core.gates import Gate
from ...core.sources import Input
from ...errors import DataError
from ...reading.reports import exact_value
from ...reading.strict import no_repeats
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
_HINT = "Give the JSON that `latency score --json` writes."


def read_baseline(source: BaselineSource, gold: Input) -> tuple[dict[str, Fraction], Input]:
    """What an earlier latency report measured, as a whole (`p95`) and in parts (`p95[load=5]`), exactly.

    Its gold set must have the same content, or where an old report does not tell the content, the same bytes.
    """
    report, read = (source, Input(path="<baseline>", records=1)) if isinstance(source, Mapping) else _loaded(source)
    where = visible(read.path)
    if _mapping(report.get("shipworthy")).get("suite") != "latency" or not isinstance(report.get("metrics"), Mapping):
        raise DataError("is not a latency report", where=where, hint=_HINT, code="baseline-report")
    if not _of_same_gold(_mapping(_mapping(report.get("inputs")).get("gold")), gold):
        raise DataError(
            "the baseline was made with another gold set, so the two can't be compared",
            where=where,
            hint="Score the baseline's traces with this gold set, and give that report.",
            code="baseline-gold",
        )
    return _values(report), read


def _loaded(path: str | os.PathLike[str]) -> tuple[Report, Input]:
    """The report of a file, and what was read: one reading, so that the digest is that of the numbers used."""
    where = visible(os.fspath(path))
    try:
        with open(path, "rb") as file:
            data = file.read()
        report = json.loads(data.decode("utf-8"), object_pairs_hook=no_repeats)
    except OSError as error:
        raise DataError(
            f"can't be read: {error.strerror or error}", where=where, hint="Check --baseline.", code="baseline-report"
        ) from None
    except (ValueError, RecursionError):
        raise DataError("is not JSON", where=where, hint=_HINT, code="baseline-report") from None
    if not isinstance(report, dict):
        raise DataError("is not a report", where=where, code="baseline-report")
    return report, Input(path=os.fspath(path), digest=hashlib.sha256(data).hexdigest(), records=1)


def _of_same_gold(theirs: Mapping[str, object], gold: Input) -> bool:
    if "content" in theirs:
        return bool(theirs["content"] == gold.content)
    return bool(gold.digest) and theirs.get("sha256") == gold.digest


def _values(report: Report) -> dict[str, Fraction]:
    values = {name: exact_value(shown) for name, shown in _mapping(report["metrics"]).items()}
    for part, measures in _mapping(report.get("slices")).items():
        values |= {f"{name}[{part}]": exact_value(shown) for name, shown in _mapping(measures).items()}
    return {name: value for name, value in values.items() if value is not None}


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def baseline_gates(values: Mapping[str, Fraction]) -> list[Gate]:
    """The usual guards against a baseline, for what the baseline has measured."""
    return [gate for gate in map(Gate.parse, AGAINST_BASELINE) if gate.metric in values]
