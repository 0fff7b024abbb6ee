"""A baseline for latency: the numbers of an earlier report, usable only for the same gold set."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ...errors import DataError
from ...gates import Gate
from ...text import visible
from .facts import AGAINST_BASELINE

Report = Mapping[str, Any]
_EXACT = re.compile(r"-?\d{1,400}(?:/0*[1-9]\d{0,400})?", re.ASCII)


def read_baseline(source: str | os.PathLike[str] | Report, digest: str, content: str) -> dict[str, Fraction]:
    """What an earlier latency report measured, as a whole (`p95`) and in parts (`p95[load=5]`), exactly.

    Its gold set must have this content, or where an old report does not tell the content, these bytes.
    """
    where = visible(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else "<baseline>"
    report = _loaded(source, where) if isinstance(source, (str, os.PathLike)) else source
    suite = report.get("shipworthy", {})
    if (
        not isinstance(suite, Mapping)
        or suite.get("suite") != "latency"
        or not isinstance(report.get("metrics"), Mapping)
    ):
        raise DataError("is not a latency report", where=where, hint="Give the JSON that `latency score --json` writes.",
                        code="baseline-report")  # fmt: skip
    theirs = _mapping(_mapping(report.get("inputs")).get("gold"))
    if theirs.get("content") != content if "content" in theirs else not digest or theirs.get("sha256") != digest:
        raise DataError("the baseline is of another gold set, so the numbers can't be compared", where=where,
                        hint="Score the baseline's traces with this gold set first.", code="baseline-gold")  # fmt: skip
    values = {name: _exact(shown) for name, shown in report["metrics"].items()}
    for part, measures in _mapping(report.get("slices")).items():
        values |= {f"{name}[{part}]": _exact(shown) for name, shown in _mapping(measures).items()}
    return {name: value for name, value in values.items() if value is not None}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def baseline_gates(values: Mapping[str, Fraction]) -> list[Gate]:
    """The usual guards against a baseline, for what the baseline has measured."""
    return [gate for gate in map(Gate.parse, AGAINST_BASELINE) if gate.metric in values]


def _loaded(path: str | os.PathLike[str], where: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except OSError as error:
        raise DataError(f"can't be read: {error.strerror or error}", where=where, hint="Check --baseline.",
                        code="baseline-report") from None  # fmt: skip
    except (ValueError, RecursionError):
        raise DataError("is not JSON", where=where, hint="Give the JSON that `latency score --json` writes.",
                        code="baseline-report") from None  # fmt: skip
    if not isinstance(found, dict):
        raise DataError("is not a report", where=where, code="baseline-report")
    return found


def _exact(shown: Any) -> Fraction | None:
    if not isinstance(shown, Mapping):
        return None
    over, under, value = shown.get("numerator"), shown.get("denominator"), shown.get("value")
    if isinstance(over, int) and isinstance(under, int) and under > 0:
        return Fraction(over, under)
    if isinstance(exact := shown.get("exact"), str) and _EXACT.fullmatch(exact):
        return Fraction(exact)
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return Fraction(str(value)) if number else None
