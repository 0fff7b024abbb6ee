"""What the guard counts of a report's results, and the bars that they must clear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.evidence import Counted
from ...core.gates import Gate, gate_of, parse_gates
from ...core.metrics import Metric
from ...core.tally import Fact
from ..reasoning.contracts import DIMENSIONS
from ..reasoning.metrics import ALIASES
from ..reasoning.metrics import metrics as reasoning_metrics
from ..reasoning.options import Options as ReasoningOptions
from .judge import Context
from .options import BARS, Options
from .results import Result


def facts(results: Sequence[Result], context: Context) -> Iterator[Counted]:
    for result in results:
        yield Counted(tuple(result_facts(result)))


def result_facts(result: Result) -> Iterator[Fact]:
    """What one result of a report says."""
    yield "items"
    if result.passed:
        yield "passed"
    if result.failed_hard:
        yield "hard_failure"
    if result.error:
        yield "error"
    elif result.overall is not None:
        yield "overall", result.overall
    if result.blank and not result.error:
        yield "empty"
    for name in DIMENSIONS:
        score = result.scores[name]
        if name in result.asked and score is not None:
            yield f"asks_{name}"
            yield name, score


def metrics(options: Options) -> dict[str, Metric]:
    """Those metrics of the reasoning suite that a report's results tell."""
    known = reasoning_metrics(ReasoningOptions())
    return {metric: known[metric] for metric, _, _ in BARS.values()}


def aliases(options: Options) -> dict[str, str]:
    return ALIASES


def gates(context: Context) -> list[Gate]:
    """Every bar at its default."""
    return [gate_of(metric, op, default) for metric, op, default in BARS.values()]


def wanted(options: Options) -> list[Gate]:
    """The bars that were named, and gates by their metrics' names."""
    return [*options.bars(), *parse_gates(options.gates, metrics(options), ALIASES)]
