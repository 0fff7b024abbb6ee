"""`shipworthy aa`: two runs of the same pipeline."""

from __future__ import annotations

import os

import click

from ._flags import many, print_json, text
from ._say import say, say_json
from ._target import map_flag


@click.command("aa")
@click.argument("run1")
@click.argument("run2")
@text("--gold", "FILE", "RUN1 and RUN2 are trace files: score both by this gold set.", default="")
@map_flag
@many("--gates", "NAME>=VALUE", "With --gold: gates to decide by. Repeatable.")
@text("--suite", "NAME", "Which suite to compare, if the report has several.", default="")
@print_json
def command(
    run1: str, run2: str, gold: str, mapping: tuple[str, ...], gates: tuple[str, ...], suite: str, as_json: bool
) -> int:
    """How often would the decision flip if the same pipeline ran again?

    RUN1 and RUN2 are reports (JSON) of two runs in which nothing was changed, or trace files with --gold. Every
    question is taken from one of the two runs with equal chance: all mixtures where few questions differ, 10,000 drawn
    ones where many do. The same runs always give the same answer.

    \b
    shipworthy aa monday.json tuesday.json
    shipworthy aa runs/a.jsonl runs/b.jsonl --gold gold.jsonl --gates precision=0.85

    Exits 0: it measures, and decides nothing.
    """
    from ..jobs.power import flips

    found = flips(*(_report(run, gold, mapping, gates, suite) for run in (run1, run2)))
    if as_json:
        import msgspec

        say_json({**msgspec.to_builtins(found, enc_hook=float), "flips": float(found.flips)})
        return 0
    for line in found.lines():
        say(line)
    return 0


def _report(run: str, gold: str, mapping: tuple[str, ...], gates: tuple[str, ...], suite: str) -> dict[str, object]:
    from ..errors import UsageError

    if gold:
        from ..jobs.evaluate import evaluate

        return evaluate("answers", gold=gold, trace=run, map=mapping, gates=list(gates)).report()
    from ..reading.reports import load_report, reports_of

    reports = reports_of(load_report(run))
    named = [one for one in reports if suite in ("", one["shipworthy"].get("suite"))]
    if len(named) != 1:
        names = ", ".join(str(one["shipworthy"].get("suite")) for one in reports)
        raise UsageError("which suite?", where=os.path.basename(run), hint=f"Add --suite: {names}.", code="aa-suite")
    return dict(named[0])
