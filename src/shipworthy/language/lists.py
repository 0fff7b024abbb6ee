"""Lists: the items that a text enumerates, so that one too many, or another order, can be told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from .packs import Pack
from .sentences import sentences

LONGEST = 1200  # characters of a sentence
ITEM = 5  # words of an item; more are a clause of their own
MOST = 8  # items of an expected text that is a list
_SIGN = re.compile(r"[,;&、，،；]")
_NO_LIST = re.compile(r"[\d()\[\]\"“”]")
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


def enumerated(text: str, pack: Pack) -> list[str]:
    """The items of a text that is nothing but a list, "a laptop, a monitor and a headset"; nothing of any other.

    Numbers and two words with a comma ("Paris, France") are none: there the order says something. Nor is what has
    brackets or quotation marks, which is more than words.
    """
    join = pack.slot("join")
    if len(text) > LONGEST or _NO_LIST.search(text) or not (_SIGN.search(text) or join.search(text)):
        return []
    parts = [_without_article(part, pack) for part in _parts(text.strip(" ."), pack)]
    short = all(0 < len(part.split()) < ITEM and not _VERB.search(part) for part in parts)
    return parts if short and (len(parts) > 2 or join.search(text)) and 1 < len(parts) <= MOST else []


def lists_alike(claim: str, wanted: Sequence[str], pack: Pack, states: Callable[[str, str], bool]) -> Iterator[str]:
    """The sentences and lists of bullets of the claim that list just these items, in whatever order."""
    bullets = [found[1] for line in claim.splitlines() if (found := _BULLET.match(line))]
    texts = [(text, _parts(text, pack)) for span in sentences(claim) if len(text := span.text) <= LONGEST]
    for text, parts in [*texts, ("\n".join(bullets), bullets)]:
        if len(parts) < len(wanted):
            continue
        places = [next((n for n, part in enumerate(parts) if states(one, part)), -1) for one in wanted]
        first, last = min(places), max(places)
        if first < 0 or len(set(places)) < len(wanted) or last - first >= len(wanted):
            continue
        after = parts[last + 1 :] and not bullets and pack.slot("join").match(text, _end(text, parts[last]))
        before = _LEAD.sub("", parts[first - 1]) if first and _LEAD.match(parts[first - 1]) else ""
        if not after and not _is_item(before):
            yield text


def _without_article(part: str, pack: Pack) -> str:
    first, _, rest = part.partition(" ")
    return rest if rest and pack.fold(first) in pack.common else part


def _end(text: str, part: str) -> int:
    """Where a part of a text ends, with the blanks and the sign behind it."""
    end = text.index(part) + len(part)
    return end + len(text[end:]) - len(text[end:].lstrip(" ,;、，،；"))


def _parts(text: str, pack: Pack) -> list[str]:
    return [part for each in _SIGN.split(text) for one in pack.slot("join").split(each) if (part := one.strip())]
