"""What the outcomes suite counts, and the metrics and gates made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from ... import stats
from ...gates import Gate
from ...metrics import Computed, Count, Measure, Metric, Rate
from ...tally import Fact, Tally
from ..bars import bar
from .read import Outcome

NOBODY = "(none)"  # rows without a model or a preset
# name of the bar → its metric and its default
BARS: dict[str, tuple[str, Fraction]] = {
    "min_samples": ("samples", Fraction(20)),
    "min_accept_rate": ("accept_rate", Fraction(70, 100)),
    "min_action_rate": ("action_rate", Fraction(55, 100)),
    "min_useful_rate": ("useful_rate", Fraction(65, 100)),
}
ALIASES = {"accept": "accept_rate", "action": "action_rate", "useful": "useful_rate", "edited": "edited_rate"}
RATES = ("accept_rate", "action_rate", "useful_rate", "edited_rate")


def facts(outcome: Outcome, score: Fraction | None = None) -> Iterator[Fact]:
    """The facts of one row, with the score that its answer got where a report has one."""
    yield "items"
    if outcome.accepted:
        yield "accepted"
    if outcome.acted:
        yield "acted"
    for name in ("useful", "edited"):
        said = getattr(outcome, name)
        if said is not None:
            yield f"{name}_said"
        if said:
            yield name
    if score is not None:
        yield "joined"
        yield "score_accepted" if outcome.accepted else "score_unaccepted", score


def slices(outcome: Outcome) -> tuple[str, ...]:
    return (f"week={outcome.week}", f"model={outcome.model or NOBODY}", f"preset={outcome.preset or NOBODY}")


class Foresight(Computed, frozen=True, kw_only=True):
    """It takes a report that the outcomes can be joined to."""

    def applies(self, tally: Tally) -> bool:
        return tally["joined"] > 0


def metrics(require_useful: bool = False) -> dict[str, Metric]:
    """With `require_useful` a bar on the useful rate is missing data where no row says; else it does not apply there."""
    found: list[Metric] = [
        Count("samples", "outcomes, identical rows once", high=None, of=("items",)),
        Rate("accept_rate", "answers accepted without edits", of="accepted", among="items"),
        Rate("action_rate", "answers that were acted on", of="acted", among="items"),
        Rate("useful_rate", "answers called useful, among the rows that say", of="useful", among="useful_said",
             could="items" if require_useful else "useful_said"),
        Rate("edited_rate", "answers that were edited, among the rows that say", "lower", of="edited",
             among="edited_said", could="edited_said"),
        Foresight("auc", "the chance that an accepted answer has a higher score than one that was not",
                  formula=foresight),
    ]  # fmt: skip
    return {metric.name: metric for metric in found}


def gates() -> list[Gate]:
    return [bar(metric, ">=", default) for metric, default in BARS.values()]


def foresight(tally: Tally) -> Measure:
    """How well the score foresees acceptance."""
    taken, left = tally.values("score_accepted"), tally.values("score_unaccepted")
    # Only their order counts, and whole numbers are compared much faster than fractions.
    ranks = {score: rank for rank, score in enumerate(sorted({**taken, **left}))}
    area = stats.auc(_ranked(taken, ranks), _ranked(left, ranks))
    missing = "" if area is not None else "it takes accepted and unaccepted answers with a score"
    return Measure("auc", "coefficient", area, tally["joined"], missing=missing)


def _ranked(counts: Mapping[Any, int], ranks: Mapping[Any, int]) -> list[int]:
    return [ranks[score] for score, count in counts.items() for _ in range(count)]
