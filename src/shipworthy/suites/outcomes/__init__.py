"""Outcomes: what people did with the answers, week by week, and whether the score foresaw it."""

from .facts import ALIASES, BARS, facts, gates, metrics, slices
from .read import Outcome, OutcomeSource, Rows, read_outcomes
from .summary import calibration, diagnose, headline, items, offenders, sections, trend

NAME = "outcomes"

__all__ = [
    "ALIASES", "BARS", "NAME", "Outcome", "OutcomeSource", "Rows", "calibration", "diagnose", "facts", "gates", "headline",
    "items", "metrics", "offenders", "read_outcomes", "sections", "slices", "trend",
]  # fmt: skip
