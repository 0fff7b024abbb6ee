"""Latency against accuracy: how long a validated answer takes, on each arm, and what that time buys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

import msgspec

from ...core.contracts import Trace
from ...core.control import Control, Setup, with_gold
from ...core.decision import Display
from ...core.evidence import Row
from ...core.gates import parse_gates
from ...core.sources import ANSWERS, Answerable, Input, file_input, gold_stream, stream_traces
from ...core.suite import InputSpec, Material, Sources, Suite
from ...reading.lock import lock_problems
from ..answers.explain import SCOPE
from ..answers.judge import Judging
from ..answers.material import ControlAnswers, least_length
from ..answers.options import id_map_file
from . import arms, explain
from .judge import card, judge
from .metrics import LOAD, aliases, compared, fact_names, gate_key, gates, metrics
from .options import Context, Options
from .times import in_ticks, problem_of


def read(sources: Sources, options: Options) -> Material:
    """Gold and timed traces as lines."""
    options = msgspec.structs.replace(options, k=tuple(dict.fromkeys(options.k)))
    budget = _budget(options)
    judging = Judging.of(options)
    gold, trace = Input(), Input()
    reads = {"gold": gold, "trace": trace}
    if sources.get("baseline") is not None:
        reads["baseline"] = Input()  # read when the gold set is known, which must be the same
    if table := id_map_file(options):
        reads["id_map"] = file_input(table)
    return Material(
        context=Context(
            options=options,
            judging=judging,
            budget_ms=budget,
            slow_after=in_ticks(Fraction(budget)),
            baseline_source=sources.get("baseline"),
        ),
        gold=gold_stream(sources["gold"], gold, lenient=options.lenient, map=options.map),
        watch=Answerable,
        streams={
            "trace": stream_traces(
                sources["trace"], trace, lenient=options.lenient, map=options.map, needs=ANSWERS, check=untimed
            )
        },
        reads=reads,
        incomplete=lock_problems(sources["gold"], options.map),
    )


def _budget(options: Options) -> str:
    """A p95 gate that was given by hand is the budget; of several the last one is in force."""
    named = parse_gates(options.gates, metrics(options), aliases(options))
    given = [gate.bound.text for gate in named if gate.key == "p95" and not gate.bound.sign]
    return given[-1] if given else options.budget


def untimed(trace: Trace) -> tuple[str, str, str] | None:
    """A trace whose numbers are no numbers is a bad line like any other."""
    problem = problem_of(trace)
    return (problem, "Write latencies in milliseconds.", "latency-number") if problem else None


# --- controls: slow, untimed, fast but wrong; and fast and right ---

BUDGET_MS = 2000.0
FAST_MS = 10.0  # within any budget of a pipeline that has something to do
SLOW = 3.0  # times the budget
STAGES = {"retrieval": 0.2, "rerank": 0.1, "llm": 0.6, "guard": 0.1}  # shares of the whole
COST = 0.001


def controls(setup: Setup) -> Iterator[Control]:
    """The runs, the good one first; they are well within what the user calls fast enough, or well beyond."""
    return with_gold(setup.gold, _controls(setup))


def _controls(setup: Setup) -> Iterator[Control]:
    made, budget = ControlAnswers(setup.gold, least_length(setup.options)), _fast_enough(setup)
    fast = min(FAST_MS, budget / 4)
    right = [made.right(item) for item in made.items]
    yield Control(name="fast and right", good=True, data=_timed(right, [fast] * len(right)))
    # Every fifth run is slow: the median looks well, the 95th percentile does not.
    times = [SLOW * budget if number % 5 == 0 else fast for number in range(len(right))]
    yield Control(name="slow p95", data=_timed(right, times))
    rows, skip = made.claims_wrong()
    yield Control(name="fast but wrong", data=_timed(rows, [fast] * len(rows)), skip=skip)
    yield Control(name="runs without times", data={"trace": right})


def _fast_enough(setup: Setup) -> float:
    """What the user calls fast enough: the budget, else their p95 gate, else the default."""
    given = setup.options.get("budget_ms")
    if given is not None:
        return float(given)
    written = re.findall(r"(?<![\w.])p95\s*(?:<=|≤|==?)\s*([0-9.]+)", " ".join(map(str, setup.gates)))
    return float(written[-1]) if written else BUDGET_MS


def _timed(rows: Iterable[Row], times: Iterable[float]) -> dict[str, list[Row]]:
    return {"trace": [_with_time(row, ms) for row, ms in zip(rows, times, strict=True)]}


def _with_time(row: Row, ms: float) -> Row:
    stages = {name: ms * share for name, share in STAGES.items()}
    return row | {"e2e_ms": ms, "stage_ms": stages, "cost_usd": COST}


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
    survey=arms.LatencySurvey,
    settle=arms.settle,
    judge=judge,
    card=card,
    brief=True,
    fact_names=fact_names,
    compared=compared,
    slice_values={"load": LOAD},
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    gate_key=gate_key,
    part=arms.part,
    baseline=arms.baseline,
    review=arms.review,
    explain=explain.explain,
    shown=explain.shown,
    controls=controls,
    refers_to="answers",
    display=Display(counts=SCOPE, reasons=explain.REASONS, pictures={"curve": "speed by quality"}),
)
