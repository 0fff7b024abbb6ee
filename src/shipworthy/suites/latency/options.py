"""Options of the latency suite, and what every judgement shares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

import msgspec

from ...core.gates import written
from ...core.options import Opt
from ...errors import UsageError
from ..answers.judge import Judging
from ..answers.options import Accuracy, JudgingOptions, check_depths
from .times import Ticks

_MILLISECONDS = r"[0-9]{1,12}(?:\.[0-9]{1,12})?"


class Options(JudgingOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the latency suite."""

    k: Annotated[tuple[int, ...], Opt("Depth of recall@k: one number or a list.", "N[,N…]")] = (5,)
    scu_enforced: Annotated[
        bool, Opt("Count constraint violations in precision, and gate on them.", flags=("--scu_enforced",))
    ] = False
    budget_ms: Annotated[str, Opt("Highest p95 latency allowed.", "MS", kind="number")] = "2000"
    relaxed_budget_ms: Annotated[
        str | None, Opt("p95 budget for batch work.  [default: 1.25 × --budget-ms]", "MS", kind="number")
    ] = None
    arms: Annotated[tuple[str, ...], Opt("Arms that must have traces.", "NAMES")] = ()
    arm: Annotated[
        str | None,
        Opt(
            "The arm to judge.  [default: the only one, or the fastest that passes every accuracy gate]",
            "NAME",
            shown=False,
        ),
    ] = None
    sweep: Annotated[
        str | None,
        Opt("The sweep to judge, or `all` to mix them.  [default: the sweep of the last line]", "ID", shown=False),
    ] = None
    accuracy: Accuracy = "gate"
    doubts: Annotated[
        tuple[str, ...],
        Opt(
            "Reasons why the load generator itself may have added latency; then a gate on time can pass, but not fail.",
            shown=False,
            cli=False,
            config=False,
        ),
    ] = ()

    def __post_init__(self) -> None:
        check_depths(self.k)
        for value in (self.budget_ms, self.relaxed_budget_ms):
            if value is not None:
                _milliseconds(value)

    @property
    def budget(self) -> str:
        """The budget in its canonical form: `2000` where somebody wrote 2000.0."""
        return written(_milliseconds(self.budget_ms))

    @property
    def relaxed_budget(self) -> str:
        if self.relaxed_budget_ms is not None:
            return written(_milliseconds(self.relaxed_budget_ms))
        return written(_milliseconds(self.budget_ms) * 5 / 4)


def _milliseconds(value: str) -> Fraction:
    text = value.strip()
    if not re.fullmatch(_MILLISECONDS, text) or not Fraction(text):
        raise UsageError(
            f"{text!r} is not a latency budget", hint="Write milliseconds, such as --budget-ms 2000.", code="budget"
        )
    return Fraction(text)


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares."""

    options: Options
    judging: Judging
    budget_ms: str  # the p95 gate in force, or else the budget
    slow_after: Ticks  # the same in the unit of times
    baseline: Mapping[str, Fraction] = {}
    baseline_source: Any = None  # what it is read from, until then
    sweep: str = ""  # known when every trace has been seen, as are the arms
    arms: tuple[str, ...] = ()
    summed: frozenset[str] = frozenset()  # the stages whose sum is a run's time, where no run has its time in one
