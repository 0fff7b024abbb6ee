"""Sides: questions that only one validator labelled, or that lack their trace; by name, and in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...core.gates import Outcome
from ...core.suite import Findings
from ...text import first_few, plural
from .judge import Context, Verdict

_WORDS = {
    "scholar_only": "only the scholar labelled",
    "auditor_only": "only the auditor labelled",
    "gold_only": "no trace for",
    "without_trace": "no trace for",
}


def sees(verdict: Verdict, context: Context) -> Iterator[tuple[str, Iterable[str]]]:
    if verdict.lacks:
        yield verdict.lacks, (verdict.qid,)


def one_sided(findings: Findings) -> dict[str, list[str]]:
    """What each kind of gap is about, and the traces beyond the gold set."""
    seen = findings.evidence.seen
    gaps = {name: sorted(seen[name]) for name in _WORDS if name in seen}
    return gaps | {"trace_only": sorted(findings.gathered.unknown_counts("trace"))}


def incomplete(findings: Findings) -> list[str]:
    """Pairs that lack a side can't agree or disagree; traces beyond the gold set are only remarked on.

    Gold items without a trace are left out: core says of every suite which questions could not be judged.
    """
    return [
        f"{_WORDS[name]} {plural(len(qids), 'question')}: {first_few(qids)}"
        for name, qids in one_sided(findings).items()
        if name in _WORDS and name != "gold_only"
    ]


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    return findings.outcomes, incomplete(findings)
