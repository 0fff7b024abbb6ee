"""`shipworthy agreement`: do two validators, or any number of raters, say the same?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from ._shared import deciding_flags, emit, gate_arguments, output_options, profile_flag, proving_flags


@click.group("agreement", context_settings={"max_content_width": 100})
def command() -> None:
    """Do two validators, or any number of raters, agree beyond chance?"""


@command.command("score", context_settings={"max_content_width": 100})
@click.option("--pairs", metavar="FILE", help="Answers with both labels, JSON lines.")
@click.option("--scholar", metavar="FILE", help="The scholar's labels, JSON lines (qid, label, reason).")
@click.option("--auditor", metavar="FILE", help="The auditor's labels, likewise; both are joined on qid.")
@click.option("--trace", metavar="FILE", help="Traces: the answers behind two files, or what labels are derived from.")
@click.option("--gold", metavar="FILE", help="Gold set: with --trace, both labels are derived by rule.")
@click.option("--pa-gate", "--pa_gate", metavar="SHARE", help="Least share of equal labels.  [default: 0.90]")
@click.option("--kappa-gate", "--kappa_gate", metavar="NUMBER", help="Least kappa.  [default: 0.75]")
@click.option("--abstain-gate", "--abstain_gate", metavar="SHARE", help="Most abstentions of either.  [default: 0.02]")
@click.option(
    "--gates",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Bars by name: percent_agreement, kappa, ac1, abstain_rate, flagged_agreements, review_rate.",
)
@click.option(
    "--disagreements",
    "--tsv",
    "apart",
    metavar="FILE",
    help="Write the disagreements as TSV (qid, scholar, auditor, final, why); rewritten even when there are none.",
)
@profile_flag
@click.option(
    "--min-substr",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Shortest gold substring that counts, for derived labels.",
)
@deciding_flags
@output_options
def score(pa_gate: str | None, kappa_gate: str | None, abstain_gate: str | None, gates: tuple[str, ...], apart: str | None,
          more: tuple[str, ...], form: str, outputs: tuple[str, ...], **given: Any) -> int:  # fmt: skip
    """Score the labels of two validators and decide.

    \b
    shipworthy agreement score --pairs eval/consistency_pairs.jsonl
    shipworthy agreement score --scholar scholar.jsonl --auditor auditor.jsonl --trace runs/trace.jsonl
    shipworthy agreement score --gold gold.jsonl --trace runs/trace.jsonl
    """
    from ..scoring.agreement import evaluate_agreement

    short = {"percent_agreement": pa_gate, "kappa": kappa_gate, "abstain_rate": abstain_gate}
    wanted = [f"{name}={value}" for name, value in short.items() if value is not None]
    decision = evaluate_agreement(gates=wanted + gate_arguments(gates, more), **given)
    if apart:
        _write(apart, decision.items)
    return emit(decision, form, outputs)


@command.command("raters", context_settings={"max_content_width": 100})
@click.option("--ratings", required=True, metavar="FILE", help="One rating a line, JSON lines (qid, rater, label).")
@click.option("--labels", metavar="LABEL,…", help="All labels, in their order.  [default: those that occur]")
@click.option(
    "--weights",
    type=click.Choice(["linear", "quadratic"]),
    help="Cohen's kappa by how far two labels are apart in their order.  [default: any two are as far]",
)
@click.option(
    "--gates",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Bars by name: alpha, kappa, fleiss_kappa, free_marginal, percent_agreement.  [default: none, only measure]",
)
@proving_flags
@output_options
def raters(ratings: str, gates: tuple[str, ...], more: tuple[str, ...], form: str, outputs: tuple[str, ...],
           **given: Any) -> int:  # fmt: skip
    """Measure how well any number of raters agree, ratings missing or not; with gates, decide.

    \b
    shipworthy agreement raters --ratings ratings.jsonl
    shipworthy agreement raters --ratings ratings.jsonl --weights quadratic --labels 1,2,3,4,5
    shipworthy agreement raters --ratings ratings.jsonl --gates alpha=0.67 --require-proof
    """
    from ..scoring.raters import evaluate_raters

    return emit(evaluate_raters(ratings, gates=gate_arguments(gates, more), **given), form, outputs)


def _write(path: str, items: Iterable[dict[str, Any]]) -> None:
    from .. import report
    from ..report.tsv import cell
    from ..suites.agreement import COLUMNS, disagreements

    rows: list[list[Any]] = [list(COLUMNS), *([item[name] for name in COLUMNS] for item in disagreements(items))]
    report.write(path, "".join("\t".join(map(cell, row)) + "\n" for row in rows).encode("utf-8", "backslashreplace"))
