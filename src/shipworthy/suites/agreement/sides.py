"""Sides: questions that only one validator labelled, or that lack their trace; by name, and in sentences."""

from __future__ import annotations

from ...core.gates import Outcome
from ...core.suite import Findings
from ...text import first_few, plural

_WORDS = {
    "scholar_only": "only the scholar labelled",
    "auditor_only": "only the auditor labelled",
    "gold_only": "no trace for",
    "without_trace": "no trace for",
}


PART = "sides"  # the part of the evidence that counts gaps


def one_sided(findings: Findings) -> dict[str, list[str]]:
    """What each kind of gap is about, and the traces beyond the gold set; the first names of each."""
    gaps = findings.evidence.part(PART)
    named = {name: gaps.named(name) for name in _WORDS if gaps[name]}
    return named | {"trace_only": findings.gathered.unknown_of("trace").names}


def incomplete(findings: Findings) -> list[str]:
    """Pairs that lack a side can't agree or disagree; traces beyond the gold set are only remarked on.

    Gold items without a trace are left out: core says of every suite which questions could not be judged.
    """
    gaps = findings.evidence.part(PART)
    return [
        f"{_WORDS[name]} {plural(gaps[name], 'question')}: {first_few(qids, total=gaps[name])}"
        for name, qids in one_sided(findings).items()
        if name in _WORDS and name != "gold_only"
    ]


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    return findings.outcomes, incomplete(findings)
