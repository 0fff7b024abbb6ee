"""Baselines: the reports that a check compares with, from a committed file or from history."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..config import Config
from ..core.decision import encode
from ..errors import DataError, UsageError
from ..history import History
from ..reading.files import write_whole
from ..reading.reports import load_report, reports_of
from ..text import plural, visible

Reports = dict[str, Mapping[str, Any]]  # by suite


def is_file(name: str) -> bool:
    """Whether a baseline is a committed report, and not a name in the history."""
    return name.endswith(".json")


def load_baseline(config: Config, name: str, given: bool) -> Reports:
    """The baseline's reports by suite, as they were written. A file of the config is named from its folder."""
    if not is_file(name):
        return dict(History(config.history_url()).baseline(name))
    path = name if given else os.path.join(config.folder, name)
    if not os.path.exists(path):
        raise UsageError(
            "there is no such baseline",
            where=visible(path),
            hint=f"Save one and commit it: shipworthy baseline save {visible(path)}.",
            code="baseline-absent",
        )
    return {str(one["shipworthy"].get("suite")): one for one in reports_of(load_report(path))}


def save_baseline(file: str, found: Mapping[str, Any]) -> list[str]:
    """Write a report that runs can be compared with; what was written, in words."""
    lacking = [str(why) for one in reports_of(found) for why in one.get("incomplete", [])]
    lacking += [f"{name}: {why}" for name, why in found.get("failures", {}).items()]
    if lacking or not reports_of(found):
        raise DataError(
            f"not saved, because the run could not be judged: {lacking[0] if lacking else 'it has no suites'}",
            where=visible(file),
            hint="Make the run complete first: shipworthy check --run.",
            code="baseline-incomplete",
        )
    write_whole(file, encode(_without_run(found)) + b"\n")
    told = [f"{file}: {found['decision']}, {_described(reports_of(found))}"]
    if not found["pass"]:
        told.append("It does not ship by its own gates; `check --baseline` only says whether a run is worse.")
    return [*told, f"Commit it, and compare with: shipworthy check --run --baseline {file}"]


def _described(reports: list[Mapping[str, Any]]) -> str:
    return ", ".join(
        f"{one['shipworthy'].get('suite')} on {plural(len(one.get('items', [])), 'question')}" for one in reports
    )


def _without_run(report: Mapping[str, Any]) -> dict[str, Any]:
    """Without paths, times and host names: no part of the digest, and nothing to commit."""
    bare = {**report, "run": {}}
    if "suites" in bare:
        bare["suites"] = {name: {**one, "run": {}} for name, one in bare["suites"].items()}
    return bare
