"""Cases: gold joined with traces; missing, repeated and unknown are facts, never silence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from .contracts import Gold, GoldSet, Trace
from .errors import DataError

Keep = Literal["last", "first", "worst", "error", "all"]


class Case(msgspec.Struct):
    """Everything known about one question: its gold item and the runs that count, oldest first."""

    gold: Gold
    traces: list[Trace]


class Joined(msgspec.Struct):
    """All cases in gold order, and what did not fit."""

    cases: list[Case]
    superseded: int = 0  # lines that another line for the same question replaced
    unknown: dict[str, int] = {}  # qids that the gold set does not have, with their line counts


def join(gold: GoldSet, traces: Iterable[tuple[int, Trace]], keep: Keep = "last", closed: bool = False) -> Joined:
    """One case per gold item. `keep` says which of several traces of a question count."""
    slots: dict[str, list[Trace]] = {qid: [] for qid in gold.items}
    joined = Joined([Case(item, slots[qid]) for qid, item in gold.items.items()])
    superseded = 0
    several = keep in ("all", "worst")
    for number, trace in traces:
        slot = slots.get(trace.qid)
        if slot is None:
            _unknown(joined, trace, number, closed)
        elif not slot or several:
            slot.append(trace)
        elif keep == "error":
            raise DataError(f"line {number} is another trace for qid {trace.qid!r}",
                            hint="Keep one, or choose --on-duplicate last, first or worst.", code="trace-repeated")  # fmt: skip
        else:
            superseded += 1
            if keep == "last":
                slot[0] = trace
    if keep == "worst":
        superseded = sum(max(0, len(case.traces) - 1) for case in joined.cases)
    joined.superseded = superseded
    return joined


def _unknown(joined: Joined, trace: Trace, number: int, closed: bool) -> None:
    qid = trace.qid
    if closed:
        raise DataError(f"line {number} has qid {qid!r}, which the gold set does not have",
                        hint="Add it to the gold set, or leave out --closed.", code="trace-unknown")  # fmt: skip
    joined.unknown[qid] = joined.unknown.get(qid, 0) + 1
