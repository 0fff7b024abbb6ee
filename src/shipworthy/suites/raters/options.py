"""Options of the raters suite, and the same with what only the ratings can tell: who rated, and by which labels."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

import msgspec

from ...core.options import Opt, ReadingOptions
from ...errors import UsageError

_FROM_RATINGS = Opt("Taken from the ratings.", shown=False, cli=False, config=False)


class Options(ReadingOptions, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that people can choose about the raters suite."""

    weights: Annotated[
        Literal["linear", "quadratic"] | None,
        Opt("Weight kappa by the distance between labels in their order.  [default: unweighted]"),
    ] = None
    labels: Annotated[
        tuple[str, ...] | None, Opt("All labels, in order.  [default: those in the ratings]", "LABEL,…")
    ] = None

    def __post_init__(self) -> None:
        if self.labels is not None:
            msgspec.structs.force_setattr(self, "labels", named_labels(self.labels))


class CompleteOptions(Options, frozen=True, kw_only=True, omit_defaults=True):
    """The options of a run whose ratings are known. Raters and labels are counted by their place here."""

    raters: Annotated[tuple[str, ...], _FROM_RATINGS] = ()
    scale: Annotated[tuple[str, ...], _FROM_RATINGS] = ()  # every label, in its order

    @classmethod
    def of(cls, options: Options, raters: tuple[str, ...], scale: tuple[str, ...]) -> CompleteOptions:
        chosen = {name: getattr(options, name) for name in Options.__struct_fields__}
        return cls(**chosen, raters=raters, scale=scale)


def named_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels in their order; one text names them all, with commas between."""
    named = tuple(label.strip() for label in labels[0].split(",")) if len(labels) == 1 else labels
    repeated = sorted(label for label, count in Counter(named).items() if count > 1)
    wrong = (
        f"duplicate label {repeated[0]!r}"
        if repeated
        else "a label is blank"
        if not all(label.strip() for label in named)
        else "there is only one label, so raters can't disagree"
        if len(named) < 2
        else ""
    )
    if wrong:
        raise UsageError(wrong, where="--labels", hint="Write each label once, in order, such as 1,2,3.", code="labels")
    return named
