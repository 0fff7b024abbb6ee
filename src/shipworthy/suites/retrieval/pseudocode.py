"""What the original pseudocode counts for one question, from its last run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from ... import stats
from ...core.contracts import Gold
from ...core.tally import Fact
from . import citations
from .log import LogLine
from .matching import prepare
from .options import Choices

DISTANCES = (("delta_s_median", 50), ("delta_s_p90", 90))


def facts_of(gold: Gold, line: LogLine | None, choices: Choices, sections: Mapping[str, str]) -> Iterator[Fact]:
    """What the pseudocode counts for one item, from its last run."""
    yield "items"
    for k in choices.k:
        hits, returned, wanted = _hits(gold, line, k)
        yield f"precision@{k}", Fraction(hits, max(1, returned))
        yield f"recall@{k}", Fraction(hits, max(1, wanted))
    places, cited = prepare(gold, choices, {}), line.cited[:1] if line else []
    if citations.covers_gold(places, cited, choices, sections, {}):
        yield "coverage"
    if citations.accurate(places, cited, choices, sections):
        yield "citation_accuracy"
    if line and line.delta_s:
        distances = sorted(Fraction(str(distance)) for distance in line.delta_s[: choices.canary_k])
        for name, p in DISTANCES:
            value = stats.percentile(distances, p)
            assert value is not None
            yield name, value
    if line and line.lambda_state is not None:
        yield "logged_states"
        if line.lambda_state == "→":
            yield "lambda_convergent"


def _hits(gold: Gold, line: LogLine | None, k: int) -> tuple[int, int, int]:
    wanted = {place if isinstance(place, str) else place.id for place in gold.relevant} or set(gold.citations)
    retrieved = [block.id for block in line.blocks[:k]] if line else []
    return len(wanted & set(retrieved)), len(retrieved), len(wanted)
