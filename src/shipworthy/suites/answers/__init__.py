"""Answers: precision, refusals, citation hit rate, constraints, recall@k.

S shipped, R refused, A answerable, U unanswerable; C contained, H cited (citation hit), K constraints kept.
"""

from .facts import ALIASES, facts, gates, metrics, slices
from .hints import diagnose
from .judge import Expected, Options, Verdict, constraint, contained, expect, hit, judge
from .offenders import SEVERITY, offenders
from .reference import reference
from .summary import COLUMNS, compat, counts, gate_texts, headline, items, named, sections

NAME = "answers"

__all__ = [
    "ALIASES", "COLUMNS", "NAME", "SEVERITY", "Expected", "Options", "Verdict", "compat", "constraint", "contained",
    "counts", "diagnose", "expect", "facts", "gate_texts", "gates", "headline", "hit", "items", "judge", "metrics",
    "named", "offenders", "reference", "sections", "slices",
]  # fmt: skip
