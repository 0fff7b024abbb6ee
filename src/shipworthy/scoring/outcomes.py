"""Score outcomes: what people did with the answers, as a decision like any other suite's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..contracts import Input
from ..decision import Decision, decide
from ..evaluation import choose_gates, inputs, measure_all, slice_measures
from ..gates import Gate
from ..metrics import Count, Metric, Rate
from ..suites import outcomes as suite
from ..suites.outcomes import Outcome, read_outcomes, summarise
from ..suites.reasoning.guard import load_report
from ..tally import Fact, Tally

ALIASES = {"accept": "accept_rate", "action": "action_rate", "useful": "useful_rate", "min_samples": "samples"}


def evaluate_outcomes(
    outcomes: str | os.PathLike[str],
    report: str | os.PathLike[str] | None = None,
    *,
    gates: str | Iterable[str | Gate] = (),
    only_gates: bool = False,
    require_proof: bool = False,
) -> Decision:
    """Decide whether people accept and act on the answers; with a report, show how well its score foresaw it."""
    rows = read_outcomes(os.fspath(outcomes))
    joined = load_report(os.fspath(report)) if report is not None else None
    known = _metrics()
    wanted = [gates] if isinstance(gates, str) else list(gates)
    chosen = choose_gates(_gates(), wanted, known, ALIASES, only_gates, require_proof)
    tally = Tally()
    for row in rows.outcomes:
        tally.count(_facts(row), _slices(row))
    measures, compared = measure_all(tally, known, chosen)
    verdict, reasons = decide(compared)
    read = {"outcomes": _input(outcomes, rows.read), **({"report": _input(report, 1)} if report is not None else {})}
    whole = summarise(rows, report=joined)
    return Decision(
        "outcomes", "strict", verdict, reasons, compared, measures,
        slices=slice_measures(tally, known),
        counts={"samples": len(rows.outcomes), "rows": rows.read, "repeated_rows": rows.repeated},
        sections={name: whole[name] for name in ("weeks", "trend", "by_model", "by_preset", "calibration")},
        inputs=inputs(**read),
        run={name: source.path for name, source in read.items()},
    )  # fmt: skip


def _facts(row: Outcome) -> Iterator[Fact]:
    yield "items"
    if row.accepted:
        yield "accepted"
    if row.acted:
        yield "acted"
    for name in ("useful", "edited"):
        said: bool | None = getattr(row, name)
        if said is not None:
            yield f"says_{name}"
        if said:
            yield name


def _slices(row: Outcome) -> list[str]:
    given: Mapping[str, Any] = {"week": row.week, "model": row.model, "preset": row.preset}
    return [f"{name}={value}" for name, value in given.items() if value]


def _metrics() -> dict[str, Metric]:
    found: list[Metric] = [
        Count("samples", "different rows", "higher", high=None, of=("items",)),
        Rate("accept_rate", "answers that were taken without edits", of="accepted", among="items"),
        Rate("action_rate", "answers that somebody acted on", of="acted", among="items"),
        Rate("useful_rate", "answers called useful, among rows that say", of="useful", among="says_useful", could="says_useful"),
        Rate("edited_rate", "answers that were edited, among rows that say", "lower", of="edited", among="says_edited",
             could="says_edited"),
    ]  # fmt: skip
    return {metric.name: metric for metric in found}


def _gates() -> list[Gate]:
    return [Gate.parse(f"{name.removeprefix('min_')} >= {float(bar):g}") for name, bar in suite.GATES.items()]


def _input(path: str | os.PathLike[str], records: int) -> Input:
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return Input(path=os.fspath(path), digest=digest, records=records)
