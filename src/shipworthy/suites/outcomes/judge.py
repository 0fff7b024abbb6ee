"""The judge of the outcomes suite: its options, feedback as it is read, and what people did with the answers."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from ...core.decision import number
from ...core.evidence import Judged, Order, Row
from ...core.inputs import Input, Records, Stream, numbered_rows
from ...core.join import Case
from ...core.options import Opt
from ...reading.jsonl import Problem
from ..bars import Bar, BarOptions, share

if TYPE_CHECKING:
    from ..guard.results import Report

BARS = {
    "min_samples": Bar("samples", ">=", Fraction(20)),
    "min_accept_rate": Bar("accept_rate", ">=", Fraction(70, 100)),
    "min_action_rate": Bar("action_rate", ">=", Fraction(55, 100)),
    "min_useful_rate": Bar("useful_rate", ">=", Fraction(65, 100)),
}


class Options(BarOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the outcomes suite."""

    BARS = BARS
    min_samples: Annotated[
        int | None, Opt("Fewest rows allowed; identical rows count once.  [default: 20]", least=0, shown=False)
    ] = None
    min_accept_rate: Annotated[
        str | None, share("Lowest share of answers accepted without edits.  [default: 0.70]")
    ] = None
    min_action_rate: Annotated[str | None, share("Lowest share of answers that people acted on.  [default: 0.55]")] = (
        None
    )
    min_useful_rate: Annotated[
        str | None, share("Lowest share of answers called useful.  [default: 0.65, if rows have the field]")
    ] = None
    require_useful: Annotated[bool, Opt("Require the useful rate to have data.", cli=False)] = False


FeedbackSource = str | os.PathLike[str] | Iterable[Mapping[str, object]]
REQUIRED = ("prompt_id", "accepted_without_edits", "action_taken")
FLAGS = ("accepted_without_edits", "action_taken", "edited", "useful")
_YES = (1, "1", "true", "yes", "y")  # 1 equals true
_NO = (0, "0", "false", "no", "n")


class Use(NamedTuple):
    """What a person did with an answer, which is all that counts about it; None where the row does not say."""

    accepted: bool
    acted: bool
    week: str = ""  # blank where the row has no timestamp
    edited: bool | None = None
    useful: bool | None = None
    model: str | None = None
    preset: str | None = None
    score: Fraction | None = None  # of the answer, where a report has one


class Feedback(msgspec.Struct, frozen=True):
    """One row: an answer in the hands of one person."""

    prompt_id: str
    use: Use
    run_id: str | None = None
    # digest of the row where time or run make identical ones the same event; blank: a row of its own
    event: bytes = b""


def stream_feedback(source: FeedbackSource, read: Input) -> Stream:
    """The rows of a file or an iterable with their places; all bad rows are raised together at the end."""
    return Stream(source, read, Records(_records, attrgetter("prompt_id")))


def _records(source: FeedbackSource, read: Input) -> Iterator[tuple[int, Feedback]]:
    for place, row in numbered_rows(source, read, "outcomes"):
        read.records += 1
        wrong = _problems(row, read.path, place)
        for problem in wrong:
            read.found.add(problem)
        if not wrong:
            yield place, _feedback(row)


def _problems(row: Mapping[str, object], path: str, line: int) -> list[Problem]:
    """Everything wrong with one row."""
    wrong = [
        Problem(path, line, f"{name} is missing", "Add it to the row.", "outcome-missing")
        for name in REQUIRED
        if row.get(name) is None
    ]
    if row.get("timestamp") is not None and _moment(row["timestamp"]) is None:
        what = f"timestamp {str(row['timestamp'])[:40]!r} is not a date"
        wrong.append(Problem(path, line, what, "Write ISO 8601, such as 2025-03-11T09:30:00Z.", "outcome-date"))
    if row.get("prompt_id") is not None and (not _is_name(row["prompt_id"]) or not str(row["prompt_id"]).strip()):
        wrong.append(Problem(path, line, "prompt_id is not text", "Write the id of the prompt.", "outcome-field"))
    for name in FLAGS:
        if row.get(name) is not None and _flag(row[name]) is None:
            what = f"{name} is {str(row[name])[:40]!r}, which is neither yes nor no"
            wrong.append(Problem(path, line, what, "Write true or false (or 1/0, yes/no, y/n).", "outcome-flag"))
    return wrong


def _feedback(row: Mapping[str, object]) -> Feedback:
    accepted, acted, edited, useful = (_flag(row.get(name)) for name in FLAGS)
    model, preset = _text(row.get("model")), _text(row.get("preset"))
    use = Use(bool(accepted), bool(acted), _week(row.get("timestamp")), edited, useful, model, preset)
    return Feedback(str(row["prompt_id"]), use, _text(row.get("run_id")), _event(row))


def _event(row: Mapping[str, object]) -> bytes:
    """The same for the same fields, in whatever order they were written; a null is a field that is not there."""
    if row.get("timestamp") is None and _text(row.get("run_id")) is None:
        return b""
    fields = {name: value for name, value in row.items() if value is not None}
    text = json.dumps(fields, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _week(timestamp: object) -> str:
    moment = _moment(timestamp)
    if moment is None:
        return ""
    year, week, _ = moment.isocalendar()
    return f"{year:04d}-W{week:02d}"


def _moment(value: object) -> datetime | None:
    """A date in the zone it was written in, so that its week is the writer's week."""
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError:
        return None


def _flag(value: object) -> bool | None:
    if isinstance(value, str):
        value = value.strip().lower()
    elif not isinstance(value, bool | int | float):
        return None
    return True if value in _YES else False if value in _NO else None


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _is_name(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    scores: dict[str, Fraction] = {}  # of a report's answers, by prompt
    run_id: str | None = None
    joined: bool = False  # whether there is a report to join with


class PromptRow(msgspec.Struct, gc=False):
    """What became of the answers to one prompt, as a report has it."""

    qid: str
    n: int
    accepted: int
    acted: int
    edited: int
    useful: int
    score: float | int | None
    reason: str  # a prompt fails where fewer than half of its answers were accepted


Outline = tuple[tuple[Use, ...], int]  # all that counts about a prompt, and how many rows were there before


def judge(case: Case, context: Context) -> tuple[Judged]:
    """Of prompts whose answers people don't accept, those that are asked most often are the worst."""
    row, outline = judge_prompt(case, context)
    worst = (("", (row.accepted - row.n, row.qid)),) if row.reason else ()
    return (Judged(row, outline, (row.qid,), worst),)


def judge_prompt(case: Case, context: Context) -> tuple[PromptRow, Outline]:
    given: list[Feedback] = case.records["outcomes"]
    rows = {row.event or place: row for place, row in enumerate(given)}.values()
    score, run = context.scores.get(case.key), context.run_id
    # A row is joined with the report by prompt and, where both have one, by run.
    uses = [row.use._replace(score=score) if run is None or row.run_id in (None, run) else row.use for row in rows]
    accepted, acted, edited, useful = (
        sum(bool(getattr(use, name)) for use in uses) for name in ("accepted", "acted", "edited", "useful")
    )
    reason = "unaccepted" if 2 * accepted < len(uses) else ""
    row = PromptRow(case.key, len(uses), accepted, acted, edited, useful, number(score), reason)
    return row, (tuple(uses), len(given) - len(uses))


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    row, _ = judge_prompt(case, context)
    says = f"accepted {row.accepted} of {row.n}, acted on {row.acted}, edited {row.edited}"
    return {"qid": row.qid, "reason": row.reason, "score": row.score, "says": says}


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
