"""λ, which way a run points, by the retrieval suite's rule: read from the log, or derived from what the runs cite."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...contracts import Gold, Place, Trace, ids_of
from ..retrieval import lambda_states
from ..retrieval.sections import inside, parse_section, section_of
from .verdict import Run, Verdict

if TYPE_CHECKING:
    from ...idscheme import IdMap


def arrived(gold: Gold, trace: Trace, cited: Iterable[str], id_map: IdMap | None) -> bool:
    """Whether a run cites something relevant, or a place within the anchor section."""
    relevant = [*gold.citations, *ids_of(gold.relevant)]
    if not set(cited).isdisjoint(relevant if id_map is None else map(id_map.gold, relevant)):
        return True
    return gold.anchor_section is not None and _within(trace, gold.anchor_section)


def _within(trace: Trace, anchor: str) -> bool:
    places = (Place(id=place) if isinstance(place, str) else place for place in trace.answer.citations)
    found = (section_of(place.id, place.section_id, {}) for place in places)
    return any(section is not None and inside(section, parse_section(anchor)) for section in found)


def set_states(verdict: Verdict) -> None:
    known = [_pointed(run, verdict.answerable) for run in verdict.runs]
    for run, (state, _) in zip(verdict.runs, lambda_states.states(known, verdict.answerable), strict=True):
        run.lambda_state = state


def _pointed(run: Run, answerable: bool) -> lambda_states.Run:
    """An answer without citations leads nowhere; where there is nothing to cite, only a refusal is one."""
    refused = run.status == "refused" or (answerable and not run.citations)
    return lambda_states.Run("", "", run.logged, run.status == "error", refused, run.arrived, None)
