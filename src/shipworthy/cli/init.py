"""`shipworthy init`: the files that a new project begins with."""

from __future__ import annotations

import click


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
    from ..text import visible

    for path, created in write_starter(folder):
        click.echo(f"{'wrote' if created else 'kept '}  {visible(path)}")
    click.echo("Next: shipworthy check   (the starter set ships; change a claim in eval/trace.jsonl and see NO-SHIP)")
    click.echo("Then: put your questions into eval/gold.jsonl, and what your pipeline answers into eval/trace.jsonl;")
    click.echo("      or name a target in shipworthy.toml and let `shipworthy check --run` ask it.")
