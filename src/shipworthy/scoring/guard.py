"""Guard a report: its results counted again, and held against bars that a release must clear."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..contracts import Input
from ..decision import Decision, decide
from ..engines import inline
from ..evaluation import choose_gates, inputs, measure_all
from ..gates import Gate
from ..suites.bars import Number, exact
from ..suites.reasoning import ALIASES, guard


def evaluate_guard(
    report: str | os.PathLike[str] | Mapping[str, Any],
    *,
    bars: Mapping[str, Number] | None = None,
    gates: str | Iterable[str | Gate] = (),
) -> Decision:
    """Decide whether a finished reasoning report may be relied on; `bars` go by the names in `guard.BARS`.

    A report whose summary is not what its results add up to is refused.
    """
    wanted = [gates] if isinstance(gates, str) else list(gates)
    given = {name: exact(name, value, None if name == "min_cases" else 1) for name, value in (bars or {}).items()}
    known = guard.metrics()
    chosen = choose_gates(guard.gates(given), wanted, known, ALIASES)
    read = Input(path="<report>")
    body = report if isinstance(report, Mapping) else guard.load_report(report, read)
    results = body["results"]
    guard.verify_summary(body["summary"], results, read.path)
    tally, _ = inline.tally(results, lambda result: result, guard.facts, lambda result: ())
    measures, outcomes = measure_all(tally, known, chosen)
    verdict, reasons = decide(outcomes)
    return Decision(
        "guard", "strict", verdict, reasons, outcomes, measures,
        counts={"items": tally["items"], "passed": tally["passed"], "error": tally["error"]},
        items=guard.items(results),
        headline={"checks": guard.checks(outcomes), "passed": verdict == "SHIP"},
        inputs=inputs(report=read),
        run={"report": read.path},
    )  # fmt: skip
