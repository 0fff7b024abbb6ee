"""Agreement: do two validators say the same about an answer, and what becomes of it?"""

from .facts import ALIASES, facts, gates, metrics, slices, table
from .judge import Options, Verdict, arbitrate, derive, judge
from .pairs import LABELS, Flags, Judgement, OneSided, Pair, merged, pair_from
from .reference import arbitration, reference
from .summary import (
    COLUMNS,
    compat,
    diagnose,
    disagreements,
    gate_numbers,
    headline,
    items,
    named,
    offenders,
    sections,
)

NAME = "agreement"

__all__ = [
    "ALIASES", "COLUMNS", "LABELS", "NAME", "Flags", "Judgement", "OneSided", "Options", "Pair", "Verdict", "arbitrate",
    "arbitration", "compat", "derive", "diagnose", "disagreements", "facts", "gate_numbers", "gates", "headline", "items",
    "judge", "merged", "metrics", "named", "offenders", "pair_from", "reference", "sections", "slices", "table",
]  # fmt: skip
