"""Ratings: who gave which label to what, and which raters and labels there are in all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec
from msgspec import UNSET, UnsetType

from ...core.inputs import Input, Records, Stream, raise_later
from ...core.join import Once
from ...core.sources import read_records
from ...reading.jsonl import Problem

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
            raise ValueError("qid: expected the id of the item, found none")
        if self.item is not UNSET and str(self.item) != str(self.qid):
            raise ValueError(f"qid: two names for one item, {self.qid!r} and {self.item!r}")


def item_of(rating: Rating) -> str:
    """The item that a rating is about."""
    return str(rating.qid)


def stream_ratings(source: object, read: Input, declared: tuple[str, ...] | None) -> Stream:
    """Ratings one by one; one that gives a label that was not declared is a problem."""
    return Stream(source, read, Records(partial(_ratings, declared=declared), item_of), raise_later)


def one_each(lenient: bool) -> Once:
    """One rating of an item by a rater."""
    return Once(_given, "duplicate rating of {!r} by {!r}", "Keep one of them.", "rating-repeated", lenient)


def _ratings(source: object, read: Input, declared: tuple[str, ...] | None) -> Iterator[tuple[int, Rating]]:
    allowed = frozenset(declared or ())
    for number, rating in read_records(source, Rating, read, "ratings", read.found):
        if declared and str(rating.label) not in allowed:
            what = f"label: expected one of {', '.join(declared)}, got {str(rating.label)!r}"
            read.found.add(Problem(read.path, number, what, "Correct it, or add it to --labels.", "rating-label"))
        else:
            yield number, rating


def _given(rating: Rating) -> tuple[str, str]:
    return str(rating.qid), str(rating.rater)


class RatingSurvey:
    """Everybody who rated, and every label that was given, as it was written: numbers sort by size."""

    def __init__(self) -> None:
        self.raters: set[str] = set()
        self.labels: set[str | int] = set()

    def add(self, source: str, place: int, record: Rating, known: bool) -> None:
        self.raters.add(str(record.rater))
        self.labels.add(record.label)

    def __iadd__(self, other: RatingSurvey) -> RatingSurvey:
        self.raters |= other.raters
        self.labels |= other.labels
        return self
