"""Raters: do any number of people give the same labels to the same items, beyond chance?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.decision import Display
from ...core.sources import Input
from ...core.suite import InputSpec, Material, Sources, Suite
from ...errors import DataError, UsageError
from ...reading.reports import Passing
from . import explain
from .judge import CompleteOptions, Context, Options, RatingSurvey, card, judge, one_each, stream_ratings
from .metrics import aliases, fact_names, facts, metrics

if TYPE_CHECKING:
    from ...core.evaluate import Gathered


def read(sources: Sources, options: Options) -> Material:
    ratings = Input()
    return Material(
        context=Context(options=options),
        streams={"ratings": stream_ratings(sources["ratings"], ratings, options.labels)},
        reads={"ratings": ratings},
        once={"ratings": one_each(options.lenient)},
    )


def settle(context: Context, gathered: Gathered, material: Material) -> Context:
    """Everybody's place and every label's, now that all of them are known."""
    seen = gathered.survey
    assert isinstance(seen, RatingSurvey)
    raters = tuple(sorted(seen.raters))
    _require_two(raters, gathered, material.reads["ratings"].path)
    scale = _scale(seen.labels, context.options)
    return Context(
        options=CompleteOptions.of(context.options, raters, scale),
        raters={name: place for place, name in enumerate(raters)},
        labels={label: place for place, label in enumerate(scale)},
    )


def _require_two(raters: tuple[str, ...], gathered: Gathered, path: str) -> None:
    """An error where nobody could agree with anybody."""
    if not raters:
        raise DataError(
            "there are no ratings to compare",
            where=path,
            code="ratings-none",
            hint='Each line is one rating: {"qid": …, "rater": …, "label": …}.',
        )
    if len(raters) == 1:
        raise DataError(
            f"all ratings are by {raters[0]!r}; agreement needs two raters",
            where=path,
            hint="Add the ratings of another rater.",
            code="raters-one",
        )
    if all(len(case.records["ratings"]) < 2 for case in gathered.cases()):
        raise DataError(
            f"no item was rated by more than one of the {len(raters)} raters",
            where=path,
            code="raters-apart",
            hint="Check that all raters use the same item ids (qid).",
        )


def _scale(seen: set[str | int], options: Options) -> tuple[str, ...]:
    """The labels in the declared order, else numbers by size and strings by their letters."""
    if options.labels is not None:
        return options.labels
    words = sorted(label for label in seen if isinstance(label, str))
    if not words:
        return tuple(str(number) for number in sorted(label for label in seen if isinstance(label, int)))
    scale = tuple(sorted({str(label) for label in seen}))
    if options.weights:
        raise UsageError(
            f"{options.weights} weights need ordered labels, and labels such as {words[0]!r} have no order",
            where="--weights",
            hint=f"List the labels in order: --labels {','.join(scale[:5])}.",
            code="weights-order",
        )
    return scale


SUITE = Suite(
    name="raters",
    description="Do any number of raters give the same labels, beyond chance?",
    inputs=(InputSpec("ratings", "One rating a line, JSON lines (qid, rater, label)."),),
    options=Options,
    read=read,
    judge=judge,
    card=card,
    fact_names=fact_names,
    facts=facts,
    survey=RatingSurvey,
    settle=settle,
    metrics=metrics,  # without gates: how well raters must agree depends on what their labels are for
    aliases=aliases,
    explain=explain.explain,
    configurable=False,
    display=Display(
        item="item",
        counts={"raters": "raters", "ratings": "ratings", "rated_once": "rated only once"},
        passes=Passing("passed", True),
        reasons=explain.REASONS,
    ),
)
