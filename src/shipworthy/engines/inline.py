"""The inline engine: one process, one case after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ..tally import Fact, Tally

Case = TypeVar("Case")
Verdict = TypeVar("Verdict")


def tally(
    cases: Iterable[Case],
    judge: Callable[[Case], Verdict],
    facts: Callable[[Verdict], Iterable[Fact]],
    slices: Callable[[Verdict], Iterable[str]],
) -> tuple[Tally, list[Verdict]]:
    """Judge every case and count the facts; the verdicts come along in the order of the cases."""
    total, verdicts = Tally(), []
    for case in cases:
        verdict = judge(case)
        total.count(facts(verdict), slices(verdict))
        verdicts.append(verdict)
    return total, verdicts
