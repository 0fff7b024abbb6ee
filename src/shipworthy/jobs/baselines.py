"""Baselines: the reports that a check compares with, from a committed file or from history; and what comes of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..config import Config
from ..core.board import Board
from ..core.decision import Decision, encode
from ..core.decision import report as report_of
from ..core.policy import with_incomplete, with_regressions
from ..errors import DataError, UsageError
from ..history import History, exact_value
from ..reading.files import write_whole
from ..reading.reports import is_edited, load_report, passing, reports_of
from ..suites import passing_rule
from ..text import first_few, plural, visible
from .compare import Comparison, compare_reports, incomparable, sentence, worse_than

_DIFFER = "not compared with the baseline"

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


def baseline_values(base: Mapping[str, Any], decision: Decision) -> dict[str, Fraction] | None:
    """The baseline's value for each gate; None where it was made on other terms."""
    head = report_of(decision)
    if is_edited(base) or set(incomparable(base, head)) - {"gates"}:
        return None
    found = {}
    for outcome in decision.outcomes:
        gate = outcome.gate
        measures = base.get("slices", {}).get(gate.slice, {}) if gate.slice else base["metrics"]
        value = exact_value(measures.get(gate.metric, {}))
        if value is not None:
            found[gate.key] = value
    return found


def against_baseline(board: Board, index: int, name: str, base: Mapping[str, Any] | None, config: Config) -> list[str]:
    """What changed since the baseline; a regression of a gated metric, or a lost case, stops the ship."""
    decision = board.decisions[index]
    head = report_of(decision)
    if what := why_not_compared(name, base, head, decision):
        shared = _shared_items(base, head) if base and _DIFFER in what else []
        if config.on_incomparable == "warn":
            shared.insert(0, what)
        else:  # one that was asked for and can't be compared with decides nothing
            board.decisions[index] = with_incomplete(decision, [what])
        return [f"{decision.suite}: {note}" for note in shared]
    assert base is not None
    found = compare_reports({**base, "outcomes": head["outcomes"]}, head, _gated(decision))
    board.changes[decision.suite] = {"lost": found.lost, "gained": found.gained}
    reasons = _regressions(found, name)
    if reasons and config.on_regression == "block":
        board.decisions[index] = with_regressions(decision, reasons)
        reasons = []  # said there
    quiet = [change for change in found.changes if change.answer != "regressed" and change.worse]
    notes = [*reasons, *(f"{sentence(change)} against the baseline {name}" for change in quiet), *found.notes]
    return [f"{decision.suite}: {note}" for note in notes]


def why_not_compared(name: str, base: Mapping[str, Any] | None, head: Mapping[str, Any], decision: Decision) -> str:
    """Why a run, or one without traces yet, can't be compared with the baseline; nothing where it can."""
    if base is None:
        return f"the baseline {name} has no run of this suite"
    if is_edited(base):
        return f"the report of the baseline {name} was edited"
    if differences := [one for one in incomparable(base, head) if one != "gates"]:
        return f"{_DIFFER} {name}, because the {' and '.join(differences)} differ"
    if lacking := sorted({metric for metric in _gated(decision) if metric not in base["metrics"]}):
        return f"the baseline {name} has no {', '.join(lacking)}, which a gate of this run needs"
    return ""


def _gated(decision: Decision) -> list[str]:
    return [
        outcome.gate.metric for outcome in decision.outcomes if outcome.gate.severity == "block" and not outcome.waived
    ]


def renewal(name: str) -> str:
    if not is_file(name):
        return f"check --run, then shipworthy baseline bless {visible(name, 60)} last --by WHO --reason WHY"
    return f"check --run, then shipworthy baseline save {visible(name, 60)}"


def _shared_items(base: Mapping[str, object], head: Mapping[str, object]) -> list[str]:
    """What became of the items that both sides have."""
    before, after = passing(base, passing_rule(base)), passing(head, passing_rule(head))
    both = sorted(name for name in before if name in after)
    lost = [name for name in both if before[name] and not after[name]]
    gained = [name for name in both if after[name] and not before[name]]
    words = (("lost", lost), ("gained", gained))
    changes = "; ".join(f"{kind}: {first_few(names)}" for kind, names in words if names) or "none changed"
    return [f"of {plural(len(both), 'item')} that both have, {changes}"] if both else []


def _regressions(found: Comparison, name: str) -> list[str]:
    regressed = (change for change in found.changes if change.answer == "regressed")
    reasons = worse_than(regressed, name, found.suite)
    if found.absent:
        named = ", ".join(found.absent[:10]) + (" …" if len(found.absent) > 10 else "")
        reasons.append(f"{plural(len(found.absent), 'case')} of the baseline {name} missing from this run: {named}")
    return reasons
