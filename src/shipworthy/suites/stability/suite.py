"""Stability: do seeds and harmless rewording change the answer?"""

from __future__ import annotations

from functools import partial

import msgspec

from ...core.contracts import DetailedTrace, Gold
from ...core.decision import Display
from ...core.join import Case
from ...core.sources import ANSWERS, Input, file_input, gold_stream, stream_traces
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.lock import lock_problems
from ...reading.reports import Passing
from ..answers.judge import Judging
from ..answers.options import id_map_file, slice_fields
from . import explain, pooled, sensitivity
from .controls import controls
from .grid import run_of
from .judge import judge, prepare
from .metrics import (
    ALIASES,
    ASIDE,
    fact_names,
    facts,
    gates,
    metrics,
    question_words,
    referred_bars,
    split_gates,
    wanted,
)
from .options import Options
from .reference import PART as REFERENCE
from .reference import bounds, reference
from .survey import GoldRemarks, settle, survey
from .verdict import Context, ExpectedRuns, ReferenceVerdict, Verdict


def read(sources: Sources, options: Options) -> Material:
    """Gold and runs as lines. The reference profile takes its questions from the runs."""
    options = msgspec.structs.replace(options, by=slice_fields(options.by, options.gates))
    as_reference = options.profile == "reference"
    gold, runs = Input(), Input()
    questions = gold_stream(sources["gold"], gold, lenient=options.lenient, by=options.by, map=options.map)
    stream = stream_traces(
        sources["runs"],
        runs,
        record=DetailedTrace,
        lenient=options.lenient,
        unnamed=as_reference,
        map=options.map,
        needs=ANSWERS,
    )
    reads = {"gold": gold, "runs": runs}
    if table := id_map_file(options):
        reads["id_map"] = file_input(table)
    if as_reference:
        return Material(
            context=_context(options),
            streams={"runs": stream},
            gold=questions,
            last_wins=True,
            by_records=True,
            reads=reads,
            incomplete=lock_problems(sources["gold"], options.map),
        )
    context = _context(options)
    return Material(
        context=context,
        gold=questions,
        ready=partial(_ready, judging=context.judging),
        watch=GoldRemarks,
        streams={"runs": stream},
        runs={"runs": partial(run_of, options=options)},
        reads=reads,
        incomplete=lock_problems(sources["gold"], options.map),
    )


def _ready(item: Gold, place: int, judging: Judging) -> ExpectedRuns:
    return prepare(item, place, judging)


def _context(options: Options) -> Context:
    bars, _ = split_gates(options)
    return Context(
        options=options,
        judging=Judging.of(options),
        bars=tuple(bars),
        referred=referred_bars(options),
        bounds=bounds(bars),
    )


def aliases(options: Options) -> dict[str, str]:
    return ALIASES


def unjudged(case: Case, verdict: Verdict | ReferenceVerdict) -> bool:
    """A question that the judged sweep has no run of, or a run that failed: it says nothing about the others."""
    if isinstance(verdict, ReferenceVerdict):
        return verdict.lost
    return not verdict.runs or any(run.status == "error" for run in verdict.runs)


SUITE = Suite(
    name="stability",
    description="Do seeds and harmless rewording change the answers?",
    inputs=(
        InputSpec("gold", "Gold set, JSON lines (.gz and .zst are read as they are)."),
        InputSpec("runs", "The runs, JSON lines.", flags=("--stability", "--runs"), driven=True, many=True),
    ),
    options=Options,
    read=read,
    survey=survey,
    settle=settle,
    judge=judge,
    unjudged=unjudged,
    fact_names=fact_names,
    facts=facts,
    asides=(ASIDE, pooled.PART, sensitivity.PART, REFERENCE),
    rows=explain.rows,
    offences=explain.offences,
    metrics=metrics,
    aliases=aliases,
    wanted=wanted,
    gates=gates,
    review=explain.review,
    explain=explain.explain,
    terms=question_words,
    shown=explain.shown,
    reference=reference,
    controls=controls,
    refers_to="answers",
    display=Display(counts={"missing": "missing"}, passes=Passing("state", "pass"), pictures={"sensitivity": "flips"}),
)
