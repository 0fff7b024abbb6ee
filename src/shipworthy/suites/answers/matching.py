"""Matching: does a claim assert the expected text? The plain search goes first, one spelling only where it misses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache

import msgspec

from ...core.contracts import Gold
from ...errors import DataError
from ...language.tables import may_deny
from ...text import fold, folded_claim

TIME_LIMIT = 0.5  # seconds for one regular expression on one claim
ABSENT, INSIDE, DENIED, FOUND = "missing", "inside", "denied", "found"  # from worst to best
_RANK = {state: rank for rank, state in enumerate((ABSENT, INSIDE, DENIED, FOUND))}
_QUANTITY = r"(?<![\w.,])([$€£]?) ?(-?\d+(?:\.\d+)?)(?![\d]) ?(%|[^\W\d_]+)?"  # few gold sets ask for numbers


class Needle(msgspec.Struct, frozen=True):
    """An expected text made ready: folded, and whether it is so short that it counts only as whole words."""

    text: str
    written: str
    short: bool


class Wanted(msgspec.Struct, frozen=True):
    """What a gold item expects of a claim."""

    mode: str
    needles: tuple[Needle, ...]
    tolerance: str = "0"
    forbidden: tuple[Needle, ...] = ()
    guarded: bool = True  # whether a denied text is not found


def wanted(gold: Gold, least: int, on_denied: str = "fail") -> Wanted:
    """The gold item's expectations, made ready once for all its runs."""
    forbidden = _needles(gold.forbidden, least) if gold.forbidden else ()
    tolerance = str(gold.tolerance) if gold.tolerance else "0"
    return Wanted(gold.match, _needles(gold.substrings, least), tolerance, forbidden, on_denied != "off")


def _needles(texts: Sequence[str], least: int) -> tuple[Needle, ...]:
    return tuple([Needle(text, written, len(text) < least) for written in texts if (text := fold(written))])


def state(expected: Wanted, claim: str) -> str:
    """Whether the claim asserts what is expected: found, denied, inside another word or number, or missing."""
    if expected.mode == "regex":
        return FOUND if any(_searches(needle.written, claim) for needle in expected.needles) else ABSENT
    if expected.mode == "any" and _plainly(expected, folded_claim(claim)):
        return FOUND
    states = _states(expected, claim, expected.needles)
    if expected.mode == "all":
        return min(states, key=_RANK.__getitem__, default=ABSENT)
    best = ABSENT
    for each in states:
        if each == FOUND:
            return FOUND
        best = max(best, each, key=_RANK.__getitem__)
    return best


def _plainly(expected: Wanted, claim: str) -> bool:
    """Whether one of the texts stands in the folded claim as it is, which answers most questions."""
    for needle in expected.needles:
        if needle.text in claim and _search(needle.text, claim, needle, expected.guarded) == FOUND:
            return True
    return False


def states(expected: Wanted, claim: str) -> dict[str, str]:
    """The same for each expected text, as it was written."""
    if expected.mode == "regex":
        return {each.written: FOUND if _searches(each.written, claim) else ABSENT for each in expected.needles}
    found = _states(expected, claim, expected.needles)
    return {needle.written: each for needle, each in zip(expected.needles, found, strict=True)}


def forbidden(expected: Wanted, claim: str) -> str:
    """The first forbidden statement that the claim asserts, or nothing."""
    plain = msgspec.structs.replace(expected, mode="any")
    found = zip(expected.forbidden, _states(plain, claim, expected.forbidden), strict=True)
    return next((needle.written for needle, each in found if each == FOUND), "")


def _states(expected: Wanted, claim: str, needles: Sequence[Needle]) -> Iterator[str]:
    folded, spelt = folded_claim(claim), ""
    for needle in needles:
        if expected.mode == "number":
            yield _number(needle, spelt := spelt or _claim_spelled(claim), expected)
            continue
        here = _search(needle.text, folded, needle, expected.guarded)
        if here not in (FOUND, DENIED):
            spelt = spelt or _claim_spelled(claim)
            here = max(here, _search(_spelled(needle.written), spelt, needle, expected.guarded), key=_RANK.__getitem__)
        yield here


# --- one text in another ---


def _search(text: str, claim: str, needle: Needle, guarded: bool) -> str:
    """The best of all the places where the text stands."""
    best = ABSENT
    place = claim.find(text) if text else -1
    while place >= 0:
        end = place + len(text)
        if _cut(claim, place, end, needle.short):
            best = max(best, INSIDE, key=_RANK.__getitem__)
        elif guarded and _denied(claim, place, end, needle.written):
            best = DENIED
        else:
            return FOUND
        place = claim.find(text, place + 1)
    return best


def _cut(claim: str, start: int, end: int, short: bool) -> bool:
    """Whether the place begins or ends inside a number or, for a short text, inside a word."""
    first, last = claim[start], claim[end - 1]
    if first.isdigit() and start and _number_before(claim[max(0, start - 2) : start]):
        return True
    if last.isdigit() and _number_after(claim[end : end + 2]):
        return True
    return short and (_joins(claim[max(0, start - 1) : start], first) or _joins(claim[end : end + 1], last))


def _number_before(text: str) -> bool:
    return text[-1:].isdigit() or (text[-1:] in (".", ",") and text[:1].isdigit() and len(text) == 2)


def _number_after(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] in (".", ",") and text[1:].isdigit())


def _joins(one: str, other: str) -> bool:
    return bool(one) and (one.isalnum() or one == "_") and other.isalnum()


def _denied(claim: str, start: int, end: int, written: str) -> bool:
    if not may_deny(claim):
        return False
    from ...language.clauses import negated_at  # most claims deny nothing, and need no reader

    return negated_at(claim, start, end) and not _denies(written)


@lru_cache(maxsize=8192)
def _denies(text: str) -> bool:
    from ...language.clauses import denies

    return denies(text)


@lru_cache(maxsize=8192)
def _spelled(text: str) -> str:
    from ...language.spelling import spelled  # where the plain search finds everything, nothing is spelled

    return spelled(text)


@lru_cache(maxsize=8)  # a claim that fails is looked at once more, to say why
def _claim_spelled(claim: str) -> str:
    from ...language.spelling import spelled

    return spelled(claim)


# --- numbers and regular expressions ---


def _number(needle: Needle, claim: str, expected: Wanted) -> str:
    """Whether the claim states a number within the tolerance of the expected one, with the same unit."""
    goal = quantity(needle.written)
    if goal is None:
        return ABSENT
    value, unit = goal
    slack = _slack(expected.tolerance, value)
    best = ABSENT
    for match in re.finditer(_QUANTITY, claim):
        if abs(Decimal(match[2]) - value) > slack or (unit and unit not in (match[1], match[3])):
            continue
        if not (expected.guarded and _denied(claim, match.start(2), match.end(2), needle.written)):
            return FOUND
        best = DENIED
    return best


@lru_cache(maxsize=8192)
def quantity(written: str) -> tuple[Decimal, str] | None:
    """The number and unit of an expected text such as `30 days`, `$1,200` or `5%`."""
    match = re.search(_QUANTITY, _spelled(written))
    return (Decimal(match[2]), match[1] or match[3] or "") if match else None


def _slack(tolerance: str, value: Decimal) -> Decimal:
    if tolerance.endswith("%"):
        return abs(value) * Decimal(tolerance[:-1]) / 100
    return Decimal(tolerance)


def _searches(pattern: str, claim: str) -> bool:
    """Whether the pattern stands in the claim; one that takes too long does not."""
    import regex  # only gold sets with regular expressions need it

    try:
        return regex.compile(pattern).search(claim, timeout=TIME_LIMIT) is not None
    except TimeoutError:
        return False


def is_plain(gold: Gold) -> bool:
    """Whether its expectations are texts, about which nothing can be wrong."""
    return gold.match in ("any", "all") and gold.tolerance == 0


def check(gold: Gold, where: str) -> None:
    """An error for what can't be read: a pattern that does not compile, a text without a number, a bad tolerance."""
    for text in gold.substrings if gold.match == "regex" else ():
        try:
            re.compile(text)
        except re.error as problem:
            hint = "Correct the expression, or use another match."
            message = f"gold_claim_substr {text!r} is not a regular expression: {problem}"
            raise DataError(message, where=where, hint=hint, code="gold-regex") from None
    for text in gold.substrings if gold.match == "number" else ():
        if quantity(text) is None:
            message = f"gold_claim_substr {text!r} has no number, and match is number"
            raise DataError(message, where=where, hint="Write a number with its unit: 30 days.", code="gold-number")
    if (tolerance := str(gold.tolerance)) != "0" and not re.fullmatch(r"\d+(\.\d+)?%?", tolerance):
        message = f"tolerance is {gold.tolerance!r}, expected a number or a percentage"
        raise DataError(message, where=where, hint='Write 0.5 or "5%".', code="gold-tolerance")
