"""Judge: one answer in one of the two profiles."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ...core.cases import Case
from . import grounded, signals
from .fixture import DIMENSIONS, Fixture, ReasonCase
from .options import Options
from .verdict import ReasonerAnswer, Verdict, below_minimum, failed, passes

MISSING = ReasonerAnswer(error="there is no answer for this case")


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    fixture: Fixture  # its name, weights and bars; each case comes with what is judged


class JudgedAnswer(NamedTuple):
    """A case, what was answered, and the verdict on it."""

    case: ReasonCase
    answer: ReasonerAnswer
    verdict: Verdict


def judge(case: Case, context: Context) -> JudgedAnswer:
    """The verdict on the last answer to a case."""
    given = case.records["answers"]
    answer = given[-1].answer if given else MISSING
    return JudgedAnswer(case.gold, answer, judge_answer(case.gold, answer, context.fixture, context.options.profile))


def unjudged(case: Case, judged: JudgedAnswer) -> bool:
    """A case without an answer, or whose reasoner failed, is in no average: it must not make one better."""
    return judged.verdict.status == "error"


def judge_answer(case: ReasonCase, answer: ReasonerAnswer, fixture: Fixture, profile: str = "grounded") -> Verdict:
    """What one answer is. A case without an answer is an error of that case."""
    if answer.error is not None:
        verdict = failed(case, answer)
    else:
        verdict = grounded.judge(case, answer, fixture) if profile == "grounded" else _linted(case, answer, fixture)
    return replace(verdict, answerable=case.answerable, asked=_asked(case, profile), preset=case.preset)


def _linted(case: ReasonCase, answer: ReasonerAnswer, fixture: Fixture) -> Verdict:
    scores = signals.score(case, answer.content)
    overall = signals.overall(scores, fixture.weights)
    failures = tuple(name for name in below_minimum(case, scores) if signals.is_required(case, name))
    status = "answered" if answer.content.strip() else "empty"
    return Verdict(case.id, status, scores, overall, failures, passes(fixture, overall, failures))


def _asked(case: ReasonCase, profile: str) -> tuple[str, ...]:
    """The dimensions that count for a case; the original scores them all, and a refusal has none."""
    if profile == "signals":
        return DIMENSIONS
    return tuple(name for name in DIMENSIONS if case.answerable and grounded.is_required(case, name))
