"""What the reasoning suite counts, and the metrics and gates made of it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import repeat

from msgspec.structs import replace

from shipworthy.gates import Gate
from shipworthy.metrics import Computed, Count, Mean, Measure, Metric, Rate
from shipworthy.suites.bars import bar
from shipworthy.suites.reasoning.copying import MOST_ALIKE
from shipworthy.suites.reasoning.fixture import DIMENSIONS, Thresholds
from shipworthy.suites.reasoning.verdict import Verdict
from shipworthy.tally import Fact, Tally

MOST_UNDER_REFUSAL = Fraction(5, 100)  # of the unanswerable cases, as for answers
ALIASES = {
    "overall": "average_overall", "grounding": "factual_grounding", "contradiction": "contradiction_handling",
    "overlap": "answer_overlap", "empty_content_rate": "empty_rate",
}  # fmt: skip
_SAYS = {
    "actionability": "what the answers tell someone to do",
    "factual_grounding": "values and citations that the evidence bears out",
    "contradiction_handling": "the right side taken where sources disagree",
    "usefulness": "the values asked for, and little beside the point",
}


def facts(verdict: Verdict) -> Iterator[Fact]:
    yield "items"
    yield verdict.status
    yield "answerable" if verdict.answerable else "unanswerable"
    if verdict.passed:
        yield "passed"
    if verdict.hard_failures:
        yield "hard_failure"
    if not verdict.answerable and verdict.status in ("answered", "empty"):
        yield "under_refused"
    if verdict.answerable and verdict.status == "refused":
        yield "over_refused"
    yield from repeat("anchor", verdict.facts.get("anchors", 0))
    yield from repeat("unsupported_anchor", len(verdict.facts.get("unsupported_anchors", ())))
    yield from _values(verdict)


def _values(verdict: Verdict) -> Iterator[Fact]:
    if verdict.overall is not None:
        yield "overall", verdict.overall
    for name in verdict.asked:
        yield f"asks_{name}"
        score = verdict.scores[name]
        if score is not None:
            yield name, score


def slices(verdict: Verdict) -> tuple[str, ...]:
    return (f"preset={verdict.preset}",) if verdict.preset else ()


class Dimension(Mean, frozen=True, kw_only=True):
    """The mean over the cases that ask for the dimension; it does not apply where none does."""

    def applies(self, tally: Tally) -> bool:
        return tally[f"asks_{self.of}"] > 0

    def measure(self, tally: Tally) -> Measure:
        found = Mean.measure(self, tally)
        if found.value is not None:
            return found
        why = "every case that asks for it ended in an error" if self.applies(tally) else "no case asks for it"
        return replace(found, missing=why)


class Overlap(Computed, frozen=True, kw_only=True):
    """A template takes two answers."""

    def applies(self, tally: Tally) -> bool:
        return tally["answered"] > 1


def metrics() -> dict[str, Metric]:
    found: list[Metric] = [
        Rate("pass_rate", "cases that pass", of="passed", among="items"),
        Mean("average_overall", "the weighted mean of the dimensions, over the cases without an error", of="overall"),
        *(Dimension(name, _SAYS[name], of=name) for name in DIMENSIONS),
        Overlap("answer_overlap", "mean overlap of any two answers: what a template would raise", "lower",
                formula=_overlap),
        Rate("under_refusal", "unanswerable cases that were answered", "lower", of="under_refused", among="unanswerable",
             could="unanswerable"),
        Rate("over_refusal", "answerable cases that were refused", "lower", of="over_refused", among="answerable",
             could="answerable"),
        Rate("error_rate", "cases that ended in an error", "lower", of="error", among="items"),
        Rate("empty_rate", "cases whose answer is blank", "lower", of="empty", among="items"),
        Rate("hard_failure_rate", "cases with a failure that no score makes good", "lower", of="hard_failure",
             among="items"),
        Rate("unsupported_anchors", "numbers, dates, names and quotes that the evidence does not have", "lower",
             of="unsupported_anchor", among="anchor", could="anchor"),
        Count("errors", "how many cases ended in an error", "lower", high=None, of=("error",)),
        Count("cases", "cases that were judged", high=None, of=("items",)),
    ]  # fmt: skip
    return {metric.name: metric for metric in found}


def gates(thresholds: Thresholds, profile: str = "grounded", fail_on_errors: bool = False) -> list[Gate]:
    """The fixture's bars; the format lint knows neither templates nor what can't be answered."""
    found = [bar("pass_rate", ">=", thresholds.suite_min_pass_rate)]
    found += [bar(name, ">=", thresholds.dimension_min_average[name]) for name in DIMENSIONS]
    if profile == "grounded":
        found += [bar("answer_overlap", "<=", MOST_ALIKE), bar("under_refusal", "<=", MOST_UNDER_REFUSAL)]
    # A count is what it is, where a rate of 0 could never be proven.
    return [*found, Gate.parse("errors <= 0")] if fail_on_errors else found


def _overlap(tally: Tally) -> Measure:
    """Counted once, when all answers are known; it describes these answers, so that there is nothing to prove."""
    value = next(iter(tally.values("answer_overlap")), None)
    if value is None:
        return Measure("answer_overlap", "coefficient", None, tally["answered"], missing="there are no two answers")
    bounds = (float(value), float(value))
    return Measure("answer_overlap", "coefficient", value, tally["answered"], bounds=bounds)  # type: ignore[arg-type]
