"""What the guard says: each bar under the name of its flag, and a row for each result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...core.decision import number
from ...core.evidence import Order, Row
from ...core.gates import Outcome
from ...core.suite import Explanation, Findings
from .judge import Context
from .options import BARS
from .results import Result


def explain(findings: Findings) -> Explanation:
    return Explanation(
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


def rows(results: Sequence[Result], context: Context) -> Iterator[tuple[Order, Row]]:
    """One row a result, by id."""
    for place, result in enumerate(results):
        yield (
            (result.id, place),
            {
                "qid": result.id,
                "status": result.status,
                "passed": result.passed,
                "overall": number(result.overall),
                "hard_failures": list(result.hard_failures),
            },
        )
