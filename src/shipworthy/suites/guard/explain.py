"""What the guard says: each bar under the name of its flag, and a row for each result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...core.decision import number
from ...core.evidence import Counts, Judged
from ...core.gates import Outcome
from ...core.join import Case
from ...core.suite import Explanation, Findings
from ...core.tally import lacks_of
from ...text import plural
from .metrics import result_facts
from .options import BARS, Context
from .results import Result


def review(findings: Findings) -> tuple[list[Outcome], list[str]]:
    """Errors stay within their bar, or nothing is decided, whichever gates were chosen."""
    total, errors = findings.tally["items"], findings.tally["error"]
    _, _, most = BARS["max_error_rate"]
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


def judge(case: Case, context: Context) -> Iterator[Judged]:
    """A row for each result under one id; a sound report has one. What is judged is the whole of them."""
    results: list[Result] = case.records["report"]
    for place, result in enumerate(results):
        row = {
            "qid": result.id,
            "status": result.status,
            "passed": result.passed,
            "overall": number(result.overall),
            "hard_failures": list(result.hard_failures),
        }
        facts = tuple(result_facts(result))
        named = lacks_of(fact for fact in facts if isinstance(fact, str))
        yield Judged(row, (Counts(facts, named=named),), (result.id, place))
