"""Raters: do any number of people give the same labels to the same items, beyond chance?"""

from .facts import ALIASES, FEW_RATERS, facts, metrics, slices, table
from .judge import Item, Options, Rating, Verdict, judge
from .summary import counts, diagnose, headline, items, named, offenders, sections

NAME = "raters"

__all__ = [
    "ALIASES", "FEW_RATERS", "NAME", "Item", "Options", "Rating", "Verdict", "counts", "diagnose", "facts", "headline",
    "items", "judge", "metrics", "named", "offenders", "sections", "slices", "table",
]  # fmt: skip
