"""What a report says about reasoning: the summary, a result for each case, rows, names, and the worst answers first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from ...core.decision import number
from ...core.evidence import Offence, Order, Row, brief
from ...core.metrics import Measure, decimal
from ...core.suite import Explanation, Findings
from ...text import plural
from . import grounded, signals
from .citations import find_citations
from .fixture import DIMENSIONS, ReasonCase
from .grounded import LONGEST
from .hints import diagnose, failures
from .judge import Context, JudgedAnswer
from .metrics import failure
from .reading import Store
from .verdict import Verdict, label

FORMAT_LINT = "signals is a format lint: it does not know what is true"


def explain(findings: Findings) -> Explanation:
    tally, rows = findings.tally, list(findings.evidence.rows)
    results = [row["result"] for row in rows]
    return Explanation(
        counts={name: tally[name] for name in _COUNTED},
        named={kind: tally.named(failure(kind)) for kind in failures()},
        diagnosis=diagnose(findings, results),
        offenders=findings.evidence.offenders(),
        sections=sections(findings),
        headline=headline(findings, results),
        warnings=remarks(findings),
        items=[row["item"] for row in rows],
    )


_COUNTED = ("items", "passed", "answered", "refused", "empty", "error", "unanswerable")


def remarks(findings: Findings) -> list[str]:
    """That the profile knows nothing of truth, and lines that don't count."""
    superseded, unknown = findings.gathered.superseded, findings.gathered.unknown_total
    listed = [FORMAT_LINT] if findings.context.options.profile == "signals" else []
    if superseded:
        listed.append(f"{plural(superseded, 'answer')} superseded by a later line for the same case")
    if unknown:
        listed.append(f"{plural(unknown, 'answer')} with an id that no case has")
    return listed


# --- one row a case, and the worst of them ---


def rows(judged: JudgedAnswer, context: Context) -> Iterator[tuple[Order, Row]]:
    """The row of a case as `items` shows it, and the whole result for those who read the report by program."""
    yield (judged.case.id,), {"item": _item(judged), "result": _result(judged, context.options.profile)}


def _item(judged: JudgedAnswer) -> Row:
    case, answer, verdict = judged
    return {
        "qid": verdict.case_id,
        "preset": verdict.preset,
        "status": verdict.status,
        "passed": verdict.passed,
        "overall": number(verdict.overall),
        **{name: number(verdict.scores[name]) for name in DIMENSIONS},
        "reason": reason(verdict),
        "hard_failures": list(verdict.hard_failures),
        "question": brief(case.prompt),
        "claim": brief(answer.content),
    }


def _result(judged: JudgedAnswer, profile: str) -> Row:
    case, answer, verdict = judged
    is_required = grounded.is_required if profile == "grounded" else signals.is_required
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
        "facts": {name: number(fact) if isinstance(fact, Fraction) else fact for name, fact in verdict.facts.items()},
        "error": answer.error,
        "seen": answer.seen,
        "repaired": answer.repaired,
        "degraded": answer.degraded,
        **answer.meta,
        "answer": answer.content,
    }


def reason(verdict: Verdict) -> str:
    """The worst that is wrong with an answer, in one word; blank where it passes."""
    if verdict.passed:
        return ""
    return min(verdict.hard_failures, key=_rank, default="overall")


def _rank(kind: str) -> int:
    return list(failures()).index(kind)


def offences(judged: JudgedAnswer, context: Context) -> Iterator[Offence]:
    """What fails, the worst kind first, then the lowest score."""
    verdict = judged.verdict
    if not verdict.passed:
        overall = -1 if verdict.overall is None else verdict.overall
        yield Offence((_rank(reason(verdict)), overall, verdict.case_id), lambda: card(judged))


def card(judged: JudgedAnswer) -> Row:
    case, answer, verdict = judged
    evidence = case.evidence if answer.evidence is None else answer.evidence
    cited = find_citations(answer.content[:LONGEST], Store(evidence, case.prompt))
    return {
        "qid": case.id,
        "reason": reason(verdict),
        "says": _in_words(judged),
        "question": case.prompt,
        "claim": None if answer.error is not None else answer.content,
        "gold_claim_substr": [binding.value for binding in case.bindings],
        "citations": list(dict.fromkeys(citation.text for citation in cited)),
        "evidence": [{"id": item.id, "text": item.text} for item in evidence],
        "failures": list(verdict.hard_failures),
        "check_by_hand": list(verdict.facts.get("suspicions", ())),
        "seen": answer.seen,
    }


def _in_words(judged: JudgedAnswer) -> str:
    """What is wrong, with the phrases that show it."""
    case, answer, verdict = judged
    if answer.error is not None:
        return answer.what_came
    which = f": {', '.join(phrases[:5])}" if (phrases := _phrases(case, verdict)) else ""
    scored = f" (overall {decimal(verdict.overall)})" if verdict.overall is not None else ""
    return f"{failures()[reason(verdict)]['means']}{which}{scored}"


def _phrases(case: ReasonCase, verdict: Verdict) -> list[str]:
    facts, why = verdict.facts, reason(verdict)
    standings = zip(case.bindings, facts.get("bindings", ()), strict=False)
    lost = [binding.value for binding, standing in standings if standing != "given"]
    unresolved = [] if facts.get("resolved", True) else [f"none of {', '.join(case.expected_resolution)}"]
    keys = {"fabrication": "unresolved", "forbidden": "forbidden", "invented": "unsupported_anchors"}
    named = {"misbound": lost, "denied": lost, "usefulness": lost, "contradiction_handling": unresolved}
    named["factual_grounding"] = lost or list(facts.get("unsupported_sentences", ()))
    return named.get(why) or list(facts.get(keys.get(why, ""), ()))


# --- sections and top-level keys ---


def sections(findings: Findings) -> Row:
    """The dimensions with their bars, and how many answers fail in each way."""
    bounds, measures, tally = _bounds(findings), findings.measures, findings.tally
    table = {
        name: {"average": number(measures[name].value), "at_least": bounds.get(name), "n": measures[name].n}
        for name in DIMENSIONS
    }
    return {
        "dimensions": table,
        "failures": {kind: tally[failure(kind)] for kind in failures() if tally[failure(kind)]},
    }


def headline(findings: Findings, results: list[Row]) -> Row:
    """The keys of the report that other programs read."""
    context: Context = findings.context
    profile, fixture, ships = context.options.profile, context.fixture, findings.ships
    return {
        "profile": profile,
        "note": "" if profile == "grounded" else FORMAT_LINT,
        "fixture": {"name": fixture.name, "version": fixture.version},
        "summary": _summary(findings) | {"reasons": [] if ships else findings.reasons, "passed": ships},
        "results": results,
    }


def _summary(findings: Findings) -> Row:
    measures = findings.measures
    passed, overall, errors = measures["pass_rate"], measures["average_overall"], measures["error_rate"].k or 0
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
        "thresholds": _thresholds(findings),
        "dimension_threshold_failures": _missed(findings),
        "refusals": {name: _rate(measures[name]) for name in ("under_refusal", "over_refusal")},
        "unsupported_anchors": _rate(measures["unsupported_anchors"]),
        "suspicions": measures["suspicions"].k,
        "answer_overlap": number(measures["answer_overlap"].value),
    }


def _thresholds(findings: Findings) -> Row:
    """The bars in force."""
    bounds = _bounds(findings)
    return {
        "case_min_overall": float(findings.context.fixture.thresholds.case_min_overall),
        "suite_min_pass_rate": bounds.get("pass_rate"),
        "dimension_min_average": {name: bounds.get(name) for name in DIMENSIONS},
    }


def _bounds(findings: Findings) -> Mapping[str, float | None]:
    whole = (outcome for outcome in findings.outcomes if not outcome.gate.slice)
    return {outcome.gate.metric: number(outcome.bound) for outcome in whole}


def _missed(findings: Findings) -> list[str]:
    whole = (outcome for outcome in findings.outcomes if not outcome.gate.slice)
    missed = {outcome.gate.metric for outcome in whole if outcome.state.startswith("FAIL")}
    return [name for name in DIMENSIONS if name in missed]


def _rate(measure: Measure) -> Row:
    value = number(measure.value)
    return {"count": measure.k, "of": measure.n, "rate": value, "interval": _interval(measure)}


def _interval(measure: Measure) -> list[float] | None:
    return None if measure.interval is None else list(measure.interval)
