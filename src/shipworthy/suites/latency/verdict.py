"""What the latency suite knows: options, the facts about one run, the facts about one question on one arm."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction

import msgspec

from ...cases import Case
from ...contracts import Gold, Trace, ids_of
from .. import answers
from .times import Times, length_of, times_of


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes a verdict; it is printed in the report and is part of its digest."""

    answers: answers.Options
    budget_ms: str = "2000"
    relaxed_ms: str = "2500"
    arms: tuple[str, ...] = ()  # arms that must have traces

    def shown(self) -> dict[str, object]:
        return {
            "budget_ms": self.budget_ms, "relaxed_budget_ms": self.relaxed_ms, "arms": list(self.arms),
            "k": list(self.answers.k), "min_substr": self.answers.min_substr, "scu_enforced": self.answers.scu_enforced,
            "refusal": self.answers.rule.name if self.answers.declared else "exact", "closed": self.answers.closed,
            "id_map": str(self.answers.id_map) if self.answers.id_map else None,
        }  # fmt: skip


class Run(msgspec.Struct):
    """The facts about one run."""

    qid: str
    times: Times
    failed: bool
    correct: bool
    cost: Fraction | None
    load: float | None
    length: str
    slices: tuple[str, ...]


class Verdict(msgspec.Struct):
    """One question on one arm: its runs, and the answer that counts."""

    qid: str
    answer: answers.Verdict
    runs: list[Run]


def judge(gold: Gold, traces: Sequence[Trace], options: Options) -> Verdict:
    """All runs are timed; for accuracy a failed run counts first, then the worst answer."""
    verdicts = [answers.judge(Case(gold, [trace]), options.answers) for trace in traces]
    runs = [_run(gold, trace, found) for trace, found in zip(traces, verdicts, strict=True)]
    counts = min(verdicts, key=_badness) if verdicts else answers.judge(Case(gold, []), options.answers)
    counts.slices = (f"length={length_of(gold.question)}",)
    return Verdict(str(gold.qid), counts, runs)


def _badness(found: answers.Verdict) -> tuple[object, ...]:
    """Worst first, by facts alone: which of two equally bad answers counts never depends on the order of lines."""
    severity = answers.SEVERITY.get(found.reason, len(answers.SEVERITY))
    ranks = [-(rank or sys.maxsize) for rank in (found.all_rank, found.any_rank)]
    answer = found.trace.answer if found.trace else None
    said = (answer.claim, ids_of(answer.citations)) if answer else ()
    return (found.status != "error", severity, *ranks, said)


def _run(gold: Gold, trace: Trace, found: answers.Verdict) -> Run:
    length = length_of(trace.asked or gold.question)
    slices = [f"length={length}"] + ([f"load={trace.load_rps:g}"] if trace.load_rps is not None else [])
    cost = None if trace.cost_usd is None else Fraction(repr(trace.cost_usd))
    return Run(
        str(gold.qid),
        times_of(trace),
        found.status == "error",
        found.correct,
        cost,
        trace.load_rps,
        length,
        tuple(slices),
    )
