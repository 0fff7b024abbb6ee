"""Agreement: do two validators say the same about an answer, and what becomes of it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...core.control import Control, Setup, draws
from ...core.decision import Display
from ...core.evidence import Row
from ...core.inputs import Stream
from ...core.records import is_path
from ...core.sources import ANSWERS, Answerable, Input, file_input, gold_stream, stream_traces
from ...core.suite import InputSpec, Material, Sources, Suite
from ...errors import DataError, UsageError
from ...reading.jsonl import read_objects
from ...reading.lock import lock_problems
from ...reading.reports import Passing
from ..answers.judge import Judging
from ..answers.options import id_map_file
from . import explain
from .judge import Context, Options, card, judge, one_each, stream_pairs, stream_side
from .metrics import SIDES, aliases, fact_names, facts, gates, metrics, wanted

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


def read(sources: Sources, options: Options) -> Material:
    """Pairs; or two validators' labels, with traces for the answers; or gold and traces to derive both labels from."""
    given = {name for name, source in sources.items() if source is not None}
    if given in ({"pairs"}, {"scholar", "auditor"}, {"scholar", "auditor", "trace"}):
        return _labelled(sources, given, options)
    if given == {"gold", "trace"}:
        return _derived(sources, options)
    raise UsageError(
        "no labels were given to compare",
        code="agreement-inputs",
        hint="Give --pairs; or --scholar and --auditor (with --trace); or --gold and --trace.",
    )


def _labelled(sources: Sources, given: set[str], options: Options) -> Material:
    """Pairs as they are written, or joined from two files, with traces for the answers."""
    reads: dict[str, Input] = {name: Input() for name in ("pairs", "scholar", "auditor", "trace") if name in given}
    streams: dict[str, Stream] = {}
    for name, read in reads.items():
        if name == "trace":
            streams[name] = stream_traces(sources[name], read, lenient=options.lenient, map=options.map)
        else:
            one_file = name == "pairs"
            streams[name] = stream_pairs(sources[name], read) if one_file else stream_side(sources[name], name, read)
    return Material(
        context=Context(options=options, source="pairs" if "pairs" in given else "two files"),
        streams=streams,
        reads=reads,
        keep={"trace": "last"},
        once={name: one_each(options.lenient) for name in reads if name != "trace"},
    )


def _derived(sources: Sources, options: Options) -> Material:
    gold, trace, judging = Input(), Input(), Judging.of(options)
    table = id_map_file(options)
    return Material(
        context=Context(options=options, source="derived", judging=judging),
        gold=gold_stream(sources["gold"], gold, lenient=options.lenient, map=options.map),
        watch=Answerable,
        streams={
            "trace": stream_traces(sources["trace"], trace, lenient=options.lenient, map=options.map, needs=ANSWERS)
        },
        reads={"gold": gold, "trace": trace} | ({"id_map": file_input(table)} if table else {}),
        keep={"trace": "last"},
        closed=options.closed,
        incomplete=lock_problems(sources["gold"], options.map),
    )


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """Nothing is decided on nothing: some question has both of its sides."""
    sides = ("scholar", "auditor") if context.source == "two files" else tuple(material.streams)
    if not any(all(case.records[side] for side in sides) for case in gathered.cases()):
        raise DataError(
            "there are no pairs to compare",
            hint='Write lines like {"qid": …, "scholar": {"label": …}, "auditor": {"label": …}}.',
            code="pairs-none",
        )
    return context


# --- controls: chance, prevalence, acceptance against a flag, silence; and perfect agreement ---

LABELS = ("VALID", "NOT_IN_CONTEXT", "REJECT")
ENOUGH = 10  # pairs from which chance does not agree often
RARE = 25  # one in so many answers is rejected, by each validator another one


def controls(setup: Setup) -> Iterator[Control]:
    """Labels for as many answers as the user has: agreement on three pairs proves less than on three hundred."""
    qids = _qids(setup)
    count = len(qids)
    balanced = [LABELS[number % len(LABELS)] for number in range(count)]
    yield Control(name="perfect agreement", good=True, data=_pairs(qids, balanced, balanced))
    thrown = [LABELS[draw] for draw in draws(2 * count, len(LABELS))]
    yield Control(
        name="random labels",
        data=_pairs(qids, thrown[:count], thrown[count:]),
        skip="" if count >= ENOUGH else f"{count} pairs may agree by chance",
    )
    scholar, auditor = ([_rarely(number, turn) for number in range(count)] for turn in (0, RARE // 2))
    yield Control(
        name="both say VALID out of habit",
        data=_pairs(qids, scholar, auditor),
        skip="" if count >= RARE else f"{count} pairs are too few for a habit to show",
    )
    yield from _accepting(qids, balanced)
    often = ["ABSTAIN" if number % 5 == 0 else label for number, label in enumerate(balanced)]
    yield Control(name="abstains one time in five", data=_pairs(qids, often, often))


def _accepting(qids: Sequence[str], balanced: Sequence[str]) -> Iterator[Control]:
    flags = {"provenance_violation": True}
    valid, silent = ["VALID"] * len(qids), ["ABSTAIN"] * len(qids)
    yield Control(name="always VALID against hard flags", data=_pairs(qids, valid, valid, flags))
    yield Control(name="accepts against hard flags", data=_pairs(qids, balanced, balanced, flags))
    yield Control(name="always abstain", data=_pairs(qids, silent, silent))


def _rarely(number: int, turn: int) -> str:
    return "REJECT" if number % RARE == turn else "VALID"


def _qids(setup: Setup) -> list[str]:
    """The questions of the gold set, or of the labels where there is none."""
    labels = setup.inputs.get("pairs") or setup.inputs.get("scholar")
    if setup.gold or not labels:
        return [item.qid for item in setup.gold]
    rows = (row for _, row in read_objects(labels)) if is_path(labels) else labels
    return list(dict.fromkeys(str(row.get("qid")) for row in rows))


def _pairs(
    qids: Sequence[str], scholar: Sequence[str], auditor: Sequence[str], flags: dict[str, bool] | None = None
) -> dict[str, list[Row]]:
    rows = zip(qids, scholar, auditor, strict=True)
    return {
        "pairs": [
            {"qid": qid, "scholar": {"label": one}, "auditor": {"label": other}, "flags": flags}
            for qid, one, other in rows
        ]
    }


SUITE = Suite(
    name="agreement",
    description="Do two validators agree beyond chance?",
    inputs=(
        InputSpec("pairs", "Answers with both labels, JSON lines.", required=False),
        InputSpec("scholar", "The scholar's labels, JSON lines (qid, label, reason).", required=False),
        InputSpec(
            "auditor", "The auditor's labels, in the same format; joined with the scholar's by qid.", required=False
        ),
        InputSpec(
            "trace",
            "Traces: with --scholar and --auditor the labelled answers, with --gold the answers to label.",
            required=False,
            many=True,
        ),
        InputSpec("gold", "Gold set: with --trace, both labels are derived from fixed rules.", required=False),
    ),
    options=Options,
    read=read,
    judge=judge,
    card=card,
    fact_names=fact_names,
    facts=facts,
    asides=(SIDES,),
    settle=settle,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    wanted=wanted,
    review=explain.review,
    explain=explain.explain,
    shown=explain.shown,
    reference=explain.reference,
    controls=controls,
    display=Display(passes=Passing("passed", True), reasons=explain.REASONS, pictures={"confusion": "labels"}),
)
