"""The judge of the raters suite: what was said of one item, and how many pairs of raters agree on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

import msgspec

from ...core.join import Case
from .options import Options, SettledOptions
from .ratings import Rating


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares. Raters and labels go by their place: a name may hold any sign."""

    options: Options
    raters: Mapping[str, int] = {}
    labels: Mapping[str, int] = {}

    @property
    def settled(self) -> SettledOptions:
        assert isinstance(self.options, SettledOptions)
        return self.options


class Verdict(msgspec.Struct):
    """The facts about one item."""

    qid: str
    said: list[tuple[int, int]]  # place of the rater, place of the label; by rater
    counts: dict[int, int]  # place of the label → how many gave it

    @property
    def ratings(self) -> int:
        return len(self.said)

    @property
    def pairs(self) -> int:
        return self.ratings * (self.ratings - 1) // 2

    @property
    def agreeing(self) -> int:
        """Pairs of raters who gave the same label."""
        return sum(count * (count - 1) // 2 for count in self.counts.values())

    @property
    def agreement(self) -> Fraction | None:
        """None for a single rating: nobody is there to agree with."""
        return Fraction(self.agreeing, self.pairs) if self.pairs else None

    @property
    def majority(self) -> int | None:
        """The label that more than half of the raters gave."""
        return next((label for label, count in self.counts.items() if 2 * count > self.ratings), None)


def verdict_on(case: Case, context: Context) -> Verdict:
    ratings: list[Rating] = case.records["ratings"]
    said = sorted((context.raters[str(rating.rater)], context.labels[str(rating.label)]) for rating in ratings)
    return Verdict(case.key, said, dict(sorted(Counter(label for _, label in said).items())))
