"""What the outcomes suite counts, and the metrics and gates made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from ... import stats
from ...core.evidence import Counted
from ...core.gates import Gate, gate_of, parse_gates
from ...core.metrics import EVERY, Computed, Count, Measure, Metric, Rate
from ...core.tally import Fact, Tally
from .judge import Context, Verdict
from .options import BARS, Options
from .read import Feedback

NOBODY = "(none)"  # rows without a model or a preset
ALIASES = {"accept": "accept_rate", "action": "action_rate", "useful": "useful_rate", "edited": "edited_rate"}


def facts(verdict: Verdict, context: Context) -> Iterator[Counted]:
    for row, score in zip(verdict.rows, verdict.scores, strict=True):
        yield Counted(tuple(row_facts(row, score)), slices_of(row))
    yield Counted(("repeated",) * verdict.repeated)


def row_facts(row: Feedback, score: Fraction | None = None) -> Iterator[Fact]:
    """The facts of one row, with the score that its answer got where a report has one."""
    yield "items"
    if row.accepted:
        yield "accepted"
    if row.acted:
        yield "acted"
    for name in ("useful", "edited"):
        value = getattr(row, name)
        if value is not None:
            yield f"{name}_said"
        if value:
            yield name
    if score is not None:
        yield "joined"
        yield "score_accepted" if row.accepted else "score_unaccepted", score


def slices_of(row: Feedback) -> tuple[str, ...]:
    return (f"week={row.week}", f"model={row.model or NOBODY}", f"preset={row.preset or NOBODY}")


class Foresight(Computed, frozen=True, kw_only=True):
    """It takes a report that the outcomes can be joined to."""

    def applies(self, tally: Tally) -> bool:
        return tally["joined"] > 0


def metrics(options: Options) -> dict[str, Metric]:
    """Where it is needed, a bar on the useful rate is missing data if no row says; else it does not apply there."""
    listed: list[Metric] = [
        Count("samples", "recorded outcomes; identical rows count once", high=None, of=("items",)),
        Rate("accept_rate", "share of answers accepted without edits", of="accepted", among="items", against=EVERY),
        Rate("action_rate", "share of answers that people acted on", of="acted", among="items"),
        Rate(
            "useful_rate",
            "share of answers called useful, among rows with that field",
            of="useful",
            among="useful_said",
            could="items" if options.needs_useful else "useful_said",
        ),
        Rate(
            "edited_rate",
            "share of answers that were edited, among rows with that field",
            "lower",
            of="edited",
            among="edited_said",
            could="edited_said",
        ),
        Foresight(
            "auc", "the chance that an accepted answer has a higher score than one that was not", formula=foresight
        ),
    ]
    return {metric.name: metric for metric in listed}


def aliases(options: Options) -> dict[str, str]:
    return ALIASES


def gates(context: Context) -> list[Gate]:
    """Every bar at its default."""
    return [gate_of(metric, ">=", default) for metric, default in BARS.values()]


def wanted(options: Options) -> list[Gate]:
    """The bars that were named, and gates by their metrics' names."""
    return [*options.bars(), *parse_gates(options.gates, metrics(options), ALIASES)]


def foresight(tally: Tally) -> Measure:
    """How well the score foresees acceptance."""
    taken, left = tally.values("score_accepted"), tally.values("score_unaccepted")
    # Only their order counts, and whole numbers are compared much faster than fractions.
    ranks = {score: rank for rank, score in enumerate(sorted({**taken, **left}))}
    area = stats.auc(_ranked(taken, ranks), _ranked(left, ranks))
    missing = "" if area is not None else "it needs both accepted and rejected answers with a score"
    return Measure("auc", "coefficient", area, tally["joined"], missing=missing)


def _ranked(counts: Mapping[int | Fraction, int], ranks: Mapping[int | Fraction, int]) -> list[int]:
    return [ranks[score] for score, count in counts.items() for _ in range(count)]
