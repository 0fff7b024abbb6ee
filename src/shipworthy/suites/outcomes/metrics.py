"""What the outcomes suite counts, and the metrics and gates made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from ... import stats
from ...core.evidence import Counts, together
from ...core.gates import Gate
from ...core.metrics import EVERY, Computed, Count, Measure, Metric, Rate, Words
from ...core.tally import Fact, Tally, group
from ..bars import default_gates, named_gates
from .judge import BARS, Context, Options, Outline, Use

NOBODY = "(none)"  # rows without a model or a preset
ALIASES = {"accept": "accept_rate", "action": "action_rate", "useful": "useful_rate", "edited": "edited_rate"}


def facts(outline: Outline, context: Context) -> Iterator[Counts]:
    uses, repeated = outline
    for row in uses:
        yield Counts(tuple(row_facts(row)), slices_of(row))
    yield from together(uses, slices_of, repeat_facts)
    yield Counts(("repeated",) * repeated)


def row_facts(row: Use) -> Iterator[Fact]:
    """The facts of one row, with the score that its answer got where a report has one."""
    yield "items"
    if not row.week:
        yield "undated"
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
    if row.score is not None:
        yield "joined"
        yield "score_accepted" if row.accepted else "score_unaccepted", row.score


def repeat_facts(rows: Sequence[Use]) -> Iterator[Fact]:
    """What several people did with the answers to one prompt: one cluster, so that proof counts prompts."""
    for name in ("accepted", "acted", "useful", "edited"):
        said = [value for value in (getattr(row, name) for row in rows) if value is not None]
        if len(said) > 1:
            yield group(grouped(name), (sum(map(bool, said)), len(said)))


def grouped(fact: str) -> str:
    return f"{fact}_of_prompt"


def fact_names(options: Options) -> set[str]:
    names = {"accepted", "acted", "useful", "useful_said", "edited", "edited_said", "repeated", "undated"}
    names |= {grouped(name) for name in ("accepted", "acted", "useful", "edited")}
    return names | {"joined", "score_accepted", "score_unaccepted"}


def slices_of(row: Use) -> tuple[str, ...]:
    week = (f"week={row.week}",) if row.week else ()
    return (*week, f"model={row.model or NOBODY}", f"preset={row.preset or NOBODY}")


def metrics(options: Options) -> dict[str, Metric]:
    """Where no row says whether it was useful, that rate does not apply, unless `require_useful` asks for it."""
    listed: list[Metric] = [
        Count(
            "samples",
            Words(
                "outcomes recorded",
                "Recorded outcomes; identical rows count once.",
                "count of rows",
                gate="samples >= 20",
            ),
            of=("items",),
        ),
        Rate(
            "accept_rate",
            Words(
                "acceptance rate",
                "The share of answers that people accepted without edits.",
                "accepted without edits / outcomes",
                "answers",
                "were accepted without edits",
                "accept_rate >= 0.70",
            ),
            of="accepted",
            among="items",
            against=EVERY,
            groups=grouped("accepted"),
        ),
        Rate(
            "action_rate",
            Words(
                "action rate",
                "The share of answers that people acted on.",
                "acted on / outcomes",
                "answers",
                "were acted on",
                "action_rate >= 0.55",
            ),
            of="acted",
            among="items",
            groups=grouped("acted"),
        ),
        Rate(
            "useful_rate",
            Words(
                "usefulness rate",
                "Of the answers that people rated, the share called useful.",
                "useful / outcomes with that field",
                "rated answers",
                "were called useful",
                "useful_rate >= 0.65",
            ),
            of="useful",
            among="useful_said",
            groups=grouped("useful"),
            could="items" if options.require_useful else "useful_said",
        ),
        Rate(
            "edited_rate",
            Words(
                "edit rate",
                "Of the answers with an `edited` field, the share that people edited.",
                "edited / outcomes with that field",
                "answers",
                "were edited",
            ),
            "lower",
            of="edited",
            among="edited_said",
            groups=grouped("edited"),
            could="edited_said",
        ),
        Computed(
            "auc",
            Words(
                "predictive power of the score (AUC)",
                "The chance that an accepted answer has a higher score than one that was not accepted.",
                "area under the ROC curve",
            ),
            formula=foresight,
            could="joined",  # with a report
        ),
    ]
    return {metric.name: metric for metric in listed}


def aliases(options: Options) -> dict[str, str]:
    return ALIASES


def gates(context: Context) -> list[Gate]:
    return default_gates(BARS)


def wanted(options: Options) -> list[Gate]:
    return named_gates(options, metrics(options), ALIASES)


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
