"""Retrieval: is the shadow index allowed to replace the live one?

G gold places, R_k the first k retrieved blocks; a question's value is the mean over its runs, the suite's the mean
over its questions.
"""

from .facts import ALIASES, facts, gates, metrics, slices
from .hints import diagnose, hardly_any
from .judge import Context, Line, Verdict, judge
from .log import LogLine, Side, group, notice, pair_warnings, side_warnings
from .options import CHOICES, PRESETS, Options, make_options
from .pairs import compare_logs, fallen_slices
from .ranking import Duplicate, Ranked, Wanted, arrange, parse_wanted, spellings, value
from .reference import reference
from .sections import read_sections
from .summary import counts, headline, items, named, offenders, sections

NAME = "retrieval"

__all__ = [
    "ALIASES", "CHOICES", "NAME", "PRESETS", "Context", "Duplicate", "Line", "LogLine", "Options", "Ranked", "Side",
    "Verdict", "Wanted", "arrange", "compare_logs", "counts", "diagnose", "facts", "fallen_slices", "gates", "group",
    "hardly_any", "headline", "items", "judge", "make_options", "metrics", "named", "notice", "offenders",
    "pair_warnings", "parse_wanted", "read_sections", "reference", "sections", "side_warnings", "slices", "spellings", "value",
]  # fmt: skip
