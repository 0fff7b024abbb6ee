"""`shipworthy baseline`: runs that somebody blessed."""

from __future__ import annotations

import click

from ._say import say, say_json
from .history import URL, opened_history


@click.group("baseline", context_settings={"max_content_width": 100})
def command() -> None:
    """Named baselines: bless a run, or list them."""


@command.command("bless")
@click.argument("name")
@click.argument("run")
@click.option("--by", required=True, metavar="WHO", help="Who sets the baseline.")
@click.option("--reason", required=True, metavar="WHY", help="Why it is good enough to compare with.")
@URL
def bless_command(name: str, run: str, by: str, reason: str, url: str) -> None:
    """Make RUN (an id, a label, a number or `last`) the baseline NAME of its suite.

    \b
    shipworthy baseline bless main last --by Ada --reason "release 2026.11"
    shipworthy check --baseline main
    """
    from ..history import SHORT

    found = opened_history(url).bless(name, run, by=by, reason=reason)
    say(f"{found.name} is now {found.run_id[:SHORT]} for {found.suite}, set by {found.blessed_by}")


@command.command("list")
@URL
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(url: str, as_json: bool) -> None:
    """List every baseline, oldest first; the last of each name and suite is in force."""
    import msgspec

    from ..history import SHORT

    found = opened_history(url).baselines()
    if as_json:
        return say_json(msgspec.to_builtins(found))
    latest = {(one.name, one.suite): one for one in found}
    for one in found:
        mark = "*" if latest[one.name, one.suite] is one else " "
        say(
            f"{mark} {one.name:<12} {one.suite:<10} {one.run_id[:SHORT]}  {one.blessed_at[:16]}  "
            f"{one.blessed_by}: {one.reason}"
        )
