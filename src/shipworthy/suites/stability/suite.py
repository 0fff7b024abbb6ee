"""Stability: do seeds and harmless rewording change the answer?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from ...core.contracts import DetailedTrace, Gold
from ...core.control import Control, Setup, draws, with_gold
from ...core.decision import Display
from ...core.evidence import Row
from ...core.sources import ANSWERS, ExpectedTexts, Input, file_input, gold_stream, stream_traces
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.lock import lock_problems
from ...reading.reports import Passing
from ..answers.judge import Judging
from ..answers.material import ControlAnswers, least_length
from ..answers.options import id_map_file, slice_fields
from . import explain, metrics, reference
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


# --- controls: coin flips, constant answers, a jitter that breaks; and the same right answer ---

SEEDS = (1, 2, 3)
JITTERS = ("none", "ws", "punct")


class GridPlace(NamedTuple):
    """Which run of a question."""

    number: int
    seed: int
    jitter: str


def controls(setup: Setup) -> Iterator[Control]:
    """The runs over the grid that the options name, or over three seeds and three jitters; the good one first."""
    return with_gold(setup.gold, _controls(setup))


def _controls(setup: Setup) -> Iterator[Control]:
    made = ControlAnswers(setup.gold, least_length(setup.options))
    seeds, jitters = setup.options.get("seeds") or SEEDS, setup.options.get("jitters") or JITTERS
    grid = [GridPlace(n, *cell) for n, cell in enumerate((seed, jitter) for seed in seeds for jitter in jitters)]

    def runs(answer: Callable[[Gold, GridPlace], Row]) -> dict[str, list[Row]]:
        return {
            "runs": [
                answer(item, place) | {"seed": place.seed, "jitter": place.jitter}
                for item in made.items
                for place in grid
            ]
        }

    yield Control(name="the same right answer in every run", good=True, data=runs(lambda item, _: made.right(item)))
    yield Control(
        name="coin flips",
        data=runs(_coins(made, len(grid))),
        skip="" if len(grid) > 1 else "the grid has one run, and nothing to differ from it",
    )
    yield Control(
        name="constant answers",
        data=runs(lambda item, _: made.right(item) if item.answerable else made.wrong(item)),
        skip="" if made.unanswerable else "the gold set has no unanswerable question",
    )
    spoilt = sum(map(made.can_be_wrong, made.answerable))
    yield Control(
        name="the same wrong answer in every run",
        skip=made.too_few(spoilt, "have a claim that can be missed"),
        data=runs(lambda item, _: made.wrong(item) if item.answerable else made.refusal(item)),
    )
    last = jitters[-1]
    broken = runs(lambda item, place: made.refusal(item) if place.jitter == last else made.right(item))
    yield Control(name="one jitter breaks", data=broken, skip=_no_jitter(made, jitters))


def _coins(made: ControlAnswers, runs: int) -> Callable[[Gold, GridPlace], Row]:
    """Answer or refuse, whichever the coin says; no question gets the same side throughout."""
    thrown = iter(draws(len(made.items) * runs, 2))
    sides: dict[str, list[int]] = {}
    for item in made.items:
        own = [next(thrown) for _ in range(runs)]
        sides[item.qid] = [1 - own[-1], *own[1:]]

    def answer(item: Gold, place: GridPlace) -> Row:
        if not sides[item.qid][place.number]:
            return made.refusal(item)
        return made.right(item) if item.answerable else made.wrong(item)

    return answer


def _no_jitter(made: ControlAnswers, jitters: Iterable[str]) -> str:
    if len(list(jitters)) < 2:
        return "the grid has one jitter, and no other to differ from it"
    return "" if made.answerable else "the gold set has no answerable question"


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
    display=Display(
        counts={"missing": "missing"},
        passes=Passing("state", "pass"),
        reasons=metrics.REASONS,
        pictures={"sensitivity": "flips"},
    ),
)
