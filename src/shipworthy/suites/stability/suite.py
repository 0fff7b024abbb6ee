"""Stability: do seeds and harmless rewording change the answer?"""

from __future__ import annotations

from functools import partial

import msgspec

from ...core.contracts import DetailedTrace
from ...core.decision import Display
from ...core.sources import ANSWERS, Input, file_input, gold_stream, stream_traces
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.lock import lock_problems
from ...reading.reports import Passing
from ..answers.judge import Judging
from ..answers.options import id_map_file, slice_fields
from . import explain, pooled, sensitivity
from .controls import controls
from .grid import run_of
from .metrics import (
    ALIASES,
    ASIDE,
    fact_names,
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
from .verdict import Context


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
        watch=GoldRemarks,
        streams={"runs": stream},
        runs={"runs": partial(run_of, options=options)},
        reads=reads,
        incomplete=lock_problems(sources["gold"], options.map),
    )


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
    judge=explain.judge,
    card=explain.card,
    fact_names=fact_names,
    asides=(ASIDE, pooled.PART, sensitivity.PART, REFERENCE),
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
