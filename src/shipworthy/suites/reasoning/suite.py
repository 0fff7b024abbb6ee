"""Reasoning: are answers correct, grounded, decisive and useful, or do they only look so?"""

from __future__ import annotations

from msgspec.structs import replace

from ...core.decision import Display
from ...core.inputs import Input, Stream, Table
from ...core.join import Once
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.reports import Passing
from . import explain
from .contracts import Context, Options, ReasonerAnswer, read_fixture, stream_answers
from .controls import controls
from .judge import card, judge
from .metrics import aliases, count_overlap, fact_names, gates, metrics


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
    review=explain.review,
    explain=explain.explain,
    controls=controls,
    display=Display(
        counts={"refused": "refused", "empty": "empty", "error": "failed"},
        passes=Passing("passed", True),
        reasons=explain.REASONS,
        pictures={"dimensions": "averages"},
    ),
)
