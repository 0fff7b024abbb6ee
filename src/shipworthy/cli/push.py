"""`shipworthy push`: results of a report to the traces of a platform."""

from __future__ import annotations

import click

from ._flags import text
from ._say import say


@click.command("push")
@click.argument("report")
@click.argument("address", metavar="PLATFORM")
@text("--trace", "FILE", "Traces that `shipworthy import` wrote from the platform.", required=True)
@click.option("--deadline", type=click.FloatRange(1), default=600, show_default=True, help="Seconds it may take.")
def command(report: str, address: str, trace: str, deadline: float) -> None:
    """Write the results of a report back to the traces that they are about.

    \b
    shipworthy import phoenix://localhost:6006/default --gold gold.jsonl --out runs/trace.jsonl
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl -o report.json
    shipworthy push report.json phoenix://localhost:6006/default --trace runs/trace.jsonl

    Each trace gets pass or fail with the verdict and the reason: an annotation in Phoenix, an assessment in MLflow, a
    score in Langfuse, feedback in LangSmith. A push that is repeated writes nothing twice. Keys come from the
    platform's own variables.
    """
    from ..importers.platforms import Address
    from ..jobs.push import push
    from ..text import plural

    place = Address.parse(address)
    count = push(report, trace, place, seconds=deadline)
    say(f"wrote {plural(count, 'result')} to {place.kind}")
