"""What a report says about reasoning: the summary, a result for each case, rows, names, and the worst answers first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shipworthy.decision import number
from shipworthy.gates import Outcome
from shipworthy.metrics import Measure, decimal
from shipworthy.suites.reasoning.anchors import Store, find_citations
from shipworthy.suites.reasoning.fixture import DIMENSIONS, ReasonCase
from shipworthy.suites.reasoning.grounded import LONGEST, is_required
from shipworthy.suites.reasoning.judge import Judged
from shipworthy.suites.reasoning.verdict import Answer, Verdict, label
from shipworthy.suites.reasoning.words import straight
from shipworthy.tally import NAMED, Tally

FORMAT_LINT = "signals is a format lint: it does not know what is true"
# hard failure → what it means, the worst first
FAILURES = {
    "under_refusal": "answered although the evidence has no answer",
    "fabrication": "cites or quotes what the evidence does not have",
    "misbound": "a value is denied, doubted or given as another source's word",
    "misattributed": "given as the word of a source that does not have it",
    "turned": "says the opposite of what the evidence says, in its own words",
    "invented": "a number that neither evidence nor question has",
    "forbidden": "takes the side that is wrong",
    "evidence_dump": "hands the evidence on instead of answering",
    "no_evidence": "there is no evidence to hold it against",
    "over_refusal": "refused although the evidence has the answer",
    "degraded": "the reasoner says that the answer is degraded",
    "repaired": "the reasoner says that the answer was repaired",
    "factual_grounding": "factual grounding is below the case's minimum",
    "contradiction_handling": "contradiction handling is below the case's minimum",
    "usefulness": "usefulness is below the case's minimum",
    "actionability": "actionability is below the case's minimum",
    "overall": "the overall score is below the bar for a case",
    "empty": "the answer is blank",
    "error": "there is no answer",
}
_RANK = {name: rank for rank, name in enumerate(FAILURES)}


def headline(
    judged: Judged, measures: Mapping[str, Measure], outcomes: Sequence[Outcome], ships: bool, reasons: list[str]
) -> dict[str, Any]:
    """The keys of the report that other programs read."""
    cases = {case.id: case for case in judged.fixture.cases}
    return {
        "profile": judged.profile,
        "note": "" if judged.profile == "grounded" else FORMAT_LINT,
        "fixture": {"name": judged.fixture.name, "version": judged.fixture.version},
        "summary": _summary(judged, measures, outcomes) | {"reasons": [] if ships else reasons, "passed": ships},
        "results": [_result(cases[v.case_id], v, judged.answer(v.case_id)) for v in _by_id(judged)],
    }


def _summary(judged: Judged, measures: Mapping[str, Measure], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    whole = [outcome for outcome in outcomes if not outcome.gate.slice]
    bounds = {outcome.gate.metric: number(outcome.bound) for outcome in whole}
    passed, overall, errors = measures["pass_rate"], measures["average_overall"], measures["error_rate"].k or 0
    missed = {outcome.gate.metric for outcome in whole if outcome.state.startswith("FAIL")}
    return {
        "total_cases": passed.n,
        "passed_cases": passed.k,
        "failed_cases": passed.n - (passed.k or 0) - errors,
        "error_cases": errors,
        "pass_rate": number(passed.value),
        "pass_rate_interval": _interval(passed),
        "average_overall_score": number(overall.value),
        "overall_n": overall.n,
        "dimension_averages": {name: number(measures[name].value) for name in DIMENSIONS},
        "dimension_n": {name: measures[name].n for name in DIMENSIONS},
        "thresholds": {
            "case_min_overall": float(judged.fixture.thresholds.case_min_overall),
            "suite_min_pass_rate": bounds.get("pass_rate"),
            "dimension_min_average": {name: bounds.get(name) for name in DIMENSIONS},
        },
        "dimension_threshold_failures": [name for name in DIMENSIONS if name in missed],
        "refusals": {name: _rate(measures[name]) for name in ("under_refusal", "over_refusal")},
        "unsupported_anchors": _rate(measures["unsupported_anchors"]),
        "answer_overlap": number(measures["answer_overlap"].value),
    }


def _result(case: ReasonCase, verdict: Verdict, answer: Answer) -> dict[str, Any]:
    scores = verdict.scores
    return {
        "id": case.id,
        "prompt": case.prompt,
        "preset": case.preset,
        "status": verdict.status,
        "passed": verdict.passed,
        "overall_score": number(verdict.overall),
        "overall_rubric": label(verdict.overall),
        "hard_failures": list(verdict.hard_failures),
        "dimension_scores": {name: number(scores[name]) for name in DIMENSIONS},
        "dimension_rubrics": {name: label(scores[name]) for name in DIMENSIONS},
        "dimension_minimums": {name: float(case.minimum(name)) for name in DIMENSIONS},
        "required": [name for name in DIMENSIONS if scores[name] is not None and is_required(case, name)],
        "facts": dict(verdict.facts),
        "error": answer.error,
        "seen": answer.seen,
        "repaired": answer.repaired,
        "degraded": answer.degraded,
        **answer.meta,
        "answer": answer.content,
    }


def items(judged: Judged) -> list[dict[str, Any]]:
    """One row a case, by id."""
    return [
        {
            "qid": v.case_id, "preset": v.preset, "status": v.status, "passed": v.passed, "overall": number(v.overall),
            **{name: number(v.scores[name]) for name in DIMENSIONS},
            "reason": reason(v), "hard_failures": list(v.hard_failures),
        }
        for v in _by_id(judged)
    ]  # fmt: skip


def reason(verdict: Verdict) -> str:
    """The worst that is wrong with an answer, in one word; blank where it passes."""
    if verdict.passed:
        return ""
    return min(verdict.hard_failures, key=_RANK.__getitem__, default="overall")


def offenders(judged: Judged, most: int) -> list[dict[str, Any]]:
    """What fails, the worst kind first, then the lowest score."""
    cases = {case.id: case for case in judged.fixture.cases}
    bad = [v for v in judged.verdicts if not v.passed]
    bad.sort(key=lambda v: (_RANK[reason(v)], -1 if v.overall is None else v.overall, v.case_id))
    return [_offender(cases[v.case_id], v, judged.answer(v.case_id)) for v in bad[:most]]


def _offender(case: ReasonCase, verdict: Verdict, answer: Answer) -> dict[str, Any]:
    evidence = case.evidence if answer.evidence is None else answer.evidence
    cited = find_citations(straight(answer.content[:LONGEST]), Store(evidence, case.prompt))
    return {
        "qid": case.id,
        "reason": reason(verdict),
        "says": _says(verdict, answer),
        "question": case.prompt,
        "claim": None if answer.error is not None else answer.content,
        "gold_claim_substr": [binding.value for binding in case.bindings],
        "citations": list(dict.fromkeys(citation.text for citation in cited)),
        "evidence": [{"id": item.id, "text": item.text} for item in evidence],
        "failures": list(verdict.hard_failures),
        "seen": answer.seen,
    }


def _says(verdict: Verdict, answer: Answer) -> str:
    if answer.error is not None:
        return answer.what_came
    found = verdict.facts
    keys = ("unresolved", "forbidden", "misattributed", "turned")
    named = [one for key in keys for one in found.get(key, ())] or found.get("unsupported_anchors", ())
    which = f": {', '.join(map(str, named[:5]))}" if named else ""
    scored = f" (overall {decimal(verdict.overall)})" if verdict.overall is not None else ""
    return f"{FAILURES[reason(verdict)]}{which}{scored}"


def named(judged: Judged) -> dict[str, list[str]]:
    """The cases behind each kind of failure."""
    found: dict[str, list[str]] = {}
    for verdict in _by_id(judged):
        for kind in verdict.hard_failures or (() if verdict.passed else ("overall",)):
            found.setdefault(kind, []).append(verdict.case_id)
    return {kind: found[kind][:NAMED] for kind in FAILURES if kind in found}


def counts(tally: Tally) -> dict[str, int]:
    return {name: tally[name] for name in ("items", "passed", "answered", "refused", "empty", "error", "unanswerable")}


def sections(judged: Judged, measures: Mapping[str, Measure], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The dimensions with their bars, and how many answers fail in each way."""
    bounds = {outcome.gate.metric: number(outcome.bound) for outcome in outcomes if not outcome.gate.slice}
    table = {
        name: {"average": number(measures[name].value), "at_least": bounds.get(name), "n": measures[name].n}
        for name in DIMENSIONS
    }
    kinds = [kind for verdict in judged.verdicts for kind in verdict.hard_failures]
    return {"dimensions": table, "failures": {kind: kinds.count(kind) for kind in FAILURES if kind in kinds}}


def _by_id(judged: Judged) -> list[Verdict]:
    return sorted(judged.verdicts, key=lambda verdict: verdict.case_id)


def _rate(measure: Measure) -> dict[str, Any]:
    value = number(measure.value)
    return {"count": measure.k, "of": measure.n, "rate": value, "interval": _interval(measure)}


def _interval(measure: Measure) -> list[float] | None:
    return None if measure.interval is None else list(measure.interval)
