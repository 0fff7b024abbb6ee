"""Judge: one answer in one of the two profiles, and all answers of a fixture with what they have in common."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from msgspec.structs import replace

from shipworthy.suites.reasoning import grounded, signals
from shipworthy.suites.reasoning.copying import alikeness
from shipworthy.suites.reasoning.fixture import DIMENSIONS, Fixture, ReasonCase
from shipworthy.suites.reasoning.verdict import Answer, Verdict, below_minimum, failed, passes

PROFILES = ("grounded", "signals")
MISSING = Answer(error="there is no answer for this case")


class Judged(NamedTuple):
    """A fixture, what was answered, and the verdicts in the order of the cases."""

    fixture: Fixture
    profile: str
    answers: Mapping[str, Answer]
    verdicts: list[Verdict]

    def answer(self, id_: str) -> Answer:
        return self.answers.get(id_, MISSING)

    def alikeness(self) -> Fraction | None:
        """How much the answers resemble each other, refusals aside."""
        return alikeness(
            self.answer(v.case_id).content[: grounded.LONGEST] for v in self.verdicts if v.status == "answered"
        )


def judge(case: ReasonCase, answer: Answer, fixture: Fixture, profile: str = "grounded") -> Verdict:
    """What one answer is. A case without an answer is an error of that case."""
    if answer.error is not None:
        verdict = failed(case, answer)
    else:
        verdict = grounded.judge(case, answer, fixture) if profile == "grounded" else _linted(case, answer, fixture)
    return replace(verdict, answerable=case.answerable, asked=_asked(case, profile), preset=case.preset)


def _linted(case: ReasonCase, answer: Answer, fixture: Fixture) -> Verdict:
    scores = signals.score(case, answer.content)
    overall = signals.overall(scores, fixture.weights)
    failures = tuple(name for name in below_minimum(case, scores) if grounded.is_required(case, name))
    status = "answered" if answer.content.strip() else "empty"
    return Verdict(case.id, status, scores, overall, failures, passes(fixture, overall, failures))


def _asked(case: ReasonCase, profile: str) -> tuple[str, ...]:
    """The dimensions that count for a case; the original scores them all, and a refusal has none."""
    if profile == "signals":
        return DIMENSIONS
    return tuple(name for name in DIMENSIONS if case.answerable and grounded.is_required(case, name))
