"""The reference profile: what the original scripts print, number for number, known mistakes included."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import UNSET

from ...core.contracts import Gold, Trace, ids_of
from ...core.tally import Tally
from ...language.refusal import TOKEN
from .judge import Context, Verdict

REFERENCE = "reference"  # the part of the evidence that counts what the original script counts
LEAST = 5  # the original's shortest substring


def facts_of(verdict: Verdict, context: Context) -> tuple[str, ...]:
    """The reference's counts for one item; it is walked again only where the two profiles can differ on it."""
    k = context.options.k[0]
    if not _can_differ(verdict, context):
        return tuple(_from_verdict(verdict, k))
    assert verdict.expected is not None
    return tuple(walk(verdict.expected.gold, verdict.trace, k))


def _can_differ(verdict: Verdict, context: Context) -> bool:
    """Whether anything about the item is read differently: how text is folded, what is missing, what counts twice."""
    judging, trace, expected = context.judging, verdict.trace, verdict.expected
    if judging.declared or judging.scu_enforced or judging.id_map is not None or judging.min_substr != LEAST:
        return True
    if trace is None or expected is None or verdict.status in ("error", "empty") or not expected.citations:
        return True
    retrieved = trace.retrieved
    return (
        expected.gold.match != "any"
        or len(set(retrieved)) != len(retrieved)
        or not _plain(trace.answer.claim)
        or not all(map(_plain, expected.gold.substrings))
    )


def _plain(text: str) -> bool:
    """ASCII with single spaces: text that both profiles fold alike."""
    return text.isascii() and text == " ".join(text.split())


def _from_verdict(verdict: Verdict, k: int) -> Iterator[str]:
    """The same counts from the strict verdict, where both profiles read the item alike."""
    answerable, refused = verdict.answerable, verdict.status == "refused"
    yield "answerable" if answerable else "unanswerable"
    yield "refused" if refused else "answered"
    if answerable and verdict.all_rank is not None and verdict.all_rank <= k:
        yield "recalled"
    if refused:
        if answerable:
            yield "over"
    elif not answerable:
        yield "under"
    elif verdict.cited:
        yield "hit"
        assert verdict.expected is not None
        assert verdict.trace is not None
        if _contained(verdict.expected.gold, verdict.trace.answer.claim):  # its own rule: lower case, plain substring
            yield "correct"


def walk(gold: Gold, trace: Trace | None, k: int) -> Iterator[str]:
    """The reference's own reading of an item: a missing trace is a shipped empty answer there."""
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
    if any(len(text.lower()) >= LEAST and text.lower() in lowered for text in gold.substrings):
        return True
    return gold.gold_claim_substr is not UNSET and not gold.substrings


def _hit(wanted: list[str], citations: list[str], retrieved: list[str]) -> bool:
    if not wanted:
        return not citations
    return bool(set(wanted) & set(citations)) and set(citations) <= set(retrieved)


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
