"""`shipworthy outcomes`: what people did with the answers."""

from __future__ import annotations

from typing import Any

import click

from ._shared import emit, gate_arguments, output_options
from ._shares import SHARE


@click.command("outcomes", context_settings={"max_content_width": 100})
@click.option("--input", "path", required=True, metavar="FILE", help="Outcomes, one JSON object a line.")
@click.option("--report", metavar="FILE", help="An evaluation report: does its score foresee what people accept?")
@click.option("--min-samples", type=click.IntRange(0), help="[default: 20]")
@click.option("--min-accept-rate", type=SHARE, help="[default: 0.70]")
@click.option("--min-action-rate", type=SHARE, help="[default: 0.55]")
@click.option("--min-useful-rate", type=SHARE, help="[default: 0.65, where rows say]")
@click.option(
    "--gates",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Bars by name: samples, accept_rate, action_rate, useful_rate, edited_rate, auc; also of a part, such "
    "as accept_rate[model=m1]=0.7.",
)
@click.option("--only-gates", is_flag=True, help="Decide by the gates named here alone.")
@click.option("--offenders", type=click.IntRange(0), default=10, show_default=True, help="How many offenders to show.")
@click.option("--require-proof", "--proven", is_flag=True, help="A gate that is met but not proven does not hold.")
@click.argument("more", nargs=-1, metavar="[NAME=VALUE]...")
@output_options
def command(path: str, gates: tuple[str, ...], more: tuple[str, ...], form: str, outputs: tuple[str, ...],
            **options: Any) -> int:  # fmt: skip
    """Accept, action and useful rates by week, model and preset, against their gates. Exits 1 when a gate fails.

    \b
    shipworthy outcomes --input outcomes.jsonl
    shipworthy outcomes --input outcomes.jsonl --report report.json -o outcomes.html
    """
    from ..scoring.outcomes import evaluate_outcomes

    return emit(evaluate_outcomes(path, gates=gate_arguments(gates, more), **options), form, outputs)
