"""Lists: the items that an answer enumerates, so that one too many can be told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .sentences import sentences

LONGEST = 1200  # characters of a sentence
ITEM = 5  # words of an item; more are a clause of their own
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*)")
_PARTED = re.compile(r"\s*(?:[,;]\s*(?:and|or|as well as|plus)\b|[,;]|\b(?:and|or|as well as|plus)\b|&)\s*")
_LEAD = re.compile(r".*(?::|\b(?:are|is|were|was|includes?|supports?|accepts?|namely)\b)\s*(?!\Z)", re.S | re.I)
_VERB = re.compile(r"\b(?:is|are|was|were|be|has|have|had|can|may|will|you|it|they|we|which|see|for|in|on|at)\b", re.I)


def items(claim: str, expected: Callable[[str], bool]) -> Iterator[str]:
    """The items of the claim's list that are none of the expected ones."""
    lines = [found[1] for line in claim.splitlines() if (found := _BULLET.match(line))]
    if sum(map(expected, lines)) > 1 or (lines and expected("\n".join(lines))):
        yield from (line.strip() for line in lines if not expected(line))
        return
    for sentence in sentences(claim):
        if expected(sentence.text):
            yield from _enumerated(sentence.text[:LONGEST].rstrip(".!"), expected)


def _enumerated(text: str, expected: Callable[[str], bool]) -> Iterator[str]:
    """Short parts right before, between and after the expected ones; a longer part or one with a verb ends the list."""
    parts = _PARTED.split(text)
    known = [expected(part) for part in parts]
    first, last = (
        known.index(True) if True in known else len(parts),
        len(parts) - 1 - known[::-1].index(True) if True in known else -1,
    )
    low = first
    while low > 0 and _is_item(parts[low - 1]):
        low -= 1
    high = last
    while 0 <= high < len(parts) - 1 and _is_item(parts[high + 1]):
        high += 1
    for n in range(low, high + 1):
        if not known[n] and (item := _LEAD.sub("", parts[n]).strip()) and _is_item(item):
            yield item


def _is_item(part: str) -> bool:
    rest = _LEAD.sub("", part)
    return 0 < len(rest.split()) <= ITEM and not _VERB.search(rest)
