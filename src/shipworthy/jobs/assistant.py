"""Assistant: what a coding assistant may ask of a project. It reads, and only below the project's folder.

Running the pipeline, code of the project, addresses in the network: only where the one who started it allowed it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir
from typing import Any

from ..config import HISTORY, Config, find_config, load_config
from ..core.board import Board
from ..core.custom import runs_code
from ..core.decision import Decision
from ..core.gates import sentence, state_in_words
from ..errors import ShipworthyError, UsageError
from ..history import History
from ..history.items import as_json
from ..reading.reports import check_report, load_report, reports_of, row_name
from ..suites import passing_rule
from ..suites.answers.lint import lint
from ..text import visible
from .check import check, drive, driving
from .compare import compare, comparison_dict
from .explain import explain, newest_report

MOST = 50  # items in one answer
LONGEST = 600  # characters of one text
_ALLOW = "Start the server with --allow-run."


class Project:
    """One folder, and what may be done in it."""

    def __init__(self, folder: str | os.PathLike[str] = ".", *, allow_run: bool = False) -> None:
        self.folder, self.allow_run = os.path.realpath(folder), allow_run

    # --- what is asked ---

    def check(self, suites: Iterable[str] = (), where: Iterable[str] = (), run: bool = False) -> dict[str, Any]:
        """The verdict of the config's suites, with gates and failing questions; `run` asks the pipeline first."""
        board = self._board(suites, where, run)
        return {
            "verdict": board.verdict,
            "exit_code": board.exit_code,
            "suites": [_summary(decision) for decision in board.decisions],
            "not_run": {name: visible(why, LONGEST) for name, why in board.failures.items()},
            "notes": [visible(note, LONGEST) for note in board.notes],
        }

    def failing_questions(self, suite: str = "", limit: int = 20, report: str = "") -> dict[str, Any]:
        """The questions that fail, the worst first, with what was asked, answered and expected."""
        if report:
            chosen = self._report(report)
            found = {
                one["shipworthy"]["suite"]: list(_failing(one))
                for one in reports_of(chosen)
                if suite in ("", one["shipworthy"].get("suite"))
            }
        else:
            board = self._board([suite] if suite else [], (), False)
            found = {decision.suite: decision.failures for decision in board.decisions}
        few = max(1, min(limit, MOST))
        return {
            name: {"failing": len(rows), "worst": [_short(row) for row in rows[:few]]} for name, rows in found.items()
        }

    def explain(self, name: str, report: str = "") -> str:
        """A metric, a reason, an error code, or one question of a report: the newest one, unless it is named."""
        with chdir(self.folder):  # for what looks around in it
            path = self.path(report) if report else newest_report()
            found = self._report(path) if path else None
            return "\n".join(explain(name, last=(lambda: (found, float("inf"))) if found is not None else None))

    def compare(self, base: str, head: str, suite: str = "", gold: str = "") -> dict[str, Any]:
        """Two reports of the project, or two files of traces with `gold`: what changed, and could it be chance."""
        if gold:
            sides: list[Any] = [self.path(base), self.path(head)]
            return comparison_dict(compare(*sides, gold=self.path(gold), rescore=False))
        sides = [self._side(name, suite) for name in (base, head)]
        return comparison_dict(compare(*sides, rescore=False))

    def item_history(self, qid: str, suite: str = "", limit: int = 30) -> list[dict[str, Any]]:
        """One question over the recorded runs: since when it fails, at which commit, what it answered."""
        return [as_json(one) for one in self._history().item(qid, suite=suite, limit=max(1, min(limit, 200)))]

    def lint_gold(self, gold: str = "") -> list[dict[str, str]]:
        """What in a gold set can never pass, always passes, or is written wrong; every set of the config by default."""
        paths = (
            [gold] if gold else sorted({one.inputs["gold"] for one in self._config().suites if "gold" in one.inputs})
        )
        if not paths:
            raise UsageError("the config names no gold set", hint="Name a file.", code="assistant")
        return [
            {"severity": one.severity, "code": one.code, "where": os.path.basename(one.where), "qid": one.qid}
            | {"says": visible(one.says, LONGEST)}
            for path in paths
            for one in lint(self.path(path))
        ]

    # --- what may be opened ---

    def path(self, name: str) -> str:
        """A file of the project; anything else is refused, also where a link leads out of it."""
        if "://" in name:
            raise UsageError(
                "is an address, not a file of the project", where=visible(name, 80), code="assistant-outside"
            )
        whole = os.path.realpath(os.path.join(self.folder, name))
        if os.path.commonpath([whole, self.folder]) != self.folder:
            hint = "Only files below the project's folder are read."
            raise UsageError("is outside of the project", where=visible(name, 80), hint=hint, code="assistant-outside")
        return whole

    def _config(self) -> Config:
        """The config of the project, if all that it names may be opened."""
        found = find_config(self.folder)
        if found is None or os.path.commonpath([os.path.realpath(found), self.folder]) != self.folder:
            hint = "shipworthy init writes one."
            raise UsageError("the project has no config", where=self.folder, hint=hint, code="assistant")
        settings = load_config(found)
        if self.allow_run:
            return settings
        for suite in settings.suites:
            for name in (*suite.inputs.values(), *_paths_in(suite.options)):
                if "://" in name or os.path.isabs(name) or os.path.exists(os.path.join(settings.folder, name)):
                    self.path(os.path.join(settings.folder, name) if "://" not in name else name)
            if runs_code(suite.options.get("custom_metrics")):
                what = f"{suite.name} has metrics that are code of the project"
                raise UsageError(what, hint=_ALLOW, code="assistant-run")
        if settings.baseline:
            self.path(os.path.join(settings.folder, settings.baseline))
        return settings

    def _board(self, suites: Iterable[str], where: Iterable[str], run: bool) -> Board:
        if run and not self.allow_run:
            raise UsageError("the pipeline may not be run from here", hint=_ALLOW, code="assistant-run")
        settings = self._config()
        with chdir(self.folder):  # for what looks around in it
            if run:
                with driving(settings, tuple(suites)):
                    drive(settings, suites=tuple(suites), where=tuple(where))
            return check(settings, suites=tuple(suites), where=tuple(where), record=False, engine="memory")

    def _history(self) -> History:
        found = find_config(self.folder)
        url = load_config(found).history_url() if found else os.path.join(self.folder, HISTORY)
        return History(url if self.allow_run else self.path(url))

    def _side(self, name: str, suite: str) -> Mapping[str, Any]:
        there = os.path.exists(os.path.join(self.folder, name))
        report = self._report(name) if there else check_report(self._history().report(name), name)
        if "suites" not in report:
            return report
        chosen = suite or next(iter(report["suites"]))
        if chosen not in report["suites"] or (not suite and len(report["suites"]) > 1):
            hint = f"Name one with suite: {', '.join(report['suites'])}."
            raise UsageError("is a board of several suites", where=visible(name, 80), hint=hint, code="assistant")
        return report["suites"][chosen]  # type: ignore[no-any-return]

    def _report(self, name: str) -> dict[str, Any]:
        """A report, without the paths in it that lead out of the project."""
        report = load_report(self.path(name))
        for one in reports_of(report):
            run = one.get("run", {})
            for holder in (run, (run.get("call") or {}).get("inputs") or {}):
                for key in [key for key, value in holder.items() if isinstance(value, str) and not self._is_own(value)]:
                    del holder[key]
        return report

    def _is_own(self, name: str) -> bool:
        try:
            self.path(name)
        except ShipworthyError:
            return False
        return True


def _paths_in(options: Mapping[str, Any]) -> Iterator[str]:
    """Every text among the options, since any of them may be a path or an address."""
    for value in options.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _paths_in(value)
        elif isinstance(value, (list, tuple)):
            yield from (one for one in value if isinstance(one, str))


def _summary(decision: Decision) -> dict[str, Any]:
    failing = [row_name(row) for row in decision.failures]
    return {
        "suite": decision.suite,
        "verdict": decision.verdict,
        "reasons": [visible(reason, LONGEST) for reason in decision.reasons],
        "gates": [
            {"gate": str(outcome.gate), "holds": outcome.holds, "finding": sentence(outcome)}
            | {"measured": str(outcome.measure), "state": state_in_words(outcome)}
            for outcome in decision.outcomes
        ],
        "failing": len(failing),
        "failing_questions": failing[:MOST],
        "where_to_look": [visible(line, LONGEST) for line in decision.diagnosis],
    }


def _failing(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    passes, cards = passing_rule(report), {row_name(card): card for card in report.get("offenders", [])}
    for row in report.get("items", []):
        if not passes(row):
            yield {**row, **cards.get(row_name(row), {})}


def _short(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without what is empty, and with texts that fit into a conversation."""
    return {
        name: visible(value, LONGEST) if isinstance(value, str) else value[:10] if isinstance(value, list) else value
        for name, value in row.items()
        if value not in (None, "", [], {})
    }
