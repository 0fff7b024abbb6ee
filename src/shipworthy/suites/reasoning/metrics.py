"""What the reasoning suite counts, and the metrics and gates made of it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import repeat

from msgspec.structs import replace

from ...core.evidence import Counted
from ...core.gates import Gate, gate_of
from ...core.metrics import EVERY, Computed, Count, Mean, Measure, Metric, Rate
from ...core.suite import Findings
from ...core.tally import Fact, Tally
from .copying import MOST_ALIKE, alikeness
from .fixture import DIMENSIONS
from .grounded import LONGEST
from .judge import Context, JudgedAnswer
from .options import Options
from .verdict import Verdict

MOST_UNDER_REFUSAL = Fraction(5, 100)  # of the unanswerable cases, as for answers
ALIASES = {
    "overall": "average_overall",
    "grounding": "factual_grounding",
    "contradiction": "contradiction_handling",
    "overlap": "answer_overlap",
    "empty_content_rate": "empty_rate",
}
_DESCRIPTIONS = {
    "actionability": "what the answers tell someone to do",
    "factual_grounding": "how much of the answers the evidence says",
    "contradiction_handling": "the right side taken where sources disagree",
    "usefulness": "the values asked for, and little beside the point",
}


def facts(judged: JudgedAnswer, context: Context) -> Iterator[Counted]:
    """What is counted of one case; its id is kept behind each way in which it fails."""
    verdict = judged.verdict
    slices = (f"preset={verdict.preset}",) if verdict.preset else ()
    kinds = verdict.hard_failures or (() if verdict.passed else ("overall",))
    yield Counted(tuple(answer_facts(verdict)), slices, "", verdict.case_id, map(failure, kinds))


def failure(kind: str) -> str:
    """The fact that an answer fails in some way."""
    return f"failure {kind}"


def answer_facts(verdict: Verdict) -> Iterator[Fact]:
    yield "items"
    yield verdict.status
    yield "answerable" if verdict.answerable else "unanswerable"
    if verdict.passed:
        yield "passed"
    if verdict.hard_failures:
        yield "hard_failure"
    yield from map(failure, verdict.hard_failures)
    if not verdict.answerable and verdict.status in ("answered", "empty"):
        yield "under_refused"
    if verdict.answerable and verdict.status == "refused":
        yield "over_refused"
    yield from repeat("anchor", verdict.facts.get("anchors", 0))
    yield from repeat("unsupported_anchor", len(verdict.facts.get("unsupported_anchors", ())))
    yield from repeat("suspicion", len(verdict.facts.get("suspicions", ())))
    yield from _values(verdict)


def _values(verdict: Verdict) -> Iterator[Fact]:
    if verdict.overall is not None:
        yield "overall", verdict.overall
    for name in verdict.asked:
        yield f"asks_{name}"
        score = verdict.scores[name]
        if score is not None:
            yield name, score


def count_overlap(findings: Findings) -> str:
    """How much the answers resemble each other, refusals aside: known once there are all of them, and counted then."""
    results = (row["result"] for row in findings.evidence.rows)
    answers = (result["answer"][:LONGEST] for result in results if result["status"] == "answered")
    if (overlap := alikeness(answers)) is not None:
        findings.evidence.tally.count([("answer_overlap", overlap)])
    return ""  # the only part of the evidence there is


class Dimension(Mean, frozen=True, kw_only=True):
    """The mean over the cases that ask for the dimension; it does not apply where none does."""

    def applies(self, tally: Tally) -> bool:
        return tally[f"asks_{self.of}"] > 0

    def measure(self, tally: Tally) -> Measure:
        measure = Mean.measure(self, tally)
        if measure.value is not None:
            return measure
        why = "every case that asks for it ended in an error" if self.applies(tally) else "no case asks for it"
        return replace(measure, missing=why)


class AnswerOverlap(Computed, frozen=True, kw_only=True):
    """A template takes two answers."""

    def applies(self, tally: Tally) -> bool:
        return tally["answered"] > 1


def metrics(options: Options) -> dict[str, Metric]:
    listed: list[Metric] = [
        Rate("pass_rate", "cases that pass", of="passed", among="items", against=EVERY),
        Mean("average_overall", "the weighted mean of the dimensions, over the cases without an error", of="overall"),
        *(Dimension(name, _DESCRIPTIONS[name], of=name) for name in DIMENSIONS),
        AnswerOverlap(
            "answer_overlap", "mean overlap of any two answers: what a template would raise", "lower", formula=_overlap
        ),
        _rate("under_refusal", "unanswerable cases that were answered", "under_refused", "unanswerable"),
        _rate("over_refusal", "answerable cases that were refused", "over_refused", "answerable"),
        Rate("error_rate", "cases that ended in an error", "lower", of="error", among="items"),
        Rate("empty_rate", "cases whose answer is blank", "lower", of="empty", among="items"),
        Rate("hard_failure_rate", "cases with a hard failure", "lower", of="hard_failure", among="items"),
        _rate("unsupported_anchors", "numbers and dates that nobody gave", "unsupported_anchor", "anchor"),
        Count("suspicions", "things that people should check by hand", "lower", high=None, of=("suspicion",)),
        Count("errors", "how many cases ended in an error", "lower", high=None, of=("error",)),
        Count("cases", "cases that were judged", high=None, of=("items",)),
    ]
    return {metric.name: metric for metric in listed}


def _rate(name: str, description: str, of: str, among: str) -> Rate:
    return Rate(name, description, "lower", of=of, among=among, could=among)


def gates(context: Context) -> list[Gate]:
    """The fixture's bars; the format lint knows neither templates nor what can't be answered."""
    options, bars = context.options, context.fixture.thresholds
    chosen = [gate_of("pass_rate", ">=", bars.suite_min_pass_rate)]
    chosen += [gate_of(name, ">=", bars.dimension_min_average[name]) for name in DIMENSIONS]
    if options.profile == "grounded":
        chosen += [gate_of("answer_overlap", "<=", MOST_ALIKE), gate_of("under_refusal", "<=", MOST_UNDER_REFUSAL)]
    # A count is what it is, where a rate of 0 could never be proven.
    return [*chosen, Gate.parse("errors <= 0")] if options.fail_on_errors else chosen


def aliases(options: Options) -> dict[str, str]:
    return ALIASES


def _overlap(tally: Tally) -> Measure:
    """Counted once, when all answers are known; it describes these answers, so that there is nothing to prove."""
    value = next(iter(tally.values("answer_overlap")), None)
    if value is None:
        return Measure("answer_overlap", "coefficient", None, tally["answered"], missing="there are no two answers")
    bounds = (float(value), float(value))
    return Measure("answer_overlap", "coefficient", value, tally["answered"], bounds=bounds)  # type: ignore[arg-type]
