"""`shipworthy outcomes`: what people did with the answers."""

from __future__ import annotations

from ._scoring import scoring_command

command = scoring_command(
    "outcomes",
    "outcomes",
    """Acceptance, action and usefulness rates by week, model and preset. Exits 1 when a gate fails.

    \b
    shipworthy outcomes --input outcomes.jsonl
    shipworthy outcomes --input outcomes.jsonl --report report.json -o outcomes.html
    """,
)
