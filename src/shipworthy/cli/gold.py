"""`shipworthy gold`: look after a gold set."""

from __future__ import annotations

import click

from ._shared import gate_arguments


@click.group("gold")
def command() -> None:
    """Look after a gold set: what it can't show, and whether it changed."""


@command.command("lint")
@click.argument("gold", metavar="FILE")
@click.option("--gates", multiple=True, metavar="NAME=VALUE,…", help="The gates that it should be able to prove.")
@click.option("--min-substr", type=click.IntRange(1), default=5, show_default=True, help="As for `score`.")
@click.option("--chunks", metavar="FILE", help="Chunk file: cited ids must be in it.")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def lint_command(gold: str, gates: tuple[str, ...], min_substr: int, chunks: str | None, strict: bool, as_json: bool) -> int:
    """Say what can never pass, what always passes, and which gates this set is too small to prove.

    Exits 1 when there are errors (with --strict, warnings too), else 0.
    """
    import sys

    import msgspec

    from ..decision import encode
    from ..goldset import lint
    from ..text import plural, visible

    findings = lint(gold, gates=gate_arguments(gates, ()), min_substr=min_substr, chunks=chunks)
    errors = sum(1 for finding in findings if finding.severity == "error")
    if as_json:
        sys.stdout.buffer.write(encode(msgspec.to_builtins(findings)) + b"\n")
    else:
        for finding in findings:
            click.echo(f"{finding.severity}: {visible(str(finding))}")
        click.echo(f"{plural(errors, 'error')}, {plural(len(findings) - errors, 'warning')}")
    return 1 if errors or (strict and findings) else 0
