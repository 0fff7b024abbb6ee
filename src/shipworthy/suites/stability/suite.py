"""Stability: do seeds and harmless rewording change the answer?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Self

import msgspec

from ...core.contracts import DetailedTrace, Gold
from ...core.decision import Display
from ...core.sources import ANSWERS, ExpectedTexts, Input, file_input, gold_stream, stream_traces
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.lock import lock_problems
from ...reading.reports import Passing
from ..answers.judge import Judging
from ..answers.options import id_map_file, slice_fields
from . import explain, metrics, reference
from .controls import controls
from .grid import StabilitySurvey, axes_of, run_of
from .judge import Context, card, judge
from .options import Options

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


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
    return Material(
        context=_context(options),
        gold=questions,
        watch=None if as_reference else GoldRemarks,
        streams={"runs": stream},
        runs={} if as_reference else {"runs": partial(run_of, options=options)},
        last_wins=as_reference,
        by_records=as_reference,
        reads=reads,
        incomplete=lock_problems(sources["gold"], options.map),
    )


def _context(options: Options) -> Context:
    bars, _ = metrics.split_gates(options)
    return Context(
        options=options,
        judging=Judging.of(options),
        bars=tuple(bars),
        referred=metrics.referred_bars(options),
        bounds=reference.bounds(bars),
    )


class GoldRemarks(ExpectedTexts):
    """What gold items say that the gates hang on, besides what all of them must say."""

    def __init__(self) -> None:
        super().__init__()
        self.paraphrased = False  # some item has paraphrases

    def meet(self, item: Gold, line: int) -> object:
        self.paraphrased = self.paraphrased or bool(item.paraphrases)
        return super().meet(item, line)

    def __iadd__(self, other: Self) -> Self:
        super().__iadd__(other)
        self.paraphrased = self.paraphrased or other.paraphrased
        return self


def survey(context: Context) -> StabilitySurvey | None:
    return None if context.options.profile == "reference" else StabilitySurvey(context.options)


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """The context with the sweep that is judged and the grid that its runs span."""
    surveyed = gathered.survey
    assert isinstance(surveyed, StabilitySurvey) and isinstance(gathered.watch, GoldRemarks)
    options = context.options
    sweep = surveyed.sweeps.choose(options.sweep, material.reads["runs"].files)
    runs = surveyed.chosen(sweep)
    runs.require_one_arm(options.arm)
    if options.closed:
        runs.unknown.refuse()
    axes = axes_of(runs.cells, max(runs.unlabelled.values(), default=0), options)
    return msgspec.structs.replace(context, sweep=sweep, axes=axes, paraphrased=gathered.watch.paraphrased)


def aliases(options: Options) -> dict[str, str]:
    return metrics.ALIASES


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
    card=card,
    fact_names=metrics.fact_names,
    facts=metrics.facts,
    asides=(metrics.ASIDE, metrics.POOLED, metrics.SENSITIVITY, reference.PART),
    metrics=metrics.metrics,
    aliases=aliases,
    wanted=metrics.wanted,
    gates=metrics.gates,
    review=explain.review,
    explain=explain.explain,
    terms=metrics.question_words,
    shown=explain.shown,
    reference=reference.reference,
    controls=controls,
    refers_to="answers",
    display=Display(counts={"missing": "missing"}, passes=Passing("state", "pass"), pictures={"sensitivity": "flips"}),
)
