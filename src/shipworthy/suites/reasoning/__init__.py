"""Reasoning: is an answer right, sourced, decided and of use, or does it only look so?

fixture    the cases, their evidence and the bars
signals    the original keyword heuristics, a format lint
grounded   the same four dimensions from what can be checked; decides
           words → clauses → anchors → affirmed → actions, copying
verdict    what one answer is
scorecard  all verdicts added up, compared and reported
run        asking a reasoner: a command, an address, a callable
guard      the guardrails on a report
controls   answers known to be good or bad, to try the bars on
"""

from __future__ import annotations

from shipworthy.suites.reasoning.fixture import DIMENSIONS, Fixture, ReasonCase, load_fixture, parse_fixture
from shipworthy.suites.reasoning.scorecard import PROFILES, Scorecard, judge, report, score
from shipworthy.suites.reasoning.verdict import Answer, Verdict, label

NAME = "reasoning"

__all__ = [
    "DIMENSIONS",
    "NAME",
    "PROFILES",
    "Answer",
    "Fixture",
    "ReasonCase",
    "Scorecard",
    "Verdict",
    "judge",
    "label",
    "load_fixture",
    "parse_fixture",
    "report",
    "score",
]
