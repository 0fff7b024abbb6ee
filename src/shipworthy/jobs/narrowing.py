"""Narrowing: which questions a check judges, which of them its gates count, and that all suites read the same files."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from ..config import Config, SuiteConfig
from ..core.board import Board
from ..core.options import fields_of
from ..core.policy import quarantine_notes, with_incomplete
from ..core.subset import parse_where
from ..errors import ShipworthyError, UsageError
from ..reading.files import Files, expanded
from ..reading.reports import load_report, reports_of
from ..suites import load_suite, passing_rule
from ..text import visible


def narrowed(suites: list[SuiteConfig], where: tuple[str, ...]) -> list[SuiteConfig]:
    """The suites on the questions that --where chooses; those that read no gold set can't be narrowed."""
    if not where:
        return suites
    parse_where(where)  # a slip is told once, and not as a failure of every suite
    able = [one for one in suites if "where" in fields_of(load_suite(one.name).options) and "gold" in one.inputs]
    if not able:
        raise UsageError("none of the suites takes --where", hint="Leave it out.", code="where-gold")
    return [msgspec.structs.replace(one, options=one.options | {"where": where}) for one in able]


def without_quarantined(suite: SuiteConfig, config: Config, day: datetime.date) -> SuiteConfig:
    qids = tuple(entry.qid for entry in config.quarantine if not entry.expired(day))
    if not qids or "quarantine" not in fields_of(load_suite(suite.name).options) or "gold" not in suite.inputs:
        return suite
    return msgspec.structs.replace(suite, options=suite.options | {"quarantine": qids})


def note_quarantine(board: Board, config: Config, day: datetime.date, complete: bool) -> None:
    """Each quarantine in a note; one of a question that no suite has is a mistake, as with waivers."""
    notes, unknown = quarantine_notes(config.quarantine, board.decisions, day)
    board.notes = [*notes, *board.notes]
    if unknown and complete and len(board.decisions) == len(config.suites):
        what = f"there is no question {visible(unknown[0], 60)!r} to quarantine"
        raise UsageError(what, where="[[quarantine]]", hint="Check the qid, or remove it.", code="quarantine-unknown")


def failing_qids(report: Mapping[str, object] | str | os.PathLike[str]) -> set[str]:
    """The questions to ask again: those that failed in the report, in any suite of a board."""
    found = load_report(report) if isinstance(report, (str, os.PathLike)) else report
    return {
        str(row.get("qid", row.get("id", "")))
        for one in reports_of(found)
        for passes in (passing_rule(one),)
        for row in one.get("items", [])
        if not passes(row)
    } - {""}


def shared_files(suites: Sequence[SuiteConfig]) -> set[str]:
    """The files that several suites read."""
    named = Counter(path for suite in suites for path in set(map(str, suite.inputs.values())))
    found: set[str] = set()
    for path, times in named.items():
        if times > 1:
            with suppress(ShipworthyError):  # the suites say what is wrong with it
                files = expanded(path)
                found.update(files.paths if isinstance(files, Files) else (str(files),))
    return found


def refuse_changed(board: Board) -> None:
    """Suites that read a file too large to share may find it changed in between: then they judge different runs."""
    found: dict[str, set[object]] = {}
    for decision in board.decisions:
        for name, block in decision.inputs.items():
            found.setdefault(decision.run.get(name, ""), set()).add(block["sha256"])
    changed = {path for path, digests in found.items() if path and len(digests) > 1}
    for index, decision in enumerate(board.decisions):
        for name in decision.inputs:
            if decision.run.get(name) in changed:
                what = f"{name} changed while the suites were reading it: run check again when nothing writes to it"
                board.notes.append(f"{decision.suite}: {what}")
                if decision.verdict == "SHIP":
                    board.decisions[index] = with_incomplete(decision, [what])
