"""λ, which way a run points, by the retrieval suite's rule: read from the log, or derived from what the runs cite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...core.contracts import Place, Trace
from ..retrieval.places import Section, StatedRun, inside, section_of
from ..retrieval.places import states as states_of
from .verdict import ExpectedRuns, RunFacts


def arrived(question: ExpectedRuns, trace: Trace, cited: Iterable[str]) -> bool:
    """Whether a run cites something relevant, or a place within the anchor section."""
    if not question.relevant.isdisjoint(cited):
        return True
    return question.anchor is not None and _within(trace, question.anchor)


def _within(trace: Trace, anchor: Section) -> bool:
    places = (Place(id=place) if isinstance(place, str) else place for place in trace.answer.citations)
    sections = (section_of(place.id, place.section_id, {}) for place in places)
    return any(section is not None and inside(section, anchor) for section in sections)


def states(runs: Sequence[RunFacts], answerable: bool) -> list[str]:
    """The state of each run, given all the runs of its question."""
    pointed = [_pointed(run, answerable) for run in runs]
    return [state for state, _ in states_of(pointed, answerable)]


def _pointed(run: RunFacts, answerable: bool) -> StatedRun:
    """An answer without citations leads nowhere; where there is nothing to cite, only a refusal is one."""
    refused = run.status == "refused" or (answerable and not run.citations)
    return StatedRun("", "", run.logged, run.status == "error", refused, run.arrived, None)
