"""Guard: a finished reasoning report, its results counted again, held against bars that a release must clear."""

from __future__ import annotations

from ...core.decision import Display
from ...core.inputs import Input, Stream, Table
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.reports import Passing
from . import explain
from .metrics import aliases, fact_names, gates, metrics, wanted
from .options import Context, Options
from .results import read_results


def read(sources: Sources, options: Options) -> Material:
    """The results of a report, each a record; a report that contradicts itself is refused here."""
    report = Input(path="<report>")
    results = read_results(sources["report"], report)
    return Material(
        context=Context(options=options),
        streams={"report": Stream({result.id: result for result in results}, report, Table())},
        reads={"report": report},
    )


SUITE = Suite(
    name="guard",
    description="May a finished reasoning report be relied on?",
    inputs=(InputSpec("report", "A JSON report of `reason run` or `reason score`."),),
    options=Options,
    read=read,
    judge=explain.judge,
    fact_names=fact_names,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    wanted=wanted,
    review=explain.review,
    explain=explain.explain,
    configurable=False,
    display=Display(counts={"error": "failed"}, passes=Passing("passed", True)),
)
