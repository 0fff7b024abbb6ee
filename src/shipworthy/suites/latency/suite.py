"""Latency against accuracy: how long a validated answer takes, on each arm, and what that time buys."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import msgspec

from ...core.cases import Numbered
from ...core.contracts import Gold, Trace
from ...core.decision import Display
from ...core.gates import parse_gates
from ...core.sources import (
    ANSWERS,
    GoldSet,
    Input,
    Stream,
    TraceSource,
    close_traces,
    file_input,
    load_gold,
    require_answerable,
    trace_records,
)
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.jsonl import Problem
from ...reading.lock import lock_problems
from ..answers.explain import SCOPE
from ..answers.judge import Expected, Judging, expect
from ..answers.options import id_map_file
from . import deciding, explain
from .baseline import read_baseline
from .controls import controls
from .judge import Context, judge, unjudged
from .metrics import LOAD, aliases, compared, fact_names, facts, gate_key, gates, metrics
from .options import Options
from .survey import settle, survey
from .times import in_ticks, problem_of


def read(sources: Sources, options: Options) -> Material:
    """Gold made ready once, timed traces as a stream."""
    options = msgspec.structs.replace(options, k=tuple(dict.fromkeys(options.k)))
    budget = _budget(options)
    judging = Judging.of(options)
    gold = load_gold(sources["gold"], lenient=options.lenient, map=options.map)
    require_answerable(gold)
    trace = Input()
    reads = {"gold": gold.source, "trace": trace}
    baseline = _baseline(sources, gold, reads)
    if table := id_map_file(options):
        reads["id_map"] = file_input(table)
    return Material(
        context=Context(
            options=options,
            judging=judging,
            budget_ms=budget,
            slow_after=in_ticks(Fraction(budget)),
            baseline=baseline,
        ),
        expected=gold.ready(partial(_ready, judging=judging)),
        streams={
            "trace": Stream(
                sources["trace"], trace, partial(_timed, map=options.map), partial(_close, lenient=options.lenient)
            )
        },
        reads=reads,
        incomplete=lock_problems(sources["gold"], options.map),
    )


def _ready(item: Gold, number: int, line: int, judging: Judging) -> Expected:
    return expect(item, judging)


def _budget(options: Options) -> str:
    """A p95 gate that was given by hand is the budget; of several the last one is in force."""
    named = parse_gates(options.gates, metrics(options), aliases(options))
    given = [gate.bound.text for gate in named if gate.key == "p95" and not gate.bound.sign]
    return given[-1] if given else options.budget


def _baseline(sources: Sources, gold: GoldSet, reads: dict[str, Input]) -> dict[str, Fraction]:
    if sources.get("baseline") is None:
        return {}
    values, reads["baseline"] = read_baseline(sources["baseline"], gold.source)
    return values


def _timed(source: TraceSource, read: Input, *, map: tuple[str, ...]) -> Iterator[Numbered]:
    """The traces whose numbers are numbers; the others are bad lines like any other."""
    for place, trace in trace_records(source, read, record=Trace, unnamed=False, map=map, needs=ANSWERS):
        if problem := problem_of(trace):
            read.values.add(Problem(read.path, place, problem, "Write latencies in milliseconds.", "latency-number"))
        else:
            yield place, trace


def _close(source: TraceSource, read: Input, *, lenient: bool) -> None:
    close_traces(source, read, lenient=lenient, needs=True)
    read.bad += read.values.total
    read.problems = [*read.problems, *map(str, read.values.first)]
    if not lenient:
        read.values.raise_any()


SUITE = Suite(
    name="latency",
    description="Is it fast enough, and what does speed cost in accuracy?",
    inputs=(
        InputSpec("gold", "Gold set, JSON lines."),
        InputSpec("trace", "Traces with latencies (e2e_ms, or stage_ms), JSON lines.", many=True),
        InputSpec("baseline", "Earlier latency report (JSON) on the same gold set, to compare with.", False),
    ),
    options=Options,
    read=read,
    survey=survey,
    settle=settle,
    judge=judge,
    unjudged=unjudged,
    fact_names=fact_names,
    facts=facts,
    compared=compared,
    slice_values={"load": LOAD},
    rows=explain.rows,
    offences=explain.offences,
    sees=explain.sees,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    gate_key=gate_key,
    part=deciding.part,
    baseline=deciding.baseline,
    review=deciding.review,
    explain=explain.explain,
    shown=explain.shown,
    controls=controls,
    refers_to="answers",
    display=Display(counts=SCOPE, reasons=explain.REASONS, pictures={"curve": "speed by quality"}),
)
