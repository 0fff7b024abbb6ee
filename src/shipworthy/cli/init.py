"""`shipworthy init`: the files that a new project begins with."""

from __future__ import annotations

import click


@click.command("init")
@click.argument("folder", default=".")
def command(folder: str) -> None:
    """Write shipworthy.toml, eval/ with a starter gold set, and a CI workflow. Nothing that exists is overwritten."""
    from ..config.starter import write_starter
    from ..text import visible

    for path, created in write_starter(folder):
        click.echo(f"{'wrote' if created else 'kept '}  {visible(path)}")
    click.echo("Next: shipworthy check")
