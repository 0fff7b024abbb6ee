"""The reference profile: what the original scripts print, number for number, known mistakes included."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ...cases import Case
from ...contracts import UNSET, Gold, ids_of
from ...refusal import TOKEN
from ...tally import Tally


def facts(case: Case, k: int) -> Iterable[str]:
    """The reference's counts for one item: a missing trace is a shipped empty answer there."""
    gold = case.gold
    trace = case.traces[-1] if case.traces else None
    claim = trace.answer.claim.strip() if trace else ""
    citations = ids_of(trace.answer.citations) if trace else []
    retrieved = trace.retrieved if trace else []
    shipped = claim.lower() != TOKEN
    yield "answerable" if gold.answerable else "unanswerable"
    yield "answered" if shipped else "refused"
    if gold.answerable and set(gold.citations) <= set(retrieved[:k]):
        yield "recalled"
    if not shipped:
        if gold.answerable:
            yield "over"
        return
    if not gold.answerable:
        yield "under"
        return
    if _hit(gold.citations, citations, retrieved):
        yield "hit"
        if _contained(gold, claim):
            yield "correct"


def _contained(gold: Gold, claim: str) -> bool:
    lowered = claim.lower()
    if any(len(text.lower()) >= 5 and text.lower() in lowered for text in gold.substrings):
        return True
    return gold.gold_claim_substr is not UNSET and not gold.substrings


def _hit(wanted: list[str], citations: list[str], retrieved: list[str]) -> bool:
    if not wanted:
        return not citations
    return bool(set(wanted) & set(citations)) and set(citations) <= set(retrieved)


def reference(cases: Iterable[Case], k: int) -> tuple[dict[str, object], dict[str, Fraction]]:
    """The reference's report and, unrounded, the four numbers that its gates compare."""
    tally = Tally()
    for case in cases:
        tally.count(facts(case, k))
    shipped, known, unknown = tally["answered"], tally["answerable"], tally["unanswerable"]
    exact = {
        "precision": _over(tally["correct"], shipped, 1), "chr": _over(tally["hit"], shipped, 1),
        "under_refusal": _over(tally["under"], unknown, 0), "over_refusal": _over(tally["over"], known, 0),
        "recall@k": _over(tally["recalled"], known, 0),
    }  # fmt: skip
    counts: dict[str, object] = {
        "answered": shipped,
        "refused": tally["refused"],
        "answerable": known,
        "unanswerable": unknown,
    }
    # The scripts divide in floating point and round that; rounding the fraction could differ in the last place.
    rounded = {name: round(value.numerator / value.denominator, 4) for name, value in exact.items()}
    return counts | rounded | {"k": k}, exact


def _over(k: int, n: int, otherwise: int) -> Fraction:
    return Fraction(k, n) if n else Fraction(otherwise)
