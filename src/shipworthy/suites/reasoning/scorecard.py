"""Scorecards: the verdicts of all cases added up, compared with the thresholds, and written as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shipworthy.stats import wilson
from shipworthy.suites.reasoning import grounded, signals
from shipworthy.suites.reasoning.copying import MOST_ALIKE, alikeness
from shipworthy.suites.reasoning.fixture import DIMENSIONS, Fixture, ReasonCase
from shipworthy.suites.reasoning.verdict import Answer, Verdict, below_minimum, failed, label, passes

PROFILES = ("grounded", "signals")
REPORT_FORMAT = 1  # 1: first
MISSING = Answer(error="there is no answer for this case")


@dataclass(frozen=True)
class Scorecard:
    """Everything about one scored fixture; `ships` is the decision and `reasons` says why not."""

    fixture: Fixture
    profile: str
    answers: Mapping[str, Answer]
    verdicts: tuple[Verdict, ...]
    fail_on_errors: bool = False

    @property
    def passed(self) -> int:
        return sum(verdict.passed for verdict in self.verdicts)

    @property
    def errors(self) -> int:
        return sum(verdict.status == "error" for verdict in self.verdicts)

    @property
    def pass_rate(self) -> Fraction:
        return Fraction(self.passed, len(self.verdicts))

    @property
    def ships(self) -> bool:
        return not self.reasons()

    def average(self, dimension: str) -> tuple[Fraction | None, int]:
        """The mean over the cases that ask for the dimension, and how many they are."""
        return _mean([v.scores[dimension] for v in self.verdicts if v.scores.get(dimension) is not None])

    def overall(self) -> tuple[Fraction | None, int]:
        return _mean([v.overall for v in self.verdicts])

    def alikeness(self) -> Fraction | None:
        """How much the answers resemble each other, refusals aside."""
        shipped = [v.case_id for v in self.verdicts if v.status == "answered"]
        return alikeness(self.answers[id_].content for id_ in shipped)

    def below_average(self) -> list[str]:
        bars = self.fixture.thresholds.dimension_min_average
        means = {name: self.average(name)[0] for name in DIMENSIONS}
        return [name for name, mean in means.items() if mean is not None and mean < bars[name]]

    def refusals(self) -> dict[str, tuple[int, int]]:
        """under_refusal and over_refusal as (count, among)."""
        answerable = {case.id: case.answerable for case in self.fixture.cases}
        under = [v.status in ("answered", "empty") for v in self.verdicts if not answerable[v.case_id]]
        over = [v.status == "refused" for v in self.verdicts if answerable[v.case_id]]
        return {"under_refusal": (sum(under), len(under)), "over_refusal": (sum(over), len(over))}

    def reasons(self) -> list[str]:
        """Why the suite does not ship; empty if it does."""
        bar = self.fixture.thresholds.suite_min_pass_rate
        found = []
        if self.pass_rate < bar:
            found.append(f"pass_rate {self.passed}/{len(self.verdicts)} is below {float(bar):g}")
        for name in self.below_average():
            mean, n = self.average(name)
            least = self.fixture.thresholds.dimension_min_average[name]
            found.append(f"{name} averages {_down(mean)} over {n} cases, below {float(least):g}")
        alike = self.alikeness() if self.profile == "grounded" else None
        if alike is not None and alike > MOST_ALIKE:
            found.append(
                f"the answers are a template: their mean overlap is {_down(alike)}, above {float(MOST_ALIKE):g}"
            )
        if self.fail_on_errors and self.errors:
            found.append(f"{self.errors} of {len(self.verdicts)} cases ended in an error")
        return found


def judge(case: ReasonCase, answer: Answer, fixture: Fixture, profile: str = "grounded") -> Verdict:
    """One answer judged in one of the two profiles."""
    if answer.error is not None:
        return failed(case, answer)
    if profile == "grounded":
        return grounded.judge(case, answer, fixture)
    scores = signals.score(case, answer.content)
    overall = signals.overall(scores, fixture.weights)
    failures = below_minimum(case, scores)
    status = "answered" if answer.content.strip() else "empty"
    return Verdict(case.id, status, scores, overall, failures, passes(fixture, overall, failures))


def score(
    fixture: Fixture, answers: Mapping[str, Answer], profile: str = "grounded", fail_on_errors: bool = False
) -> Scorecard:
    """Every case of a fixture judged; a case without an answer is an error of that case."""
    verdicts = tuple(judge(case, answers.get(case.id, MISSING), fixture, profile) for case in fixture.cases)
    return Scorecard(fixture, profile, answers, verdicts, fail_on_errors)


def report(card: Scorecard) -> dict[str, Any]:
    """The JSON report of a scorecard."""
    cases = {case.id: case for case in card.fixture.cases}
    return {
        "format": REPORT_FORMAT,
        "suite": "reasoning",
        "profile": card.profile,
        "note": "" if card.profile == "grounded" else "signals is a format lint: it does not know what is true",
        "fixture": {"name": card.fixture.name, "version": card.fixture.version},
        "summary": _summary(card),
        "results": [_result(cases[v.case_id], v, card.answers.get(v.case_id, MISSING)) for v in card.verdicts],
    }


def _summary(card: Scorecard) -> dict[str, Any]:
    total = len(card.verdicts)
    means = {name: card.average(name) for name in DIMENSIONS}
    overall, judged = card.overall()
    thresholds = card.fixture.thresholds
    return {
        "total_cases": total,
        "passed_cases": card.passed,
        "failed_cases": total - card.passed - card.errors,
        "error_cases": card.errors,
        "pass_rate": float(card.pass_rate),
        "pass_rate_interval": _interval(card.passed, total),
        "average_overall_score": _float(overall),
        "overall_n": judged,
        "dimension_averages": {name: _float(mean) for name, (mean, _) in means.items()},
        "dimension_n": {name: n for name, (_, n) in means.items()},
        "thresholds": {
            "case_min_overall": float(thresholds.case_min_overall),
            "suite_min_pass_rate": float(thresholds.suite_min_pass_rate),
            "dimension_min_average": {n: float(bar) for n, bar in thresholds.dimension_min_average.items()},
        },
        "dimension_threshold_failures": card.below_average(),
        "refusals": {name: _rate(*counts) for name, counts in card.refusals().items()},
        "unsupported_anchors": _rate(*_unsupported(card.verdicts)),
        "answer_overlap": _float(card.alikeness()),
        "reasons": card.reasons(),
        "passed": card.ships,
    }


def _result(case: ReasonCase, verdict: Verdict, answer: Answer) -> dict[str, Any]:
    scores = verdict.scores
    return {
        "id": case.id,
        "prompt": case.prompt,
        "preset": case.preset,
        "status": verdict.status,
        "passed": verdict.passed,
        "overall_score": _float(verdict.overall),
        "overall_rubric": label(verdict.overall),
        "hard_failures": list(verdict.hard_failures),
        "dimension_scores": {name: _float(scores[name]) for name in DIMENSIONS},
        "dimension_rubrics": {name: label(scores[name]) for name in DIMENSIONS},
        "dimension_minimums": {name: float(case.minimum(name)) for name in DIMENSIONS},
        "required": [name for name in DIMENSIONS if _asked(case, verdict, name)],
        "facts": {key: _plain(value) for key, value in verdict.facts.items()},
        "error": answer.error,
        "seen": answer.seen,
        "repaired": answer.repaired,
        "degraded": answer.degraded,
        **answer.meta,
        "answer": answer.content,
    }


def _asked(case: ReasonCase, verdict: Verdict, dimension: str) -> bool:
    return verdict.scores[dimension] is not None and grounded.is_required(case, dimension)


def _unsupported(verdicts: Sequence[Verdict]) -> tuple[int, int]:
    return (
        sum(len(v.facts.get("unsupported_anchors", ())) for v in verdicts),
        sum(v.facts.get("anchors", 0) for v in verdicts),
    )


def _rate(count: int, among: int) -> dict[str, Any]:
    return {
        "count": count,
        "of": among,
        "rate": count / among if among else None,
        "interval": _interval(count, among),
    }


def _interval(count: int, among: int) -> list[float] | None:
    bounds = wilson(count, among)
    return None if bounds is None else list(bounds)


def _mean(values: Sequence[Fraction | None]) -> tuple[Fraction | None, int]:
    known = [value for value in values if value is not None]
    return (sum(known, Fraction(0)) / len(known) if known else None), len(known)


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _down(value: Fraction | None) -> str:
    """Three places, cut rather than rounded, so that a miss never looks like a hit."""
    return "undefined" if value is None else f"{int(value * 1000) / 1000:.3f}"
