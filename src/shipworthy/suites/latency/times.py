"""What a trace says about time: on which arm, end to end and per stage, exactly as written; and its question."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import NamedTuple

import msgspec

from ...core.contracts import Trace
from ...core.tally import Fact

ONLY = "default"  # the arm of traces that name none
STAGES = ("retrieval", "rerank", "llm", "guard")
SHORT, LONG = 50, 200  # words
MOST = 1e12  # thirty years in milliseconds: beyond that it is no latency but a slip of units
PLACES = 18
# Times are counted in so small a unit that practically every number of a log is a whole one: whole numbers are exact,
# and a hundred times faster to sort than fractions.
PER_MS: int = 10**PLACES

_WIDE = Context(prec=40)  # a float is written in 17 digits, so that moving the point never rounds

Ticks = int | Fraction


class Times(NamedTuple):
    """Ticks, never rounded; None where the trace does not say."""

    total: Ticks | None
    stages: dict[str, Ticks]
    summed: bool  # the total is only the sum of the stages, so a lower bound


def times_of(trace: Trace, summed: frozenset[str] = frozenset()) -> Times:
    """Where no run has a total, it is the sum of the stages that all have; a run that lacks one has no total."""
    stages = {name: ticks(value) for name, value in stages_of(trace).items()}
    given = total_of(trace)
    if given is not None:
        return Times(ticks(given), stages, False)
    total = sum(stages.values()) if summed and summed <= stages.keys() else None
    return Times(total, stages, total is not None)


def problem_of(trace: Trace) -> str:
    """What is wrong with the numbers of a trace, or nothing."""
    numbers = {
        "e2e_ms": trace.e2e_ms,
        "latency_total_ms": trace.latency_total_ms,
        "cost_usd": trace.cost_usd,
        "load_rps": trace.load_rps,
    }
    if isinstance(trace.latency_ms, (int, float)):
        numbers["latency_ms"] = trace.latency_ms
    numbers |= {f"stage_ms.{name}": value for name, value in stages_of(trace).items()}
    for name, value in numbers.items():
        if value is not None and not 0 <= value <= MOST:
            return f"{name}: expected a number between 0 and {MOST:g}, got {value:g}"
    return ""


def ticks(milliseconds: float) -> Ticks:
    """81.234 ms as it was written, and not as binary floating point stores it."""
    exact = Decimal(repr(milliseconds)).scaleb(PLACES, _WIDE)
    whole = int(exact)
    return whole if whole == exact else Fraction(exact)


def in_ticks(milliseconds: Fraction) -> Ticks:
    exact = milliseconds * PER_MS
    return exact.numerator if exact.denominator == 1 else exact


def in_ms(counted: Ticks) -> Fraction:
    return Fraction(counted) / PER_MS


def length_of(question: str) -> str:
    """short below 50 words, long above 200, medium between."""
    words = len(question.split())
    return "short" if words < SHORT else "medium" if words <= LONG else "long"


def total_of(trace: Trace) -> float | None:
    if trace.e2e_ms is not None:
        return trace.e2e_ms
    if trace.latency_total_ms is not None:
        return trace.latency_total_ms
    return trace.latency_ms if isinstance(trace.latency_ms, (int, float)) else None


def stages_of(trace: Trace) -> Mapping[str, float]:
    if trace.stage_ms:
        return trace.stage_ms
    return trace.latency_ms if isinstance(trace.latency_ms, dict) else {}


def arm_of(trace: Trace) -> str:
    """The arm's name, or its knobs in canonical form."""
    if trace.arm:
        return trace.arm
    return msgspec.json.encode(trace.knobs, order="sorted").decode() if trace.knobs else ONLY


class TimedRun(msgspec.Struct):
    """The facts about one run."""

    qid: str
    times: Times
    failed: bool
    correct: bool
    cost: Fraction | None
    load: float | None
    length: str
    slices: tuple[str, ...]
    said: tuple[Fact, ...] = ()  # which values that gates on answers need it has and lacks

    @property
    def took(self) -> Ticks | None:
        """How long it took, if it worked and says so."""
        return None if self.failed else self.times.total
