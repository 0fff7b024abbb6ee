"""Guard: a finished reasoning report, its results counted again, held against bars that a release must clear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ...core.decision import Display, number
from ...core.evidence import Counts, Judged
from ...core.gates import Outcome
from ...core.inputs import Input, Stream, Table
from ...core.join import Case
from ...core.suite import Explanation, Findings, InputSpec, Material, Sources, Suite
from ...core.tally import lacks_of
from ...reading.reports import Passing
from ...text import plural
from .metrics import aliases, fact_names, gates, metrics, result_facts, wanted
from .options import BARS, Context, Options
from .results import Result, read_results


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
    names = {metric: name for name, (metric, _, _) in BARS.items()}
    return [
        {
            "bar": names.get(outcome.gate.key, outcome.gate.key),
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
