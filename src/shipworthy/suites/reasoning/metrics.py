"""What the reasoning suite counts, and the metrics and gates made of it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import repeat

import msgspec

from ... import stats
from ...core.evidence import Counts
from ...core.gates import Gate, gate_of
from ...core.metrics import EVERY, Computed, Count, Mean, Measure, Metric, Rate, Words
from ...core.suite import Findings
from ...core.tally import HAS, Fact, Tally, group, held, lacks_of
from ...language.words import stem, tokens
from .contracts import DEFAULT_AVERAGES, DIMENSIONS, LONGEST, Context, Options, ReasonCase, ReasonerAnswer, Verdict
from .rules import grams

EVIDENCE = "answers.evidence"  # the value of an answer that says what the reasoner was shown
MOST_ALIKE = Fraction(30, 100)
MOST_UNDER_REFUSAL = Fraction(5, 100)  # of the unanswerable cases, as for answers
ALIASES = {
    "overall": "average_overall",
    "grounding": "factual_grounding",
    "contradiction": "contradiction_handling",
    "overlap": "answer_overlap",
    "empty_content_rate": "empty_rate",
}
_DIMENSIONS = {
    "actionability": Words(
        "actionability",
        "How clearly the answers say what to do, where the case asks for actions.",
        "mean over cases that require it",
    ),
    "factual_grounding": Words(
        "factual grounding",
        "How much of the answers the evidence supports, and how many of the bound values they give.",
        "mean over cases that bind values",
    ),
    "contradiction_handling": Words(
        "contradiction handling",
        "Whether the answers take the right side where sources disagree.",
        "mean over cases that require it",
    ),
    "usefulness": Words(
        "usefulness",
        "Whether the answers give the values asked for, with little beside the point.",
        "mean over cases that require it",
    ),
}


def counts_of(case: ReasonCase, answer: ReasonerAnswer, verdict: Verdict) -> tuple[Counts]:
    """What is counted of one case; its id is kept behind each way in which it fails."""
    evidence = ("evidence",) if case.evidence or answer.evidence else ()
    slices = (f"preset={case.preset}",) if case.preset else ()
    brought = held((EVIDENCE,), ()) if answer.evidence is not None else held((), (EVIDENCE,))
    values = brought if is_judged(verdict) else []
    found = (*answer_facts(case.answerable, verdict), *evidence, *values)
    return (Counts(found, slices, named=[*map(failure, verdict.kinds), *lacks_of(values)]),)


def is_judged(verdict: Verdict) -> bool:
    """Whether there was an answer, and something to check it against."""
    return verdict.status not in ("error", "no_evidence")


def fact_names(options: Options) -> set[str]:
    names = {"answered", "refused", "empty", "error", "answerable", "unanswerable", "passed", "hard_failure"}
    names |= {
        "judged",
        "judged_answerable",
        "judged_unanswerable",
        "no_evidence",
        "evidence",
        "support",
        HAS + EVIDENCE,
    }
    names |= {"under_refused", "over_refused", "anchor", "unsupported_anchor", "suspicion", "overall", "failure *"}
    names |= {*DIMENSIONS, *(f"asks_{name}" for name in DIMENSIONS)}
    return names | {"anchors_of_case", "compared", "answer_overlap", HAS + EVIDENCE}


def failure(kind: str) -> str:
    """The fact that an answer fails in some way."""
    return f"failure {kind}"


def answer_facts(answerable: bool, verdict: Verdict) -> Iterator[Fact]:
    """A case that could not be judged is counted as such, and is in no rate of those that were."""
    asked = "answerable" if answerable else "unanswerable"
    yield from ("items", verdict.status, asked)
    yield from map(failure, verdict.kinds)
    yield from (f"asks_{name}" for name in verdict.asked)
    if not is_judged(verdict):
        return
    told = {
        "passed": verdict.passed,
        "hard_failure": bool(verdict.hard_failures),
        "under_refused": not answerable and verdict.status in ("answered", "empty"),
        "over_refused": answerable and verdict.status == "refused",
    }
    yield from ("judged", f"judged_{asked}")
    yield from (name for name, holds in told.items() if holds)
    anchors = verdict.facts.get("anchors", 0)
    unsupported, suspicions = (len(verdict.facts.get(name, ())) for name in ("unsupported_anchors", "suspicions"))
    yield from repeat("anchor", anchors)
    yield from repeat("unsupported_anchor", unsupported)
    if anchors > 1:
        yield group("anchors_of_case", (unsupported, anchors))
    yield from repeat("suspicion", suspicions)
    if verdict.overall_score is not None:
        yield "overall", verdict.overall_score
    for name, score in verdict.dimension_scores.items():
        if score is not None and name in verdict.asked:
            yield name, score
        elif score is not None and name == "factual_grounding":
            yield "support", score


def count_overlap(findings: Findings) -> str:
    """How much the answers resemble each other, refusals aside: counted once all of them are known."""
    answers = [result["answer"][:LONGEST] for result in findings.evidence.rows if result["status"] == "answered"]
    overlap = stats.mean_jaccard(grams([stem(token.norm) for token in tokens(answer)]) for answer in answers)
    if overlap is not None:
        findings.evidence.tally.count(["compared", ("answer_overlap", overlap)])
    return ""  # the only part of the evidence there is


def metrics(options: Options) -> dict[str, Metric]:
    listed: list[Metric] = [
        Rate(
            "pass_rate",
            Words(
                "pass rate",
                "The share of cases whose answer scores enough and has no hard failure; errors are left out.",
                "cases that pass / cases that were judged",
                "cases",
                "passed",
                "pass_rate >= 0.80",
            ),
            of="passed",
            among="judged",
            against=EVERY,
        ),
        Mean(
            "average_overall",
            Words(
                "average overall score",
                "The weighted mean of the quality dimensions, over cases without an error.",
                "mean of overall scores",
            ),
            of="overall",
        ),
        *(Mean(name, _DIMENSIONS[name], of=name, could=f"asks_{name}") for name in DIMENSIONS),
        Mean(
            "support",
            Words(
                "grounding without bindings",
                "How much of the answers the evidence supports, where cases bind no values. It ranks answers and "
                "stops none.",
                "mean over cases that bind no values",
            ),
            of="support",
            could="support",
        ),
        Computed(
            "answer_overlap",
            Words(
                "overlap between answers",
                "How alike any two answers are; a canned template raises it.",
                "mean pairwise 5-gram Jaccard similarity",
            ),
            "lower",
            formula=_overlap,
            could="compared",
        ),
        _rate(
            "under_refusal",
            Words(
                "answered when it should refuse",
                "Of the cases that the evidence cannot answer, the share that was answered anyway.",
                "unanswerable cases that were answered / unanswerable cases",
                "unanswerable cases",
                "were answered",
            ),
            "under_refused",
            "unanswerable",
            True,
        ),
        _rate(
            "over_refusal",
            Words(
                "refused when it should answer",
                "Of the cases that the evidence can answer, the share that was refused.",
                "answerable cases that were refused / answerable cases",
                "answerable cases",
                "were refused",
            ),
            "over_refused",
            "answerable",
            True,
        ),
        _rate(
            "error_rate",
            Words(
                "error rate",
                "The share of cases that ended in an error.",
                "cases with an error / cases",
                "cases",
                "ended in an error",
            ),
            "error",
        ),
        _rate(
            "empty_rate",
            Words(
                "empty-answer rate",
                "The share of cases whose answer is blank.",
                "cases with a blank answer / cases that were judged",
                "cases",
                "had a blank answer",
            ),
            "empty",
            "items",
            True,
        ),
        _rate(
            "hard_failure_rate",
            Words(
                "hard-failure rate",
                "The share of cases with a failure that no score can make good, such as an invented citation.",
                "cases with a hard failure / cases that were judged",
                "cases",
                "had a hard failure",
            ),
            "hard_failure",
            "items",
            True,
        ),
        Rate(
            "unsupported_anchors",
            Words(
                "invented numbers",
                "The share of numbers, dates and names in answers that neither the evidence nor the question has.",
                "such anchors / anchors in answers",
                "numbers, dates and names",
                "were not in the evidence",
            ),
            "lower",
            of="unsupported_anchor",
            among="anchor",
            could="anchor",
            groups="anchors_of_case",
        ),
        Count(
            "suspicions",
            Words(
                "things to check by hand",
                "Places that look wrong but fail nothing by themselves.",
                "count of such places",
            ),
            "lower",
            of=("suspicion",),
        ),
        Count(
            "errors",
            Words("cases with an error", "Cases that ended in an error.", "count of such cases"),
            "lower",
            of=("error",),
        ),
        Count("cases", Words("cases judged", "Cases that were judged.", "count of cases"), of=("items",)),
    ]
    return {metric.name: msgspec.structs.replace(metric, needs=(EVIDENCE,), optional=True) for metric in listed}


def _rate(name: str, words: Words, of: str, could: str = "items", judged: bool = False) -> Rate:
    """A share of the cases that it could be about, or of those of them that were judged."""
    among = could if not judged else "judged" if could == "items" else f"judged_{could}"
    return Rate(name, words, "lower", of=of, among=among, could=could)


def _overlap(tally: Tally) -> Measure:
    """It describes these answers, so that there is nothing to prove."""
    value = next(iter(tally.values("answer_overlap")), None)
    if value is None:
        return Measure("answer_overlap", "coefficient", None, tally["answered"], missing="there are no two answers")
    bounds = (float(value), float(value))
    return Measure("answer_overlap", "coefficient", value, tally["answered"], bounds=bounds)  # type: ignore[arg-type]


def gates(context: Context) -> list[Gate]:
    """The fixture's thresholds; the format lint knows neither templates nor what can't be answered."""
    options, bars = context.options, context.fixture.thresholds
    chosen = [gate_of("pass_rate", ">=", bars.suite_min_pass_rate)]
    averages = DEFAULT_AVERAGES | bars.dimension_min_average
    chosen += [gate_of(name, ">=", averages[name]) for name in DIMENSIONS]
    if options.profile == "grounded":
        chosen += [gate_of("answer_overlap", "<=", MOST_ALIKE), gate_of("under_refusal", "<=", MOST_UNDER_REFUSAL)]
    # A count is what it is, where a rate of 0 could never be proven.
    return [*chosen, Gate.parse("errors <= 0")] if options.fail_on_errors else chosen


def aliases(options: Options) -> dict[str, str]:
    return ALIASES
