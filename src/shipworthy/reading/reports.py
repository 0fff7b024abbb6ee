"""Reports: read back from disk and checked; their rows, and which of them pass."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..errors import DataError, EnvironmentFailure, UsageError
from ..text import visible
from .strict import Refused, strict_json

_HINT = "Give the report that --json or -o FILE.json wrote."


def row_name(row: Mapping[str, object]) -> str:
    """What a row is about: its question, with the arm where there are several."""
    name = str(row.get("qid", row.get("id", row.get("prompt_id", ""))))
    return f"{name} ({row['arm']})" if row.get("arm") else name


def row_passes(row: Mapping[str, object]) -> bool:
    """A row passes when it says so; where it does not say, when nothing is held against it."""
    for word in ("passed", "pass", "ok"):
        if isinstance(row.get(word), bool):
            return bool(row[word])
    if "state" in row:
        return bool(row["state"] == "pass")
    if "scholar" in row and "auditor" in row:
        return bool(row["scholar"] == row["auditor"])
    return not (row.get("reason") or row.get("failed"))


def passing(report: Mapping[str, Any]) -> dict[str, bool]:
    """Which items of a report pass, by name."""
    return {row_name(row): row_passes(row) for row in report.get("items", [])}


_EXACT = r"-?\d{1,400}(?:/0*[1-9]\d{0,400})?"


def exact_value(measure: object) -> Fraction | None:
    """A metric of a report exactly; None where it has no value. Numbers that would take for ever have none."""
    if not isinstance(measure, Mapping):
        return None
    over, under, value = measure.get("numerator"), measure.get("denominator"), measure.get("value")
    if isinstance(over, int) and isinstance(under, int) and under > 0:
        return Fraction(over, under)
    if (written := exact_text(measure.get("exact"))) is not None:
        return written
    finite = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return Fraction(str(value)) if finite else None


def exact_text(text: object) -> Fraction | None:
    """`3/4` or `-12` as a fraction; None for anything else."""
    return Fraction(text) if isinstance(text, str) and re.fullmatch(_EXACT, text, re.ASCII) else None


def failing_qids(report: Mapping[str, object] | str | os.PathLike[str]) -> set[str]:
    """The questions to ask again: those that failed in the report, in any suite of a board."""
    found = load_report(report) if isinstance(report, (str, os.PathLike)) else report
    return {
        str(row.get("qid", row.get("id", "")))
        for one in reports_of(found)
        for row in one.get("items", [])
        if not row_passes(row)
    } - {""}


def reports_of(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The reports of single suites: all of a board, or the one."""
    return list(report["suites"].values()) if "suites" in report else [report]


def load_report(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A report from disk, with the least that makes it one."""
    where = visible(os.fspath(path))
    try:
        with open(path, "rb") as stream:
            value = strict_json(stream.read())
    except FileNotFoundError:
        raise UsageError("no such file", where=where, hint="Check the path.", code="no-file") from None
    except OSError as error:
        raise EnvironmentFailure(f"can't be read: {error.strerror}", where=where, code="unreadable") from None
    except Refused as refusal:
        raise DataError(f"is not a report: {refusal.what}", where=where, hint=_HINT, code="report-invalid") from None
    return check_report(value, where)


def check_report(value: object, where: str = "<report>") -> dict[str, Any]:
    """The value as a report, or one clear error that says what is wrong with it and where."""
    if not isinstance(value, dict) or not isinstance(value.get("shipworthy"), dict):
        raise DataError("is not a report", where=where, hint=_HINT, code="report-invalid")
    import msgspec

    from .jsonl import field_first
    from .shapes import BoardReport, SuiteReport

    try:
        msgspec.convert(value, BoardReport if "suites" in value else SuiteReport)
    except (ValueError, RecursionError) as error:  # ValueError: what does not fit, and text that is no Unicode
        what = f"is not a report: {visible(field_first(str(error)), 200)}"
        raise DataError(what, where=where, hint=_HINT, code="report-invalid") from None
    return value
