"""Stability: do seeds and harmless rewording change the answer?"""

from __future__ import annotations

from typing import Any

import msgspec

from ...core.contracts import DetailedTrace
from ...core.sources import GoldSet, Input, file_input, load_gold, require_answerable, stream_traces
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.lock import lock_problems
from ..answers.judge import Judging
from ..answers.options import id_map_file, slice_fields
from . import explain
from .controls import controls
from .judge import judge, prepare
from .metrics import ALIASES, facts, gates, metrics, split_gates, wanted
from .options import Options
from .reference import bounds, reference
from .survey import settle, survey
from .verdict import Context


def read(sources: Sources, options: Options) -> Material:
    """Gold made ready once, runs as a stream. The reference profile takes its questions from the runs."""
    options = msgspec.structs.replace(options, by=slice_fields(options.by, options.gates))
    as_reference = options.profile == "reference"
    gold = load_gold(sources["gold"], lenient=options.lenient, last_wins=as_reference, by=options.by)
    runs = Input()
    stream = stream_traces(sources["runs"], runs, record=DetailedTrace, lenient=options.lenient, unnamed=as_reference)
    reads = {"gold": gold.source, "runs": runs}
    if table := id_map_file(options):
        reads["id_map"] = file_input(table)
    make = _by_runs if as_reference else _by_gold
    return Material(streams={"runs": stream}, reads=reads, **make(sources, options, gold))


def _by_runs(sources: Sources, options: Options, gold: GoldSet) -> dict[str, Any]:
    return {"context": _context(options, gold=gold.items)}


def _by_gold(sources: Sources, options: Options, gold: GoldSet) -> dict[str, Any]:
    require_answerable(gold)
    context = _context(options, paraphrased=any(item.paraphrases for item in gold.items.values()))
    questions = enumerate(gold.items.items())
    return {
        "context": context,
        "expected": {qid: prepare(item, place, context.judging) for place, (qid, item) in questions},
        "incomplete": lock_problems(sources["gold"]),
    }


def _context(options: Options, **more: Any) -> Context:
    bars, _ = split_gates(options)
    return Context(options=options, judging=Judging.of(options), bars=tuple(bars), bounds=bounds(bars), **more)


def aliases(options: Options) -> dict[str, str]:
    return ALIASES


SUITE = Suite(
    name="stability",
    description="Do seeds and harmless rewording change the answers?",
    inputs=(
        InputSpec("gold", "Gold set, JSON lines (.gz and .zst are read as they are)."),
        InputSpec("runs", "The runs, JSON lines.", flags=("--stability", "--runs"), driven=True),
    ),
    options=Options,
    read=read,
    survey=survey,
    settle=settle,
    judge=judge,
    facts=facts,
    rows=explain.rows,
    offences=explain.offences,
    metrics=metrics,
    aliases=aliases,
    wanted=wanted,
    gates=gates,
    review=explain.review,
    explain=explain.explain,
    shown=explain.shown,
    reference=reference,
    controls=controls,
)
