"""Items: the rows of a report, which of them pass, and a report read back from disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import DataError, EnvironmentFailure, UsageError
from ..text import visible


def row_name(row: Mapping[str, Any]) -> str:
    """What a row is about: its question, with the arm where there are several."""
    name = str(row.get("qid", row.get("id", row.get("prompt_id", ""))))
    return f"{name} ({row['arm']})" if row.get("arm") else name


def row_passes(row: Mapping[str, Any]) -> bool:
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


def failing_qids(report: Mapping[str, Any] | str | os.PathLike[str]) -> set[str]:
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
    import json  # scoring reads no report

    where = visible(os.fspath(path))
    try:
        with open(path, "rb") as stream:
            value = json.loads(stream.read())
    except FileNotFoundError:
        raise UsageError("no such file", where=where, hint="Check the path.", code="no-file") from None
    except OSError as error:
        raise EnvironmentFailure(f"can't be read: {error.strerror}", where=where, code="unreadable") from None
    except (ValueError, RecursionError):
        raise DataError(
            "is not JSON", where=where, hint="Give the report that --json or -o FILE.json wrote.", code="report-invalid"
        ) from None
    if not isinstance(value, dict) or not isinstance(value.get("shipworthy"), dict) or "digest" not in value:
        raise DataError(
            "is not a report",
            where=where,
            hint="Give the report that --json or -o FILE.json wrote.",
            code="report-invalid",
        )
    return value
