"""Judge: what one answer is, in one of the two profiles.

`signals` scores words and layout as the original did. `grounded` decides: the four dimensions from what can be checked
against the evidence and against what the case's author wrote down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from ...core.decision import number
from ...core.evidence import Judged, Order, Row
from ...core.join import Case
from ...core.metrics import decimal
from ...language.natural import read
from ...language.reader import Sentence, read_phrase, read_text
from ...language.refusal import counts, is_exact
from . import rules, signals
from .contracts import (
    DIMENSIONS,
    LONGEST,
    Context,
    Dimension,
    Fixture,
    ReasonCase,
    ReasonerAnswer,
    Scores,
    Verdict,
    load_data,
    what_came,
)
from .metrics import counts_of

MISSING = ReasonerAnswer(error="there is no answer for this case")
LABELS = ((Fraction(85, 100), 3), (Fraction(65, 100), 2), (Fraction(40, 100), 1))
BAND = 800  # words; a longer answer is not useful
FABRICATION_CAP = Fraction(35, 100)
# The percentage of clean answers whose grounding is below 0, .05, .10, … 1: 444 answers of public sets that people
# labelled, without bindings. `python benchmarks/reasoning.py` counts them.
CLEAN_BELOW = (0, 0, 0, 1, 2, 4, 6, 9, 14, 20, 25, 29, 33, 39, 43, 52, 58, 65, 73, 79, 92)
# Every way to fail, the worst first, with what it means and what to do.
FAILURES: dict[str, dict[str, str]] = load_data("failures")
RANKS = {kind: rank for rank, kind in enumerate(FAILURES)}
ZERO, ONE = Fraction(0), Fraction(1)
# What an answer is, its scores (None: not required), what fails it, and the facts behind them.
Judgement = tuple[str, Scores, tuple[str, ...], Row]


def judge(case: Case, context: Context) -> tuple[Judged]:
    """The whole result of a case, from which `items` shows the beginning.

    A case without an answer, or whose reasoner failed, is in no average: it must not make one better.
    """
    answer, verdict = judge_case(case, context)
    worst: tuple[tuple[str, Order], ...] = ()
    if not verdict.passed and verdict.status != "no_evidence":  # the worst kind first, then the lowest score
        overall = -1 if verdict.overall_score is None else verdict.overall_score
        worst = (("", (RANKS[reason(verdict.kinds)], overall, case.key)),)
    row, counts = result(case.gold, answer, verdict), counts_of(case.gold, answer, verdict)
    return (Judged(row, counts, (case.key,), worst, verdict.status == "error"),)


def result(case: ReasonCase, answer: ReasonerAnswer, verdict: Verdict) -> Row:
    """The row of a case; some of its columns are the reasoner's own."""
    scores = verdict.dimension_scores
    shown: Row = msgspec.to_builtins(verdict, enc_hook=number)
    del shown["asked"]
    return {
        "id": case.id,
        "prompt": case.prompt,
        "preset": case.preset,
        **answer.meta,
        **shown,
        "overall_rubric": label(verdict.overall_score),
        "dimension_rubrics": {name: label(scores[name]) for name in DIMENSIONS},
        "dimension_minimums": {name: float(case.minimum(name)) for name in DIMENSIONS},
        "required": [name for name in verdict.asked if scores[name] is not None and signals.is_required(case, name)],
        "clean_below": None if "factual_grounding" in verdict.asked else clean_below(scores["factual_grounding"]),
        **{name: getattr(answer, name) for name in ("error", "seen", "repaired", "degraded")},
        "answer": answer.content,
    }


def clean_below(grounding: Fraction | None) -> float | None:
    """The share of clean answers that score lower, by steps of .05."""
    return None if grounding is None else CLEAN_BELOW[int(grounding * (len(CLEAN_BELOW) - 1))] / 100


def card(question: Case, context: Context, kind: str, order: Order) -> Row:
    case: ReasonCase = question.gold
    answer, verdict = judge_case(question, context)
    evidence = case.evidence if answer.evidence is None else answer.evidence
    cited = rules.find_citations(answer.content[:LONGEST], rules.Store(evidence, case.prompt))
    return {
        "qid": case.id,
        "reason": reason(verdict.kinds),
        "says": _in_words(answer, verdict),
        "question": case.prompt,
        "claim": None if answer.error is not None else answer.content,
        "gold_claim_substr": [binding.value for binding in case.bindings],
        "citations": list(dict.fromkeys(citation.text for citation in cited)),
        "evidence": [{"id": item.id, "text": item.text} for item in evidence],
        "failures": list(verdict.kinds),
        "check_by_hand": list(verdict.facts.get("suspicions", ())),
        "seen": answer.seen,
    }


def reason(kinds: Iterable[str]) -> str:
    """The worst that is wrong with an answer, in one word; blank where it passes."""
    return min(kinds, key=RANKS.__getitem__, default="")


def _in_words(answer: ReasonerAnswer, verdict: Verdict) -> str:
    """What is wrong, with the phrases that show it."""
    if answer.error is not None:
        return what_came(answer.error, answer.seen)
    about = FAILURES[reason(verdict.kinds)]
    phrases: list[str] = next(
        (found for fact in about.get("shows", "").split() if (found := verdict.facts.get(fact))), []
    )
    which = f": {', '.join(phrases[:5])}" if phrases else ""
    scored = f" (overall {decimal(verdict.overall_score)})" if verdict.overall_score is not None else ""
    return f"{about['means']}{which}{scored}"


def judge_case(case: Case, context: Context) -> tuple[ReasonerAnswer, Verdict]:
    """The answer to a case, and the verdict on it."""
    given = case.records["answers"]
    answer = given[0] if given else MISSING
    return answer, judge_answer(case.gold, answer, context.fixture, context.options.profile)


def judge_answer(case: ReasonCase, answer: ReasonerAnswer, fixture: Fixture, profile: str = "grounded") -> Verdict:
    """What one answer is. A case without an answer is an error of that case."""
    asked = list(DIMENSIONS) if profile == "signals" else required(case)
    nothing: Scores = dict.fromkeys(DIMENSIONS)
    if answer.error is not None:
        return Verdict("error", False, None, nothing, (), (), {"error": answer.error, "seen": answer.seen}, asked)
    failures: tuple[str, ...] = ()
    facts: Row = {}
    if profile == "signals":
        status = "answered" if answer.content.strip() else "empty"
        scores = signals.score(case, answer.content)
        overall: Fraction | None = signals.overall(scores, fixture.weights)
    elif case.answerable and not (case.evidence or answer.evidence):
        return Verdict("no_evidence", False, None, nothing, (), (), {}, asked)
    else:
        status, scores, failures, facts = _grounded(case, answer)
        counted = {name: scores[name] for name in asked}
        overall = _weighted(counted, fixture.weights) if case.answerable else Fraction(status == "refused")
        failures += tuple(name for name in ("repaired", "degraded") if getattr(answer, name))
    low = tuple(name for name in asked if signals.is_required(case, name) and _is_low(case, name, scores[name]))
    if profile == "signals":
        failures = low  # the original calls these hard failures; it has no others
    passed = overall is not None and overall >= fixture.thresholds.case_min_overall and not (failures or low)
    return Verdict(status, passed, overall, scores, failures, low, facts, asked)


def _is_low(case: ReasonCase, dimension: Dimension, score: Fraction | None) -> bool:
    return score is not None and score < case.minimum(dimension)


def _weighted(scores: Scores, weights: Mapping[Dimension, Fraction]) -> Fraction | None:
    """Σ w·s / Σ w over the dimensions that the case requires."""
    scored = [(weights.get(name, ZERO), score) for name, score in scores.items() if score is not None]
    total = sum((weight for weight, _ in scored), Fraction(0))
    return sum((weight * score for weight, score in scored), Fraction(0)) / total if total else None


def label(score: Fraction | None) -> int | None:
    """The 0–3 label of a score."""
    return None if score is None else next((value for least, value in LABELS if score >= least), 0)


# --- profile `grounded` ---


def _grounded(case: ReasonCase, answer: ReasonerAnswer) -> Judgement:
    evidence = case.evidence if answer.evidence is None else answer.evidence
    text = answer.content[:LONGEST]
    facts = examine(case, text, rules.Store(evidence, case.prompt)) if evidence else {}
    zeros: Scores = {name: ZERO if name in _shown(case) else None for name in DIMENSIONS}
    if not answer.content.strip():
        return "empty", zeros, ("empty",), {} if case.answerable else {"under_refusal": True}
    if _refuses(" ".join([case.prompt, *(f"{block.id} {block.text}" for block in evidence)]), text, facts):
        refused = {"over_refusal": case.answerable, "exact_refusal": is_exact(answer.content)}
        return "refused", zeros, ("over_refusal",) if case.answerable else (), refused
    if not case.answerable:
        return "answered", zeros, ("under_refusal",), {"under_refusal": True}
    if not evidence:
        return "answered", zeros, ("no_evidence",), {}
    return "answered", score(case, facts), hard_failures(facts), facts


def _refuses(known: str, text: str, facts: Row) -> bool:
    """The shared rule; but who gives a bound value, or a number or source that nobody gave, has answered.

    What the evidence says is no answer here, or it would be bound; that also settles what the rule leaves in doubt.
    """
    if not (is_exact(text.strip().rstrip(".")) or counts(read(text, known), in_doubt=bool(facts))):
        return False
    return not facts or not (facts["unresolved"] or facts["unsupported_anchors"] or "given" in facts["bindings"])


def examine(case: ReasonCase, text: str, store: rules.Store) -> Row:
    """Everything that the scores are made of."""
    citations = list(rules.find_citations(text, store))
    said = rules.without_echo(read_text(rules.without(text, citations)), store)
    cited = rules.by_sentence(said, citations)
    bound = [rules.Bound(binding, store) for binding in case.bindings]
    standings = [rules.standing(one, [other for other in bound if other is not one], said, cited) for one in bound]
    given = [value for binding in case.bindings for value in (binding.value, *binding.rivals_values)]
    given += case.expected_resolution
    right = [any(one.asserts(phrase) for phrase in case.expected_resolution) for one in said]
    wrong = [one for one, is_right in zip(said, right, strict=True) if not is_right]  # what asserts both reports both
    return {
        **rules.measure_support(said, store),
        **rules.check_numbers(said, store, given),
        **rules.find_actions(said if "actionability" in required(case) else (), store),
        "citations": sorted({note for citation in citations for note in citation.notes}),
        "unresolved": list(dict.fromkeys(citation.text for citation in citations if not citation.notes)),
        "bindings": standings,
        "not_given": [b.binding.value for b, kind in zip(bound, standings, strict=True) if kind != "given"],
        "resolved": any(right),
        "not_resolved": [] if any(right) else list(case.expected_resolution),
        "forbidden": [phrase for phrase in case.forbidden if any(one.asserts(phrase) for one in wrong)],
        "relevance": _relevance(said, store),
        "words": sum(len(sentence.tokens) for sentence in said),
        "faults": list(rules.find_faults(said, store)),
        "suspicions": [*rules.suspicions(said, cited, store), *_unresolved(case, any(right))],
    }


def _unresolved(case: ReasonCase, resolved: bool) -> list[str]:
    """A missing resolution that is not required is only shown: it stops more right answers than wrong ones."""
    if resolved or not case.expected_resolution or signals.is_required(case, "contradiction_handling"):
        return []
    return [f"states none of the expected resolutions, such as: {case.expected_resolution[0]}"]


def _relevance(said: Sequence[Sentence], store: rules.Store) -> Fraction:
    """The share of sentences that touch the evidence, among those that say something."""
    touching = [(one.content, not store.words.isdisjoint(one.content)) for one in said]
    counted = [touches for content, touches in touching if touches or len(content) > 2]
    return Fraction(sum(counted), len(counted)) if counted else ZERO


def hard_failures(facts: Row) -> tuple[str, ...]:
    """The facts that fail an answer whatever its scores."""
    kinds = {
        "fabrication": facts["unresolved"],
        "denied": "denied" in facts["bindings"],
        "misbound": "misbound" in facts["bindings"],
        "invented": facts["unsupported_anchors"],
        "forbidden": facts["forbidden"],
    }
    return (*(name for name, found in kinds.items() if found), *facts["faults"])


def required(case: ReasonCase) -> list[Dimension]:
    """The dimensions that count: actions only where they are asked for, sides only where the right one is known.

    Grounding counts where values are bound. Elsewhere it is how much of the answer the evidence says, which ranks
    answers well and stops too many: a minimum of .50 fails a third of the clean answers of some labelled sets.
    """
    sides = case.expected_resolution or case.forbidden or any(b.rivals or b.rivals_values for b in case.bindings)
    counts = {
        "actionability": bool(case.actions) or "actionability" in case.expected,
        "factual_grounding": bool(case.bindings),
        "contradiction_handling": bool(sides or case.expectation("contradiction_handling").required),
    }
    return [
        name for name in DIMENSIONS if case.answerable and counts.get(name, True) and signals.is_required(case, name)
    ]


def score(case: ReasonCase, facts: Row) -> Scores:
    """The scores of grounding and of what else the case requires; what is not an answer has none but grounding."""
    earned = Fraction(facts["bindings"].count("given"), len(case.bindings)) if case.bindings else ONE
    wrong_side = facts["forbidden"] or not {"misbound", "denied"}.isdisjoint(facts["bindings"])
    right_side = Fraction(facts["resolved"]) if case.expected_resolution else earned
    acted = Fraction(70 + 15 * facts["owned"] + 15 * facts["timed"], 100) if facts["actions"] else ZERO
    values: Scores = {
        "actionability": ZERO if facts["faults"] else acted,
        "factual_grounding": _grounding(case, facts, earned),
        "contradiction_handling": ZERO if facts["faults"] or wrong_side else right_side,
        "usefulness": ZERO if facts["faults"] or facts["words"] > BAND else (earned + facts["relevance"]) / 2,
    }
    return {name: values[name] if name in _shown(case) else None for name in DIMENSIONS}


def _shown(case: ReasonCase) -> set[Dimension]:
    """The dimensions that have a score: grounding always, because it ranks answers where it does not count."""
    return {"factual_grounding", *required(case)} if case.answerable else set()


def _grounding(case: ReasonCase, facts: Row, earned: Fraction) -> Fraction:
    """Support, times the share of numbers that the evidence has; half of it rests on the bound values, if any."""
    value: Fraction = earned * (1 + facts["support"]) / 2 if case.bindings else facts["support"]
    if facts["anchors"]:
        value *= 1 - min(ONE, Fraction(len(facts["unsupported_anchors"]), facts["anchors"]))
    asks_for_sources = not rules.listed("cite_words").isdisjoint(read_phrase(case.prompt).words)
    if asks_for_sources and not facts["citations"]:
        value *= Fraction(4, 5)
    return min(value, FABRICATION_CAP) if facts["unresolved"] else value
