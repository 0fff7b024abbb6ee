"""Verdicts: what one answer is, what was found in it, and the scores that follow."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from ...core.evidence import Row
from .fixture import DIMENSIONS, Fixture, Note, ReasonCase

SHOWN = 200  # characters of what came instead of an answer
LABELS = ((Fraction(85, 100), 3), (Fraction(65, 100), 2), (Fraction(40, 100), 1))


class ReasonerAnswer(msgspec.Struct, frozen=True):
    """What a reasoner gave for one case; `error` says why there is nothing."""

    content: str = ""
    evidence: tuple[Note, ...] | None = None
    repaired: bool = False
    degraded: bool = False
    error: str | None = None
    seen: str = ""  # the beginning of what came instead of an answer
    meta: dict[str, object] = {}

    @property
    def what_came(self) -> str:
        return what_came(self.error, self.seen)


def what_came(error: str | None, seen: str) -> str:
    """The error with the last line of what was seen, which is where programs say why they stopped."""
    lines = seen.split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"{error}: {last[:SHOWN]}" if last else error or ""


class Verdict(msgspec.Struct, frozen=True):
    """Facts about one answer; a score of None means that the dimension was not asked for."""

    case_id: str
    status: str  # answered, refused, empty, error
    scores: Mapping[str, Fraction | None]
    overall: Fraction | None
    hard_failures: tuple[str, ...]
    passed: bool
    facts: Row = {}
    answerable: bool = True
    asked: tuple[str, ...] = ()  # the dimensions that the case asks for
    preset: str | None = None


def label(score: Fraction | None) -> int | None:
    """The 0–3 label of a score."""
    if score is None:
        return None
    return next((value for least, value in LABELS if score >= least), 0)


def weighted(scores: Mapping[str, Fraction | None], weights: Mapping[str, Fraction]) -> Fraction | None:
    """Σ w·s / Σ w over the dimensions that were asked for."""
    asked = [(weights[name], score) for name, score in scores.items() if score is not None]
    total = sum((weight for weight, _ in asked), Fraction(0))
    return sum((weight * score for weight, score in asked), Fraction(0)) / total if total else None


def below_minimum(case: ReasonCase, scores: Mapping[str, Fraction | None]) -> tuple[str, ...]:
    """The dimensions that were asked for and miss their case minimum."""
    return tuple(name for name in DIMENSIONS if (score := scores.get(name)) is not None and score < case.minimum(name))


def failed(case: ReasonCase, answer: ReasonerAnswer) -> Verdict:
    """The verdict on a case that got no answer."""
    facts = {"error": answer.error, "seen": answer.seen}
    return Verdict(case.id, "error", dict.fromkeys(DIMENSIONS), None, ("error",), False, facts)


def passes(fixture: Fixture, overall: Fraction | None, hard_failures: tuple[str, ...]) -> bool:
    return overall is not None and not hard_failures and overall >= fixture.thresholds.case_min_overall
