"""`shipworthy baseline`: runs that somebody blessed."""

from __future__ import annotations

import click

from ._flags import print_json, text
from ._say import say, say_json
from .history import URL, open_history


@click.group("baseline")
def command() -> None:
    """Baselines: save one as a file to commit, bless a run by name, or list them."""


@command.command("save")
@click.argument("file", default="baseline.json")
@text("--report", "REPORT", "Take this report (JSON) instead of judging the traces of the config.")
@text("--config", "FILE", "Config file.  [default: shipworthy.toml or pyproject.toml here or above]")
def save_command(file: str, report: str | None, config: str | None) -> int:
    """Judge the traces as `check` does, and write the report to FILE. Commit it: it needs no database.

    \b
    shipworthy check --run
    shipworthy baseline save
    shipworthy check --run --baseline baseline.json
    """
    import msgspec

    from ..config import load_config
    from ..jobs.baselines import save_baseline
    from ..jobs.check import check
    from ..reading.reports import load_report

    if report is None:
        alone = msgspec.structs.replace(load_config(config), baseline="")  # not compared with the one before
        found = check(alone, record=False).report()
    else:
        found = load_report(report)
    for line in save_baseline(file, found):
        say(line)
    return 0


@command.command("bless")
@click.argument("name")
@click.argument("run")
@text("--by", "WHO", "Who sets the baseline.", required=True)
@text("--reason", "WHY", "Why it is good enough to compare with.", required=True)
@URL
def bless_command(name: str, run: str, by: str, reason: str, url: str) -> None:
    """Make RUN (an id, a label, a number or `last`) the baseline NAME of its suite.

    \b
    shipworthy baseline bless main last --by Ada --reason "release 2026.11"
    shipworthy check --baseline main
    """
    from ..history import SHORT

    found = open_history(url).bless(name, run, by=by, reason=reason)
    say(f"{found.name} is now {found.run_id[:SHORT]} for {found.suite}, set by {found.blessed_by}")


@command.command("list")
@URL
@print_json
def list_command(url: str, as_json: bool) -> None:
    """List every baseline, oldest first; the last of each name and suite is in force."""
    import msgspec

    from ..history import SHORT

    found = open_history(url).baselines()
    if as_json:
        return say_json(msgspec.to_builtins(found))
    latest = {(one.name, one.suite): one for one in found}
    for one in found:
        mark = "*" if latest[one.name, one.suite] is one else " "
        say(
            f"{mark} {one.name:<12} {one.suite:<10} {one.run_id[:SHORT]}  {one.blessed_at[:16]}  "
            f"{one.blessed_by}: {one.reason}"
        )
