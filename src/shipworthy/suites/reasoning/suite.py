"""Reasoning: are answers correct, grounded, decisive and useful, or do they only look so?"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...core.decision import Display, number
from ...core.evidence import Row, brief
from ...core.gates import Outcome
from ...core.inputs import Input, Stream, Table
from ...core.join import Once
from ...core.metrics import Measure, Words, decimal
from ...core.suite import Explanation, Findings, InputSpec, Material, Sources, Suite
from ...reading.reports import Passing
from ...text import first_few, plural
from .contracts import DIMENSIONS, Context, Options, ReasonerAnswer, kinds_of, read_fixture, stream_answers, what_came
from .controls import controls
from .judge import FAILURES, card, clean_below, judge, reason
from .metrics import aliases, count_overlap, fact_names, failure, gates, metrics


def case_of(answer: ReasonerAnswer) -> tuple[str, ...]:
    return (answer.case_id,)


ONE_ANSWER = Once(case_of, "duplicate case id {!r}", "Give each case one answer.", "answer-repeated")


def read(sources: Sources, options: Options) -> Material:
    """The cases of a fixture, answers as a stream; a second answer to a case is an error."""
    fixture, answers = read_fixture(sources.get("fixture")), Input()
    cases = fixture.cases[: options.max_cases]
    thresholds = replace(fixture.thresholds, **options.bars())
    return Material(
        context=Context(options=options, fixture=replace(fixture, cases=(), thresholds=thresholds)),
        gold=Stream({case.id: case for case in cases}, Input(), Table()),
        streams={"answers": stream_answers(sources["answers"], answers)},
        reads={"fixture": Input(path=fixture.path, digest=fixture.digest, records=len(cases)), "answers": answers},
        once={"answers": ONE_ANSWER},
    )


FORMAT_LINT = "signals is a format lint: it does not know what is true"
NO_EVIDENCE = (
    "no case has evidence and no answer brought any, so nothing can be checked. Add `evidence` to the cases, let the "
    "reasoner return it, or score words and layout alone with --profile signals"
)
_COUNTED = ("items", "passed", "answered", "refused", "empty", "error", "no_evidence", "unanswerable")
REASONS = {
    name: Words(about.get("plain", ""), f"{about['means'][:1].upper()}{about['means'][1:]}.")
    for name, about in FAILURES.items()
}


def explain(findings: Findings) -> Explanation:
    tally, measures, results = findings.tally, findings.measures, list(findings.evidence.rows)
    profile, fixture, bounds = findings.context.options.profile, findings.context.fixture, _bounds(findings)
    return Explanation(
        counts={name: tally[name] for name in _COUNTED},
        named={kind: tally.named(failure(kind)) for kind in FAILURES},
        diagnosis=diagnose(findings, results),
        offenders=findings.evidence.offenders(),
        sections={
            "dimensions": {
                name: {"average": number(measures[name].value), "at_least": bounds.get(name), "n": measures[name].n}
                for name in DIMENSIONS
            },
            "failures": {kind: tally[failure(kind)] for kind in FAILURES if tally[failure(kind)]},
        },
        headline={
            "profile": profile,
            "note": "" if profile == "grounded" else FORMAT_LINT,
            "fixture": {"name": fixture.name, "version": fixture.version},
            "summary": _summary(findings),
            "results": results,
        },
        reasons=[NO_EVIDENCE] if is_unchecked(findings) else [*tolerated(findings), *findings.reasons],
        warnings=remarks(findings),
        items=list(map(item, results)),
    )


def remarks(findings: Findings) -> list[str]:
    """That the profile knows nothing of truth, and lines that don't count."""
    unknown = findings.gathered.unknown_total
    said = {
        FORMAT_LINT: findings.context.options.profile == "signals",
        f"{plural(unknown, 'answer')} with an id that no case has": unknown,
    }
    return [text for text, holds in said.items() if holds]


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    """Cases that could not be judged, because neither they nor their answers have evidence."""
    tally, allowed = findings.tally, findings.context.options.allow_missing
    lacking = tally["no_evidence"]
    if lacking and not tally["evidence"]:
        return findings.outcomes, [NO_EVIDENCE]
    if not lacking or lacking + tally["error"] <= allowed:
        return findings.outcomes, []
    names = first_few(tally.named(failure("no_evidence")), total=lacking)
    lost = lacking + tally["error"]
    allow = f", or allow them with --allow-missing {lost}" if lost < tally["items"] else ""
    return findings.outcomes, [
        f"{lacking} of {plural(tally['items'], 'case')} could not be judged, because there is no evidence to check the "
        f"answer against: {names}. Add `evidence` to the cases, or let the reasoner return it{allow}"
    ]


def is_unchecked(findings: Findings) -> bool:
    """Whether nothing was decided, and for one reason alone: there is no evidence at all."""
    return findings.verdict == "NO VERDICT" and findings.incomplete == [NO_EVIDENCE]


def tolerated(findings: Findings) -> list[str]:
    """What the first line says of cases without evidence that may be missing."""
    lacking, allowed = findings.tally["no_evidence"], findings.context.options.allow_missing
    if not lacking or lacking + findings.tally["error"] > allowed:
        return []
    total = plural(findings.tally["items"], "case")
    return [f"{lacking} of {total} without evidence not judged, as --allow-missing {allowed} permits"]


def item(result: Row) -> Row:
    """The beginning of a result, as a line of a table has it."""
    failed = (result[name] for name in ("status", "hard_failures", "below_minimum", "passed"))
    return {
        "qid": result["id"],
        **{name: result[name] for name in ("preset", "status", "passed")},
        "overall": result["overall_score"],
        **result["dimension_scores"],
        "reason": reason(kinds_of(*failed)),
        "hard_failures": result["hard_failures"],
        "question": brief(result["prompt"]),
        "claim": brief(result["answer"]),
    }


# --- where to look ---


def diagnose(findings: Findings, results: Sequence[Row]) -> list[str]:
    """Hints from the gates that failed and the kinds of failure; `results` are in the order of their ids."""
    tally, overlap = findings.tally, findings.measures["answer_overlap"].value
    failed = {outcome.gate.metric for outcome in findings.outcomes if not outcome.met and outcome.state != "NO-DATA"}
    hints = [about["hint_dimension"] for name, about in FAILURES.items() if name in failed & {*DIMENSIONS}]
    if "answer_overlap" in failed and overlap is not None:
        shared = f"any two share {decimal(overlap)} of their runs of five words on average"
        hints.append(f"The answers are a template: {shared}.")
    first = next((f"{one['id']}: {what_came(one['error'], one['seen'])}" for one in results if one["error"]), "")
    for kind, about in FAILURES.items():
        if "hint" in about and (count := tally[failure(kind)]):
            among = plural(tally[about.get("among", "items")], about.get("of", "case"))
            hints.append(f"{count} of {among} {about['hint'].format(first=first)}")
    if (support := findings.measures["support"]).value is not None:
        over = f"{plural(support.n, 'answer')} to cases that bind no values"
        below = f"{clean_below(support.value):.0%} of clean answers in labelled sets score lower"
        hints.append(f"Grounding averages {decimal(support.value)} over {over}. It stops none of them: {below}.")
    return hints


def _summary(findings: Findings) -> Row:
    measures, bounds = findings.measures, _bounds(findings)
    failed = {one.gate.key for one in findings.outcomes if one.state.startswith("FAIL")}
    tally, passed, overall = findings.tally, measures["pass_rate"], measures["average_overall"]
    return {
        "total_cases": tally["items"],
        "passed_cases": tally["passed"],
        "failed_cases": tally["judged"] - tally["passed"],
        "error_cases": tally["error"],
        "no_evidence_cases": tally["no_evidence"],
        "pass_rate": number(passed.value),
        "pass_rate_interval": passed.interval,
        "average_overall_score": number(overall.value),
        "overall_n": overall.n,
        "dimension_averages": {name: number(measures[name].value) for name in DIMENSIONS},
        "dimension_n": {name: measures[name].n for name in DIMENSIONS},
        "thresholds": {
            "case_min_overall": float(findings.context.fixture.thresholds.case_min_overall),
            "suite_min_pass_rate": bounds.get("pass_rate"),
            "dimension_min_average": {name: bounds.get(name) for name in DIMENSIONS},
        },
        "dimension_threshold_failures": [name for name in DIMENSIONS if name in failed],
        "support": {
            "average": number(measures["support"].value),
            "n": measures["support"].n,
            "clean_below": clean_below(measures["support"].value),
        },
        "refusals": {name: _rate(measures[name]) for name in ("under_refusal", "over_refusal")},
        "unsupported_anchors": _rate(measures["unsupported_anchors"]),
        "suspicions": measures["suspicions"].k,
        "answer_overlap": number(measures["answer_overlap"].value),
        "reasons": [] if findings.ships else findings.reasons,
        "passed": findings.ships,
    }


def _bounds(findings: Findings) -> Row:
    """The thresholds in force, gates of a slice aside."""
    return {one.gate.metric: number(one.bound) for one in findings.outcomes if not one.gate.slice}


def _rate(measure: Measure) -> Row:
    return {"count": measure.k, "of": measure.n, "rate": number(measure.value), "interval": measure.interval}


SUITE = Suite(
    name="reasoning",
    description="Are answers correct, grounded, decisive and useful?",
    inputs=(
        InputSpec("fixture", "The cases (default: the fixture that comes with the package).", False, table=True),
        InputSpec("answers", "One JSON line a case: id, content, evidence?, repaired?.", many=True),
    ),
    options=Options,
    read=read,
    judge=judge,
    card=card,
    fact_names=fact_names,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    part=count_overlap,
    review=review,
    explain=explain,
    controls=controls,
    display=Display(
        counts={"refused": "refused", "empty": "empty", "error": "failed"},
        passes=Passing("passed", True),
        reasons=REASONS,
        pictures={"dimensions": "averages"},
    ),
)
