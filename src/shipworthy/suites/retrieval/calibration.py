"""Calibrate ΔS: bars for one embedder, from the gold's own relevant blocks against its hard negatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from ... import stats
from ...core.contracts import Gold, ids_of
from ...errors import DataError
from .embedders import Embedder


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How far relevant and negative blocks lie from their questions, and the bars that follow."""

    embedder: str
    relevant: int
    negative: int
    relevant_median: float
    relevant_p90: float
    negative_median: float
    auc: float | None  # how often a negative is farther than a relevant block
    delta_s_median: float  # suggested: the most that the median of relevant blocks may be, 95 %
    delta_s_p90: float
    risk: float  # separates the two best
    without_text: int

    @property
    def gates(self) -> str:
        return f"delta_s_median<={self.delta_s_median},delta_s_p90<={self.delta_s_p90}"


def calibrate(gold: Iterable[Gold], texts: Mapping[str, str], embedder: Embedder) -> Calibration:
    """Distances of every question to its relevant blocks and to its negatives, and bars between them."""
    near, far, without = _pairs(gold, texts)
    if not near or not far:
        what, field = ("relevant", "relevant") if not near else ("negative", "negatives")
        raise DataError(
            f"no {what} block has a text to measure",
            code="calibrate-texts",
            hint=f"Name blocks as {field} in the gold set, and give their texts by id with --texts.",
        )
    embedder.prepare(text for pair in [*near, *far] for text in pair)
    relevant = sorted(embedder.distance(*pair) for pair in near)
    negative = sorted(embedder.distance(*pair) for pair in far)
    area = stats.auc([float(-value) for value in relevant], [float(-value) for value in negative])
    return Calibration(
        embedder=embedder.id,
        relevant=len(relevant),
        negative=len(negative),
        relevant_median=_percentile(relevant, 50),
        relevant_p90=_percentile(relevant, 90),
        negative_median=_percentile(negative, 50),
        auc=None if area is None else round(float(area), 4),
        delta_s_median=_bound(relevant, Fraction(1, 2)),
        delta_s_p90=_bound(relevant, Fraction(9, 10)),
        risk=float(_separating(relevant, negative)),
        without_text=without,
    )


def _pairs(gold: Iterable[Gold], texts: Mapping[str, str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]], int]:
    near: list[tuple[str, str]] = []
    far: list[tuple[str, str]] = []
    without = 0
    for item in gold:
        question = item.question or next(iter(item.paraphrases), "")
        own = {place.id: place.text for place in item.relevant if not isinstance(place, str) and place.text is not None}
        for names, pairs in ((ids_of(item.relevant) or item.citations, near), (item.negatives, far)):
            for name in names:
                text = own.get(name) or texts.get(name)
                if text and question:
                    pairs.append((question, text))
                else:
                    without += 1
    return near, far, without


def _percentile(values: Sequence[Fraction], p: int) -> float:
    value = stats.percentile(values, p)
    assert value is not None
    return round(float(value), 4)


def _bound(values: Sequence[Fraction], q: Fraction) -> float:
    """The order statistic that bounds the quantile from above (95 %), or the largest value where there are too few."""
    rank = stats.upper_rank(len(values), q)
    return float(values[-1] if rank is None else values[rank - 1])


def _separating(relevant: Sequence[Fraction], negative: Sequence[Fraction]) -> Fraction:
    """The smallest distance at which relevant blocks kept plus negatives refused, as shares, is largest."""

    def worth(bar: Fraction) -> Fraction:
        kept = Fraction(sum(value <= bar for value in relevant), len(relevant))
        return kept + Fraction(sum(value > bar for value in negative), len(negative))

    return max(sorted({*relevant, *negative}), key=lambda bar: (worth(bar), -bar))
