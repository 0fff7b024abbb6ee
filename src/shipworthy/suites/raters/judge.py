"""The judge of the raters suite: its options, ratings as they are read, and how many pairs agree on one item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ...core.decision import number
from ...core.evidence import Judged, Order, Row
from ...core.inputs import Input, Records, Stream, raise_later
from ...core.join import Case, Once, Sums
from ...core.options import Opt, ReadingOptions
from ...core.sources import read_records
from ...errors import UsageError
from ...reading.jsonl import Problem
from ...text import plural

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


def stream_ratings(source: object, read: Input, declared: tuple[str, ...] | None) -> Stream:
    """Ratings one by one; one that gives a label that was not declared is a problem."""
    return Stream(source, read, Records(partial(_ratings, declared=declared), _item), raise_later)


def one_each(lenient: bool) -> Once:
    """One rating of an item by a rater."""
    return Once(_given, "duplicate rating of {!r} by {!r}", "Keep one of them.", "rating-repeated", lenient)


def _ratings(source: object, read: Input, declared: tuple[str, ...] | None) -> Iterator[tuple[int, Rating]]:
    allowed = frozenset(declared or ())
    for place, rating in read_records(source, Rating, read, "ratings", read.found):
        if declared and str(rating.label) not in allowed:
            what = f"label: expected one of {', '.join(declared)}, got {str(rating.label)!r}"
            read.found.add(Problem(read.path, place, what, "Correct it, or add it to --labels.", "rating-label"))
        else:
            yield place, rating


def _item(rating: Rating) -> str:
    return str(rating.qid)


def _given(rating: Rating) -> tuple[str, str]:
    return str(rating.qid), str(rating.rater)


class RatingSurvey(Sums):
    """Everybody who rated, and every label that was given, as it was written: numbers sort by size."""

    def __init__(self, context: object) -> None:
        self.raters: set[str] = set()
        self.labels: set[str | int] = set()

    def add(self, source: str, place: int, record: Rating, known: bool) -> None:
        self.raters.add(str(record.rater))
        self.labels.add(record.label)


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What every judgement of a run shares. Raters and labels go by their place: a name may hold any sign."""

    options: Options
    raters: Mapping[str, int] = {}
    labels: Mapping[str, int] = {}

    @property
    def complete(self) -> CompleteOptions:
        assert isinstance(self.options, CompleteOptions)
        return self.options


Said = tuple[tuple[int, int], ...]  # place of the rater, place of the label; by rater


class ItemRow(msgspec.Struct, gc=False):
    """The verdict on one item, as a report has it."""

    qid: str
    ratings: int
    labels: list[str]  # with how many gave each
    majority: str  # the label that more than half of the raters gave
    agreement: float | int | None  # None for a single rating: nobody is there to agree with
    said: list[str]
    passed: bool  # no two raters differ


def judge(case: Case, context: Context) -> tuple[Judged]:
    """The items with the least agreement are the worst, of equal ones those that more raters looked at."""
    said, names, labels = said_of(case, context), context.complete.raters, context.complete.scale
    counts, share = label_counts_of(said), agreement(said)
    row = ItemRow(
        qid=case.key,
        ratings=len(said),
        labels=[f"{labels[label]}={count}" for label, count in counts.items()],
        majority=next((labels[label] for label, count in counts.items() if 2 * count > len(said)), ""),
        agreement=number(share),
        said=[f"{names[rater]}={labels[label]}" for rater, label in said],
        passed=len(counts) < 2,
    )
    worst = () if share is None or row.passed else (("", (share, -len(said), case.key)),)
    return (Judged(row, said, (case.key,), worst),)


def said_of(case: Case, context: Context) -> Said:
    ratings: list[Rating] = case.records["ratings"]
    return tuple(sorted((context.raters[str(one.rater)], context.labels[str(one.label)]) for one in ratings))


def label_counts_of(said: Said) -> dict[int, int]:
    """How many raters gave each label."""
    return dict(sorted(Counter(label for _, label in said).items()))


def pairs_of(said: Said) -> tuple[int, int]:
    """Pairs of raters who gave the same label, and all pairs."""
    agreeing = sum(count * (count - 1) // 2 for count in label_counts_of(said).values())
    return agreeing, len(said) * (len(said) - 1) // 2


def agreement(said: Said) -> Fraction | None:
    return Fraction(*pairs_of(said)) if len(said) > 1 else None


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    """Who said what, the label of most raters first."""
    said, options = said_of(case, context), context.complete
    camps: dict[int, list[str]] = {}
    for rater, label in said:
        camps.setdefault(label, []).append(options.raters[rater])
    ordered = sorted(camps.items(), key=lambda camp: (-len(camp[1]), camp[0]))
    labels = "; ".join(f"{options.scale[label]} by {', '.join(names)}" for label, names in ordered)
    agreeing, pairs = pairs_of(said)
    says = f"rated {labels} ({agreeing} of {plural(pairs, 'pair')} of raters agree)"
    return {"qid": case.key, "reason": "disagreement", "says": says}
