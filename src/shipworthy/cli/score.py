"""`shipworthy score`: answers against a gold set."""

from __future__ import annotations

from ._scoring import scoring_command

command = scoring_command(
    "answers",
    "score",
    """Score answers against a gold set and decide.

    \b
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl --k 1,3,5 --gates precision=0.85,recall@5=0.90
    shipworthy score --gold gold.jsonl --trace runs/trace.jsonl --json -o verdicts.tsv
    """,
)
