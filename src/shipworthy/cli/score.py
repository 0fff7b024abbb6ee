"""`shipworthy score`: answers against a gold set."""

from __future__ import annotations

from typing import Any

import click

from ._shared import Numbers, Ticker, deciding_flags, emit, gate_arguments, output_options, profile_flag


@click.command("score", context_settings={"max_content_width": 100})
@click.option("--gold", required=True, metavar="FILE", help="Gold set, JSON lines (.gz and .zst are read as they are).")
@click.option("--trace", required=True, metavar="FILE", help="Traces, JSON lines, one run a line.")
@click.option("--k", type=Numbers(), default=(5,), help="Depth of recall@k: one number or a list.  [default: 5]")
@click.option(
    "--gates",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Bars to clear, such as precision=0.80,chr=0.75,under=0.05,over=0.10 (the defaults). Gates that are not "
    "named keep their default. Also precision[type=table]>=0.75.",
)
@click.option("--scu-enforced", "--scu_enforced", is_flag=True, help="Constraints count: in precision, and as a gate.")
@profile_flag
@click.option(
    "--min-substr",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Shortest gold substring that counts (4 for years).",
)
@click.option(
    "--on-duplicate",
    type=click.Choice(["last", "first", "worst", "error"]),
    default="last",
    show_default=True,
    help="Which of several traces of a question counts.",
)
@click.option("--closed", is_flag=True, help="A trace for a question that the gold set does not have is an error.")
@click.option("--by", multiple=True, metavar="FIELD", help="Also report by a field of the gold item, such as type.")
@click.option(
    "--refusal",
    type=click.Choice(["exact", "natural"]),
    default="exact",
    show_default=True,
    help="What counts as a refusal: the token alone, or natural wordings too.",
)
@click.option("--refusal-phrases", metavar="FILE", help="Further refusal wordings, one a line.")
@click.option("--id-map", metavar="NAMES|FILE", help="How trace ids map to gold ids, such as drop-extension,casefold.")
@click.option(
    "--chunks", metavar="FILE", help="Texts of the chunks (id, text): reports whether citations support claims."
)
@deciding_flags
@output_options
def command(
    gold: str, trace: str, gates: tuple[str, ...], more: tuple[str, ...], refusal: str, refusal_phrases: str | None,
    form: str, outputs: tuple[str, ...], **options: Any,
) -> int:  # fmt: skip
    """Score answers against a gold set and decide.

    \b
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl --k 1,3,5 --gates precision=0.85,recall@5=0.90
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl --json -o verdicts.tsv
    """
    from ..evaluation import evaluate
    from ..refusal import read_phrases

    if refusal_phrases:
        options |= {"refusal": "phrases", "refusal_phrases": read_phrases(refusal_phrases)}
    else:
        options["refusal"] = refusal
    ticker = Ticker.for_people("traces")
    decision = evaluate(gold, trace, gates=gate_arguments(gates, more), tick=ticker, **options)
    if ticker:
        ticker.close()
    return emit(decision, form, outputs)
