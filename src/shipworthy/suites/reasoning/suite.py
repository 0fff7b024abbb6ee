"""Reasoning: are answers correct, grounded, decisive and useful, or do they only look so?"""

from __future__ import annotations

from operator import attrgetter

from msgspec.structs import replace

from ...core.sources import Input
from ...core.suite import InputSpec, Material, Sources, Suite
from . import explain
from .contracts import read_fixture, stream_answers
from .controls import controls
from .judge import Context, judge, unjudged
from .metrics import aliases, count_overlap, facts, gates, metrics
from .options import Options


def read(sources: Sources, options: Options) -> Material:
    """The cases of a fixture, answers as a stream; of several answers to a case the last one counts."""
    fixture, answers = read_fixture(sources.get("fixture")), Input()
    cases = fixture.cases[: options.max_cases]
    thresholds = replace(fixture.thresholds, **options.bars())
    return Material(
        context=Context(options=options, fixture=replace(fixture, cases=(), thresholds=thresholds)),
        expected={case.id: case for case in cases},
        streams={"answers": stream_answers(sources["answers"], answers)},
        reads={"fixture": Input(path=fixture.path, digest=fixture.digest, records=len(cases)), "answers": answers},
        keep={"answers": "last"},
    )


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
    unjudged=unjudged,
    facts=facts,
    rows=explain.rows,
    offences=explain.offences,
    key=attrgetter("case_id"),
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    part=count_overlap,
    explain=explain.explain,
    controls=controls,
)
