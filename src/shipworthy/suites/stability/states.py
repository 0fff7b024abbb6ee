"""λ, which way a run points: read from the log, or derived from what the runs of a question cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...cases import Case
from ...contracts import Gold, Place, Trace, ids_of
from .verdict import Run, Verdict


def set_states(verdict: Verdict, case: Case) -> None:
    """The states of the log where every run carries one, else all of them derived by the same rule."""
    runs = verdict.runs
    verdict.lambda_read = bool(runs) and all(run.lambda_state for run in runs)
    if verdict.lambda_read:
        return
    gold = case.gold
    relevant = {*gold.citations, *ids_of(gold.relevant)}
    sections = _sections(case.traces)
    for run in runs:
        run.lambda_state = _state(run, runs, gold, relevant, sections)


def _state(run: Run, runs: Sequence[Run], gold: Gold, relevant: set[str], sections: Mapping[str, str]) -> str:
    if not gold.answerable:
        if run.status == "refused":
            return "→"
        return "×" if all(other.status != "refused" for other in runs) else "<>"
    if run.status != "answered" or not run.citations:
        return "←"
    if _converges(run, gold, relevant, sections):
        return "→"
    return "<>" if any(_converges(other, gold, relevant, sections) for other in runs) else "×"


def _converges(run: Run, gold: Gold, relevant: set[str], sections: Mapping[str, str]) -> bool:
    anchored = gold.anchor_section is not None and any(
        sections.get(name) == gold.anchor_section for name in run.citations
    )
    return run.status == "answered" and (not relevant.isdisjoint(run.citations) or anchored)


def _sections(traces: Sequence[Trace]) -> dict[str, str]:
    """The sections that the citations themselves name."""
    places = (place for trace in traces for place in trace.answer.citations if isinstance(place, Place))
    return {place.id: place.section_id for place in places if place.section_id}
