"""Feedback as it is read: one answer in the hands of one person, every bad row with its line."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from operator import attrgetter

import msgspec

from ...core.inputs import Input, Records, Stream, numbered_rows
from ...reading.jsonl import Problem

FeedbackSource = str | os.PathLike[str] | Iterable[Mapping[str, object]]
REQUIRED = ("prompt_id", "accepted_without_edits", "action_taken")
FLAGS = ("accepted_without_edits", "action_taken", "edited", "useful")
_YES = (1, "1", "true", "yes", "y")  # 1 equals true
_NO = (0, "0", "false", "no", "n")


class Feedback(msgspec.Struct, frozen=True):
    """What a person did with an answer; None where the row does not say."""

    prompt_id: str
    accepted: bool
    acted: bool
    week: str = ""  # blank where the row has no timestamp
    edited: bool | None = None
    useful: bool | None = None
    model: str | None = None
    preset: str | None = None
    run_id: str | None = None
    event: bytes = (
        b""  # digest of the row where time or run make identical ones the same event; blank: a row of its own
    )


def stream_feedback(source: FeedbackSource, read: Input) -> Stream:
    """The rows of a file or an iterable with their places; all bad rows are raised together at the end."""
    return Stream(source, read, Records(_records, attrgetter("prompt_id")))


def _records(source: FeedbackSource, read: Input) -> Iterator[tuple[int, Feedback]]:
    for number, row in numbered_rows(source, read, "outcomes"):
        read.records += 1
        wrong = _problems(row, read.path, number)
        for problem in wrong:
            read.found.add(problem)
        if not wrong:
            yield number, _feedback(row)


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
    return Feedback(
        prompt_id=str(row["prompt_id"]),
        accepted=bool(_flag(row["accepted_without_edits"])),
        acted=bool(_flag(row["action_taken"])),
        week=_week(row.get("timestamp")),
        edited=_flag(row.get("edited")),
        useful=_flag(row.get("useful")),
        model=_text(row.get("model")),
        preset=_text(row.get("preset")),
        run_id=_text(row.get("run_id")),
        event=_event(row),
    )


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
