"""`shipworthy check`: every suite of the config, one board, one exit code."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import click

from ..config import load_config
from ..errors import UsageError
from ..jobs.check import check, drive, driving, failing_qids, noise, refuse_incomparable, repeated
from ..jobs.commit import stamp
from ..jobs.record import record_board
from ..report.comment import render
from ._flags import engine_flags, many, output_flags, switch, text, whole
from ._output import finish, show, write_beside
from ._say import say
from ._target import announce, dedupe_flag

_QUOTE_HISTORY = ("json", "html")  # the id under which the run was recorded; the trends


@click.command("check")
@text("--config", "FILE", "Config file.  [default: shipworthy.toml or pyproject.toml here or above]")
@many("--suite suites", "NAME", "Run only this suite. Repeatable.")
@text(
    "--baseline",
    "NAME|FILE.json",
    "Compare with a committed report or a named baseline; a regression is NO-SHIP.",
    default="",
)
@switch("--require-proof --proven", "Fail gates that pass but are not statistically certain.")
@many(
    "--where",
    "FIELD=VALUE",
    "Only the questions with this field, such as tier=smoke; never the whole verdict. Repeatable.",
)
@switch("--run drive_first", "Send the gold questions to the targets of the config first and save the responses.")
@text("--filter-failing", "REPORT", "With --run: send only the questions that failed in this report.")
@whole(
    "--repeat",
    1,
    "With --run: send everything this often, and say how often the same pipeline would decide otherwise.",
    most=20,
    default=1,
)
@switch("--resume", "With --run: go on with what an interrupted run or series has sent.")
@dedupe_flag
@text("--comment", "FILE", "Also write a pull-request comment to this file.")
@click.option("--label", default="", help="Label of this run in the history, such as a build number.")
@switch("--no-record", "Do not record this run in the history.")
@engine_flags
@output_flags
def command(
    config: str | None,
    drive_first: bool,
    filter_failing: str | None,
    repeat: int,
    resume: bool,
    dedupe: bool,
    comment: str | None,
    no_record: bool,
    form: str,
    outputs: tuple[str, ...],
    **how: Any,
) -> int:
    """Run every suite that the config names and decide.

    \b
    shipworthy check
    shipworthy check --baseline main -o report.html -o junit.xml
    shipworthy check --run --baseline baseline.json
    shipworthy check --run --repeat 2
    shipworthy check --run --filter-failing report.json

    Exits 0 on SHIP, 1 on NO-SHIP, 2 when the config or its gates are wrong, 3 when the data can't be judged, 4 when the
    environment failed.
    """
    settings = load_config(config)
    _check_flags(drive_first, filter_failing, repeat, resume)
    failing = failing_qids(filter_failing) if filter_failing else None
    runs = [settings, *(repeated(settings, number) for number in range(2, repeat + 1))]
    chosen, label = {name: how[name] for name in ("suites", "where")}, how["label"]
    with ExitStack() as locks:
        if drive_first:
            refuse_incomparable(settings, baseline=how["baseline"], **chosen)
            for run in runs:
                locks.enter_context(driving(run, how["suites"]))
            moves: list[Callable[[], None]] = []  # of a series after its last run, so that it can go on
            asked = chosen | {"failing": failing, "resume": resume, "dedupe": dedupe, "announce": announce}
            for run in runs:
                for line in drive(run, moves=moves if repeat > 1 else None, **asked):
                    say(line, err=True)
            for move in moves:
                move()
        boards = [check(run, record=False, **how) for run in runs]
    board = boards[0]
    if repeat > 1:
        board.notes += noise(settings, boards)
    stamp(board, settings.folder, label)
    # The verdict is out before anything waits for a lock on history; only what quotes history comes after.
    printed = show(board, form) if form not in _QUOTE_HISTORY else None
    if settings.record and not no_record:
        record_board(board, settings, label)
    printed = show(board, form) if printed is None else printed
    if comment:
        text = render(board, _name_of(settings.path, settings.folder))
        printed &= write_beside(comment, text.encode("utf-8", "backslashreplace"))
    code = finish(board, printed, outputs)
    for warning in board.run.get("warnings", []):
        say(f"shipworthy: {warning}", err=True)
    return code


def _check_flags(drive_first: bool, filter_failing: str | None, repeat: int, resume: bool) -> None:
    if filter_failing and not drive_first:
        raise UsageError(
            "--filter-failing needs --run: it selects the questions to send again",
            hint="Add --run.",
            code="check-filter",
        )
    if repeat > 1 and (filter_failing or not drive_first):
        raise UsageError(
            "--repeat needs --run, and all questions: it compares whole runs",
            hint="Add --run, and leave out --filter-failing.",
            code="check-repeat",
        )
    if resume and not drive_first:
        raise UsageError("--resume needs --run: there is nothing to send", hint="Add --run.", code="check-repeat")


def _name_of(path: str, folder: str) -> str:
    """The config by its place in the repository, which is the same wherever the job runs; else from here."""
    place = os.path.abspath(path or folder)
    above = os.path.dirname(place)
    while above != os.path.dirname(above):
        if os.path.exists(os.path.join(above, ".git")):
            return os.path.relpath(place, above).replace(os.sep, "/")
        above = os.path.dirname(above)
    return os.path.relpath(place).replace(os.sep, "/")
