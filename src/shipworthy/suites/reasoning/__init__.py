"""Reasoning: is an answer right, sourced, decided and of use, or does it only look so?

fixture    the cases, their evidence and the bars
signals    the original keyword heuristics, a format lint
grounded   the same four dimensions from what can be checked; decides
           words → clauses → anchors → affirmed → actions, copying
judge      one answer in one of the profiles
verdict    what one answer is
facts      what is counted, the metrics and the gates
summary    what a report says; hints: where to look
run        asking a reasoner: a command, an address, a callable
guard      the guardrails on a report
controls   answers known to be good or bad, to try the bars on
"""

from __future__ import annotations

from shipworthy.suites.reasoning.facts import ALIASES, facts, gates, metrics, slices
from shipworthy.suites.reasoning.fixture import (
    DIMENSIONS,
    Fixture,
    ReasonCase,
    bundled_fixture,
    load_fixture,
    parse_fixture,
)
from shipworthy.suites.reasoning.hints import diagnose
from shipworthy.suites.reasoning.judge import MISSING, PROFILES, Judged, judge
from shipworthy.suites.reasoning.summary import FORMAT_LINT, counts, headline, items, named, offenders, sections
from shipworthy.suites.reasoning.verdict import Answer, Verdict, label

NAME = "reasoning"

__all__ = [
    "ALIASES", "DIMENSIONS", "FORMAT_LINT", "MISSING", "NAME", "PROFILES", "Answer", "Fixture", "Judged", "ReasonCase",
    "Verdict", "bundled_fixture", "counts", "diagnose", "facts", "gates", "headline", "items", "judge", "label",
    "load_fixture", "metrics", "named", "offenders", "parse_fixture", "sections", "slices",
]  # fmt: skip
