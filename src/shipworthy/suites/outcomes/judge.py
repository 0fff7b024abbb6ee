"""The judge of the outcomes suite: what people did with the answers to one prompt, the same event once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from ...core.join import Case
from .options import Options
from .read import Feedback

if TYPE_CHECKING:
    from ..guard.results import Report


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    scores: dict[str, Fraction] = {}  # of a report's answers, by prompt
    run_id: str | None = None
    joined: bool = False  # whether there is a report to join with


class Verdict(msgspec.Struct, frozen=True):
    """What became of the answers to one prompt."""

    prompt_id: str
    rows: Sequence[Feedback]
    scores: Sequence[Fraction | None]  # of the answer that each row is about
    repeated: int  # rows that were there before
    score: Fraction | None

    @property
    def accepted(self) -> int:
        return sum(row.accepted for row in self.rows)

    @property
    def reason(self) -> str:
        """A prompt fails where fewer than half of its answers were accepted."""
        return "unaccepted" if 2 * self.accepted < len(self.rows) else ""


def verdict_on(case: Case, context: Context) -> Verdict:
    given: list[Feedback] = case.records["outcomes"]
    rows = list({row.event or place: row for place, row in enumerate(given)}.values())
    score = context.scores.get(case.key)
    scores = [score if _of_this_run(row, context) else None for row in rows]
    return Verdict(case.key, rows, scores, len(given) - len(rows), score)


def _of_this_run(row: Feedback, context: Context) -> bool:
    """A row is joined with the report by prompt and, where both have one, by run."""
    return context.run_id is None or row.run_id is None or row.run_id == context.run_id


def scores_of(report: Report) -> dict[str, Fraction]:
    given = {str(result.get("id")): result.get("overall_score") for result in report.get("results", ())}
    return {
        name: Fraction(str(score))
        for name, score in given.items()
        if isinstance(score, int | float | Fraction) and not isinstance(score, bool)
    }


def run_id_of(report: Report) -> str | None:
    run = report.get("run")
    value = report.get("run_id", run.get("run_id") if isinstance(run, Mapping) else None)
    return None if value is None else str(value)
