"""Pairing: what each item says about a metric, in both runs."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ...reading.reports import row_name


def pairs_of(name: str, base: Mapping[str, object], head: Mapping[str, object]) -> dict[str, tuple[Fraction, Fraction]]:
    """The metric's value for each item that has one in both runs; empty where the rows don't tell."""
    old, new = values_of(name, base), values_of(name, head)
    return {item: (old[item], new[item]) for item in sorted(old) if item in new}


def values_of(name: str, report: Mapping[str, Any]) -> dict[str, Fraction]:
    """What each item says about a metric. For a rate they must add up to its counts exactly, else they say nothing."""
    told = {}
    suite = report["shipworthy"].get("suite")
    for row in report.get("items", []):
        value = _answer_value(name, row) if suite == "answers" and name not in row else row.get(name)
        if isinstance(value, (bool, int, float)):
            told[row_name(row)] = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    measure = report["metrics"][name]
    counts = (measure.get("numerator"), measure.get("denominator"))
    return {} if measure.get("kind") == "rate" and counts != (sum(told.values()), len(told)) else told


def _answer_value(name: str, row: Mapping[str, Any]) -> bool | None:
    """What one item says about a metric of the answers suite; None where it is not among the metric's items."""
    status, reason, cited = row.get("status"), row.get("reason"), row.get("cited")
    answered = status in ("shipped", "empty")
    unanswerable = reason == "leak" or (status == "refused" and not reason)
    if name == "precision":
        return bool(row.get("correct")) if answered else None
    if name == "chr":
        return bool(cited) if answered and cited is not None else None
    if name == "under_refusal":
        return reason == "leak" if unanswerable else None
    if name == "over_refusal":
        return None if unanswerable else reason == "over-refusal"
    kind, at, depth = name.partition("@")
    among = cited is not None if kind == "chr" else not unanswerable and (cited is not None or not answered)
    if not at or not among or kind not in ("chr", "recall", "recall_any"):
        return None
    # Where as many items have any gold id as have all of them, these are the same items: the counts show that.
    rank = row.get("recall_rank")
    return rank is not None and rank <= int(depth)
