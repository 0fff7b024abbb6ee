"""Outcomes: what people did with the answers against its bars, and the score of a report beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...core.decision import Display
from ...core.sources import Input
from ...core.suite import InputSpec, Material, Sources, Suite
from . import explain
from .judge import Context, Options, card, judge, run_id_of, scores_of, stream_feedback
from .metrics import aliases, fact_names, facts, gates, metrics, wanted

if TYPE_CHECKING:
    from ..guard.results import Report


def read(sources: Sources, options: Options) -> Material:
    """Rows as a stream, and the scores of a report where there is one."""
    rows = Input()
    reads = {"outcomes": rows}
    report = _report(sources, reads)
    return Material(
        context=Context(options=options, scores=scores_of(report), run_id=run_id_of(report), joined="report" in reads),
        streams={"outcomes": stream_feedback(sources["outcomes"], rows)},
        reads=reads,
    )


def _report(sources: Sources, reads: dict[str, Input]) -> Report:
    source = sources.get("report")
    if source is None:
        return {}
    reads["report"] = Input(path="<report>")
    if isinstance(source, Mapping):
        return source
    from ..guard.results import load_reasoning_report

    return load_reasoning_report(source, reads["report"])


SUITE = Suite(
    name="outcomes",
    description="Did people accept the answers and act on them? By week, model and preset.",
    inputs=(
        InputSpec("outcomes", "Outcomes, one JSON object per line.", flags=("--input",), many=True),
        InputSpec("report", "Evaluation report: does its score predict what people accept?", False),
    ),
    options=Options,
    read=read,
    judge=judge,
    card=card,
    fact_names=fact_names,
    facts=facts,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    wanted=wanted,
    explain=explain.explain,
    shown=explain.options_shown,
    display=Display(reasons=explain.REASONS, production=True),
)
