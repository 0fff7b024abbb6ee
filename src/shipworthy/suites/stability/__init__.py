"""Stability: do seeds and harmless rewording change the answer?

One verdict is about one question and all its runs. C contained, H cited (citation hit), K constraints kept.
"""

from .facts import ALIASES, bar_metrics, default_bars, facts, gates, metrics, slices
from .grid import Cell, cell_of, holes, in_grid, one_arm, one_sweep, settled
from .hints import diagnose, reasons
from .judge import judge
from .reference import DEFAULT_GATES, reference
from .sensitivity import sensitivity
from .spread import citation_overlap, distance_and_agreement
from .summary import compat, counts, headline, items, named, offenders, sections
from .verdict import BARS, Flip, Options, Run, Verdict

NAME = "stability"

__all__ = [
    "ALIASES", "BARS", "DEFAULT_GATES", "NAME", "Cell", "Flip", "Options", "Run", "Verdict", "bar_metrics", "cell_of", "citation_overlap",
    "compat", "counts", "default_bars", "diagnose", "distance_and_agreement", "facts", "gates", "headline", "holes",
    "in_grid", "items", "judge", "metrics", "named", "offenders", "one_arm", "one_sweep", "reasons", "reference",
    "sections", "sensitivity", "settled", "slices",
]  # fmt: skip
