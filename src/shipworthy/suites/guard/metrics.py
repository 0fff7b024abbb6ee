"""What the guard counts of a report's results, and the bars that they must clear."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...core.gates import Gate
from ...core.metrics import Metric
from ...core.tally import HAS, Fact, held
from ..bars import default_gates, named_gates
from ..reasoning.contracts import DIMENSIONS
from ..reasoning.metrics import ALIASES
from ..reasoning.metrics import metrics as reasoning_metrics
from ..reasoning.options import Options as ReasoningOptions
from .options import BARS, Context, Options
from .results import HARD, OVERALL, Result, score_value

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
