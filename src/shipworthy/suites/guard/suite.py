"""Guard: a finished reasoning report, its results counted again, held against bars that a release must clear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Annotated

import msgspec

from ...core.decision import Display, number
from ...core.evidence import Counts, Judged
from ...core.gates import Gate, Outcome
from ...core.inputs import Input, Stream, Table
from ...core.join import Case
from ...core.metrics import Metric
from ...core.options import Opt
from ...core.suite import Explanation, Findings, InputSpec, Material, Sources, Suite
from ...core.tally import HAS, Fact, held, lacks_of
from ...reading.reports import Passing
from ...text import plural
from ..bars import Bar, BarOptions, default_gates, named_gates, share
from ..reasoning.contracts import DIMENSIONS
from ..reasoning.contracts import Options as ReasoningOptions
from ..reasoning.metrics import ALIASES
from ..reasoning.metrics import metrics as reasoning_metrics
from .results import HARD, OVERALL, Result, read_results, score_value

BARS = {
    "min_pass_rate": Bar("pass_rate", ">=", Fraction(80, 100)),
    "min_overall": Bar("average_overall", ">=", Fraction(72, 100)),
    "min_grounding": Bar("factual_grounding", ">=", Fraction(62, 100)),
    "min_actionability": Bar("actionability", ">=", Fraction(65, 100)),
    "min_usefulness": Bar("usefulness", ">=", Fraction(68, 100)),
    "min_contradiction": Bar("contradiction_handling", ">=", Fraction(50, 100)),
    "max_error_rate": Bar("error_rate", "<=", Fraction(5, 100)),
    "max_empty_content_rate": Bar("empty_rate", "<=", Fraction(2, 100)),
    "max_hard_failure_rate": Bar("hard_failure_rate", "<=", Fraction(10, 100)),
    "min_cases": Bar("cases", ">=", Fraction(20)),
}


def _share(name: str) -> Opt:
    return share(f"[default: {float(BARS[name].default)}]")


class Options(BarOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Every bar of the guard; one that is not named keeps its default."""

    BARS = BARS
    min_pass_rate: Annotated[str | None, _share("min_pass_rate")] = None
    min_overall: Annotated[str | None, _share("min_overall")] = None
    min_grounding: Annotated[str | None, _share("min_grounding")] = None
    min_actionability: Annotated[str | None, _share("min_actionability")] = None
    min_usefulness: Annotated[str | None, _share("min_usefulness")] = None
    min_contradiction: Annotated[str | None, _share("min_contradiction")] = None
    max_error_rate: Annotated[str | None, _share("max_error_rate")] = None
    max_empty_content_rate: Annotated[str | None, _share("max_empty_content_rate")] = None
    max_hard_failure_rate: Annotated[str | None, _share("max_hard_failure_rate")] = None
    min_cases: Annotated[int | None, Opt("[default: 20]", least=0, shown=False)] = None


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options


# What a bar needs of every result that was judged; one that no result has does not apply.
NEEDS = {"average_overall": OVERALL, "hard_failure_rate": HARD} | {name: score_value(name) for name in DIMENSIONS}


def result_facts(result: Result) -> Iterator[Fact]:
    """What one result of a report says."""
    yield "items"
    if not result.judged:
        yield from ("error",) if result.error else ("error", "no_evidence")
        return
    yield "judged"
    if result.passed:
        yield "passed"
    if result.failed_hard:
        yield "hard_failure"
    if result.blank:
        yield "empty"
    if result.overall is not None:
        yield "overall", result.overall
    for name in result.asked:
        if (score := result.scores[name]) is not None:
            yield f"asks_{name}"
            yield name, score
    there = result.held
    yield from held((value for value in there if there[value]), [value for value in there if not there[value]])


def fact_names(options: Options) -> set[str]:
    names = {"judged", "passed", "hard_failure", "error", "no_evidence", "overall", "empty"}
    return names | {*DIMENSIONS, *(f"asks_{name}" for name in DIMENSIONS), *(HAS + value for value in NEEDS.values())}


def metrics(options: Options) -> dict[str, Metric]:
    """Those metrics of the reasoning suite that a report's results tell."""
    known = reasoning_metrics(ReasoningOptions())
    told = {metric: known[metric] for metric, _, _ in BARS.values()}
    return {
        name: msgspec.structs.replace(metric, needs=(NEEDS[name],) if name in NEEDS else (), optional=True)
        for name, metric in told.items()
    }


def aliases(options: Options) -> dict[str, str]:
    return ALIASES


def gates(context: Context) -> list[Gate]:
    return default_gates(BARS)


def wanted(options: Options) -> list[Gate]:
    return named_gates(options, metrics(options), ALIASES)


def read(sources: Sources, options: Options) -> Material:
    """The results of a report, each a record; a report that contradicts itself is refused here."""
    report = Input(path="<report>")
    results = read_results(sources["report"], report)
    return Material(
        context=Context(options=options),
        streams={"report": Stream({result.id: result for result in results}, report, Table())},
        reads={"report": report},
    )


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    """Errors stay within their bar, or nothing is decided, whichever gates were chosen."""
    total, errors = findings.tally["items"], findings.tally["error"]
    most = BARS["max_error_rate"].default
    if any(one.gate.key == "error_rate" for one in findings.outcomes) or errors <= most * total:
        return findings.outcomes, []
    return findings.outcomes, [
        f"{errors} of {plural(total, 'case')} could not be judged. Run them again, or say how many may be left out "
        f"with --max-error-rate"
    ]


def explain(findings: Findings) -> Explanation:
    total, errors = findings.tally["items"], findings.tally["error"]
    why = "ended in an error or had no evidence" if findings.tally["no_evidence"] else "ended in an error"
    left_out = [f"judged without {errors} of {plural(total, 'case')}, which {why}"] if errors else []
    return Explanation(
        reasons=[*left_out, *findings.reasons],
        counts={name: findings.tally[name] for name in ("items", "passed", "error")},
        headline={"checks": checks(findings.outcomes), "passed": findings.ships},
    )


def checks(outcomes: Iterable[Outcome]) -> list[dict[str, object]]:
    """The bars under the names of their flags; a gate of another metric goes by its own."""
    flags = {metric: name for name, (metric, _, _) in BARS.items()}
    return [
        {
            "bar": flags.get(outcome.gate.key, outcome.gate.key),
            "value": number(outcome.measure.value),
            "bound": number(outcome.bound),
            "n": outcome.measure.n,
            "holds": outcome.holds,
        }
        for outcome in outcomes
    ]


class ResultRow(msgspec.Struct, gc=False):
    """What a report says about one case, as the report of the guard has it."""

    qid: str
    status: str
    passed: bool
    overall: float | int | None
    hard_failures: list[str]


def judge(case: Case, context: Context) -> Iterator[Judged]:
    """A row for each result under one id; a sound report has one. What is judged is the whole of them."""
    results: list[Result] = case.records["report"]
    for place, one in enumerate(results):
        row = ResultRow(one.id, one.status, one.passed, number(one.overall), list(one.hard_failures))
        facts = tuple(result_facts(one))
        named = lacks_of(fact for fact in facts if isinstance(fact, str))
        yield Judged(row, (Counts(facts, named=named),), (one.id, place))


SUITE = Suite(
    name="guard",
    description="May a finished reasoning report be relied on?",
    inputs=(InputSpec("report", "A JSON report of `reason run` or `reason score`."),),
    options=Options,
    read=read,
    judge=judge,
    fact_names=fact_names,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    wanted=wanted,
    review=review,
    explain=explain,
    configurable=False,
    display=Display(counts={"error": "failed"}, passes=Passing("passed", True)),
)
