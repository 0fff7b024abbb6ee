"""Score outcomes: what people did with the answers against its bars, and the score of a report beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from ..contracts import Input
from ..decision import Decision, decide
from ..engines import inline
from ..evaluation import choose_gates, inputs, measure_all
from ..gates import Gate
from ..suites import outcomes as suite
from ..suites.bars import Number, bar, exact
from ..suites.outcomes import Outcome, OutcomeSource


def evaluate_outcomes(
    outcomes: OutcomeSource,
    *,
    report: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    gates: str | Iterable[str | Gate] = (),
    only_gates: bool = False,
    min_samples: int | None = None,
    min_accept_rate: Number | None = None,
    min_action_rate: Number | None = None,
    min_useful_rate: Number | None = None,
    require_useful: bool | None = None,
    offenders: int = 10,
    require_proof: bool = False,
) -> Decision:
    """Decide whether people accept the answers and act on them.

    `outcomes` is a path or an iterable of rows. With `report`, an evaluation report, the score of each answer is held
    beside what became of it. A bar on the useful rate needs rows that say whether they were useful if it was asked for
    (or `require_useful` says so); the default bar does not apply where no row says.
    """
    given = {"min_samples": min_samples, "min_accept_rate": min_accept_rate, "min_action_rate": min_action_rate,
             "min_useful_rate": min_useful_rate}  # fmt: skip
    named = [gates] if isinstance(gates, str) else list(gates)
    wanted = [*_bars(given), *named]
    if require_useful is None:
        require_useful = any("useful" in str(gate) for gate in wanted)
    known = suite.metrics(require_useful)
    chosen = choose_gates(suite.gates(), wanted, known, suite.ALIASES, only_gates, require_proof)
    rows = suite.read_outcomes(outcomes)
    reads = {"outcomes": rows.source}
    body = _report(report, reads)
    scores, run_id = _scores(body), _run_id(body)
    tally, _ = inline.tally(
        rows.outcomes, lambda row: row, lambda row: suite.facts(row, _score_of(row, scores, run_id)), suite.slices
    )
    measures, outcomes_ = measure_all(tally, known, chosen)
    verdict, reasons = decide(outcomes_)
    items = suite.items(rows.outcomes, scores)
    return Decision(
        "outcomes", "strict", verdict, reasons, outcomes_, measures,
        counts={"samples": tally["items"], "rows": rows.source.records, "repeated": rows.repeated, "joined": tally["joined"]},
        diagnosis=suite.diagnose(tally, report is not None),
        offenders=suite.offenders(items, offenders),
        items=items,
        sections=suite.sections(tally, report is not None),
        headline=suite.headline(rows, tally, measures, outcomes_, verdict == "SHIP"),
        options={"require_useful": require_useful},
        inputs=inputs(**reads),
        run={name: read.path for name, read in reads.items()},
    )  # fmt: skip


def _bars(given: Mapping[str, Number | None]) -> list[Gate]:
    """The bars that were given, as gates."""
    numbers = {name: exact(name, value, None if name == "min_samples" else 1)
               for name, value in given.items() if value is not None}  # fmt: skip
    return [bar(suite.BARS[name][0], ">=", number) for name, number in numbers.items()]


def _report(source: str | os.PathLike[str] | Mapping[str, Any] | None, reads: dict[str, Input]) -> Mapping[str, Any]:
    if source is None:
        return {}
    reads["report"] = Input(path="<report>")
    if isinstance(source, Mapping):
        return source
    from ..suites.reasoning.guard import load_report

    return load_report(source, reads["report"])


def _scores(report: Mapping[str, Any]) -> dict[str, Fraction]:
    found = {str(result.get("id")): result.get("overall_score") for result in report.get("results", ())}
    return {name: Fraction(str(score)) for name, score in found.items()
            if isinstance(score, int | float | Fraction) and not isinstance(score, bool)}  # fmt: skip


def _run_id(report: Mapping[str, Any]) -> str | None:
    value = report.get("run_id", (report.get("run") or {}).get("run_id"))
    return None if value is None else str(value)


def _score_of(row: Outcome, scores: Mapping[str, Fraction], run_id: str | None) -> Fraction | None:
    """The score of the row's answer, joined by prompt and, where both have one, by run."""
    if run_id is not None and row.run_id is not None and row.run_id != run_id:
        return None
    return scores.get(row.prompt_id)
