"""`shipworthy init`: the files that a new project begins with."""

from __future__ import annotations

import click

from ._say import say


@click.command("init")
@click.argument("folder", default=".")
def command(folder: str) -> None:
    """Write shipworthy.toml, eval/ with a starter gold set and traces, and a CI workflow. Nothing that exists is
    overwritten.

    \b
    shipworthy init
    shipworthy check
    """
    from ..config.starter import write_starter

    for path, created in write_starter(folder):
        say(f"{'wrote' if created else 'kept '}  {path}")
    say("Next: shipworthy check   (the starter set ships; change a claim in eval/trace.jsonl and see NO-SHIP)")
    say("Then: put your questions into eval/gold.jsonl, and what your pipeline answers into eval/trace.jsonl;")
    say("      or name a target in shipworthy.toml and let `shipworthy check --run` ask it.")
