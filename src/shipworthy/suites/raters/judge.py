"""The judge of the raters suite: what was said of one item, and how many pairs of raters agree on it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import msgspec
from msgspec import UNSET, UnsetType

from ...stats import Weights

_LONGEST = 10**18  # a longer number is an id, not a label


class Rating(msgspec.Struct):
    """A line of the ratings: who gave which label to what; `item` is another name for qid."""

    rater: str | int
    label: str | int
    qid: str | int | UnsetType = UNSET
    item: str | int | UnsetType = UNSET

    def __post_init__(self) -> None:
        for field in ("qid", "item", "rater", "label"):
            given = getattr(self, field)
            if isinstance(given, int) and abs(given) >= _LONGEST:
                raise ValueError(f"{field}: a number of more than 18 digits; write it as a string")
            if isinstance(given, str) and not given.strip():
                raise ValueError(f"{field}: expected a name, found a blank")
        if self.qid is UNSET:
            self.qid = self.item
        if self.qid is UNSET:
            raise ValueError("qid: expected a name for the item, found none")
        if self.item is not UNSET and str(self.item) != str(self.qid):
            raise ValueError(f"qid: two names for one item, {self.qid!r} and {self.item!r}")


class Item(msgspec.Struct):
    """A case: one item with the label of each rater who rated it."""

    qid: str
    ratings: dict[str, str]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes a verdict. Raters and labels are counted by their place: a name may hold any sign."""

    raters: dict[str, int] = {}
    labels: dict[str, int] = {}  # in their order
    declared: bool = False  # or else they are those that were seen
    weights: Weights = None

    def shown(self) -> dict[str, object]:
        return {"weights": self.weights, "labels": list(self.labels) if self.declared else None}


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


def judge(item: Item, options: Options) -> Verdict:
    said = sorted((options.raters[rater], options.labels[label]) for rater, label in item.ratings.items())
    return Verdict(item.qid, said, dict(sorted(Counter(label for _, label in said).items())))
