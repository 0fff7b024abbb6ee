"""The reference profile: what the original scripts print, number for number, known mistakes included."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ...core.tally import Tally
from ...language.refusal import TOKEN
from .judge import Context, Verdict

LEAST = 5  # the shortest text that the original script looks for, once it is in lower case
REFERENCE = "reference"  # the part of the evidence that counts what the original script counts


def facts_of(verdict: Verdict, context: Context) -> tuple[str, ...]:
    """The reference's own reading of an item: a missing trace is a shipped empty answer there."""
    expected, retrieved = verdict.expected, verdict.retrieved
    assert expected is not None
    claim = verdict.claim if verdict.status != "error" or verdict.trace is None else verdict.trace.answer.claim
    # A table of ids is the strict profile's own; the original compares ids as they are written.
    wanted = expected.citations if context.judging.id_map is None else frozenset(expected.gold.citations)
    if _refused(verdict, claim):
        if not verdict.answerable:
            return _REFUSED
        return _OVER_RECALLED if wanted.issubset(retrieved[: context.options.k[0]]) else _OVER
    if not verdict.answerable:
        return _UNDER
    found = 2 if wanted.issubset(retrieved[: context.options.k[0]]) else 0
    if not _hit(verdict, wanted, context):
        return _ANSWERED[found]
    right = expected.vacuous or _contains(claim.strip().lower(), expected.gold.substrings)
    return _HIT[found + right]


_REFUSED, _UNDER = ("unanswerable", "refused"), ("unanswerable", "answered", "under")
_OVER, _OVER_RECALLED = ("answerable", "refused", "over"), ("answerable", "refused", "recalled", "over")
_ANSWERED = {0: ("answerable", "answered"), 2: ("answerable", "answered", "recalled")}
_HIT = {  # not recalled, recalled; each not correct, correct
    found + right: (*_ANSWERED[found], "hit", *("correct",) * right) for found in (0, 2) for right in (0, 1)
}


def _refused(verdict: Verdict, claim: str) -> bool:
    """Whether the claim is the token to the original, which lowers letters and does not fold them."""
    if claim.isascii() and verdict.status in ("shipped", "refused"):
        return verdict.status == "refused" and not verdict.wider
    return claim.strip().lower() == TOKEN


def _contains(claim: str, texts: Iterable[str]) -> bool:
    """Whether the claim has one of the texts, of those that are long enough."""
    for text in texts:
        lowered = text.lower()
        if len(lowered) >= LEAST and lowered in claim:
            return True
    return False


def _hit(verdict: Verdict, wanted: frozenset[str], context: Context) -> bool:
    """Whether some citation is gold and all were retrieved; without gold citations, whether nothing is cited."""
    citations, retrieved = verdict.citations, verdict.retrieved
    if not wanted:
        return not citations
    if verdict.status == "shipped" and context.judging.id_map is None:
        return bool(verdict.cited)  # the judge applied the same rule to the same ids
    return not wanted.isdisjoint(citations) and all(map(retrieved.__contains__, citations))


def numbers(tally: Tally, k: int) -> tuple[dict[str, int | float], dict[str, Fraction]]:
    """The reference's report and, unrounded, the numbers that its gates compare."""
    shipped, known, unknown = tally["answered"], tally["answerable"], tally["unanswerable"]
    exact = {
        "precision": _over(tally["correct"], shipped, 1),
        "chr": _over(tally["hit"], shipped, 1),
        "under_refusal": _over(tally["under"], unknown, 0),
        "over_refusal": _over(tally["over"], known, 0),
        "recall@k": _over(tally["recalled"], known, 0),
    }
    counts = {"answered": shipped, "refused": tally["refused"], "answerable": known, "unanswerable": unknown}
    # The scripts divide in floating point and round that; rounding the fraction could differ in the last place.
    rounded = {name: round(value.numerator / value.denominator, 4) for name, value in exact.items()}
    return counts | rounded | {"k": k}, exact


def _over(k: int, n: int, otherwise: int) -> Fraction:
    return Fraction(k, n) if n else Fraction(otherwise)
