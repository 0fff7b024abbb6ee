"""Clauses: which parts of a sentence are denied and which are asked. Nothing else is read into them.

text → sentences → clauses → negated? question?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from .sentences import sentences
from .tables import lines_of, may_deny, word_set, words_of
from .words import Token, is_content, tokens

REACH = 400  # characters on either side of a place in which its clause is looked for
NOUN = 3  # words between "without" and what it denies
LIST_ITEM = 4  # words that an item of a list "A, B or C" may have
_BREAK = re.compile(r"[;:()\[\]—–\n]|\s-+\s|,")
_STOP = re.compile(r"[.!?;\n](?![^\W_])")
Cue = tuple[int, int]  # the first token of a cue, and the one after its last


class Clause(NamedTuple):
    """A stretch of a sentence with its own polarity."""

    tokens: list[Token]
    negated: bool
    question: bool
    start: int
    end: int


def clauses(text: str) -> list[Clause]:
    """The clauses of a text, in order, with spans in that text."""
    listed: list[Clause] = []
    for sentence in sentences(text):
        question = sentence.text.rstrip("\"'”’)*_ ").endswith("?")
        for part in parts(text, tokens(text, sentence.start, sentence.end)):
            listed.append(Clause(part, len(cues(part)) % 2 == 1, question, part[0].start, part[-1].end))
    return listed


def negated_at(text: str, start: int, end: int) -> bool:
    """Whether what stands at this place is denied: an odd number of negations reaches it."""
    low, high = sentence_at(text, start, end)
    if not may_deny(text[low:high]):
        return False
    for part in parts(text, tokens(text, low, high)):
        if part[-1].end > start:
            place = next(n for n, token in enumerate(part) if token.end > start)
            after = next((n for n in range(place, len(part)) if part[n].start >= end), len(part))
            reaching = sum(_reaches(part, cue, place) for cue in cues(part))
            return (reaching + _denied_after(part, after)) % 2 == 1
    return False


def denies(text: str) -> bool:
    """Whether a short text is itself a denial: "not refundable", "no fee"."""
    return any(clause.negated for clause in clauses(text))


def sentence_at(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence around a place, as far as it lies within reach."""
    low, high = max(0, start - REACH), min(len(text), end + REACH)
    before = [stop.end() for stop in _STOP.finditer(text, low, start)]
    after = _STOP.search(text, end, high)
    return (before[-1] if before else low), (after.start() if after else high)


def _reaches(part: Sequence[Token], cue: Cue, place: int) -> bool:
    """Whether the cue stands before the place, and nothing between ends its reach."""
    between = [token.norm for token in part[cue[1] : place]]
    if cue[1] > place or not word_set("negation", "bounds").isdisjoint(between):
        return False
    nominal = part[cue[0]].norm in word_set("negation", "nominal")
    if nominal and (len(between) > NOUN or not word_set("negation", "forms_of_be").isdisjoint(between)):
        return False
    first = next((n for n in range(cue[1], place) if is_content(part[n])), place)
    return word_set("negation", "ends").isdisjoint(token.norm for token in part[first + 1 : place])


def _denied_after(part: Sequence[Token], after: int) -> bool:
    """Whether the words right after the place say that it is not so: "30 days is not right"."""
    words = [token.norm for token in part[after : after + 2]]
    if not words or words[0] not in word_set("negation", "forms_of_be"):
        return False
    return words[0].endswith(("nt", "n't")) or words[1:] in (["not"], ["never"])


def cues(part: Sequence[Token]) -> list[Cue]:
    """The negations among the tokens; "nor" after another one only goes on with it."""
    words = [token.norm for token in part]
    phrases = _phrases()
    found: list[Cue] = []
    n = 0
    while n < len(words):
        size, denies = 1, words[n].endswith("n't")
        for phrase, denying in phrases.get(words[n], ()):
            if words[n : n + len(phrase)] == phrase:
                size, denies = len(phrase), denying
                break
        if denies and not (found and words[n] == "nor"):
            found.append((n, n + size))
        n += size
    return found


@cache
def _phrases() -> dict[str, list[tuple[list[str], bool]]]:
    """Cues, and idioms that deny nothing, by their first word; the longest first."""
    listed = [(text.split(), True) for text in lines_of("cues")]
    listed += [(text.split(), False) for text in words_of("negation", "idioms")]
    by_first: dict[str, list[tuple[list[str], bool]]] = {}
    for phrase, denying in sorted(listed, key=lambda row: -len(row[0])):
        by_first.setdefault(phrase[0], []).append((phrase, denying))
    return by_first


# --- where one clause ends and the next begins ---


def parts(text: str, found: list[Token]) -> Iterator[list[Token]]:
    """The tokens of a text cut into clauses: at signs, and before words that open a clause of their own."""
    begin = 0
    openers = word_set("negation", "openers")
    gaps = [text[one.end : other.start] for one, other in pairwise(found)]
    lists = _list_commas(found, gaps) if any("," in gap for gap in gaps) else ()
    for n in range(1, len(found)):
        if _breaks(gaps[n - 1], n in lists) or (found[n].norm in openers and _opens(found, n)):
            yield found[begin:n]
            begin = n
    if found:
        yield found[begin:]


def _breaks(gap: str, listed: bool) -> bool:
    if len(gap) == 1:
        return False
    sign = _BREAK.search(gap)
    return sign is not None and not (listed and sign[0] == ",")


def _opens(found: list[Token], n: int) -> bool:
    """Whether a word opens a clause: by itself, or as a joint before a subject of its own."""
    if found[n].norm not in word_set("negation", "joints"):
        return found[n - 1].norm not in ("nothing", "not")
    return n + 1 < len(found) and found[n + 1].norm in word_set("negation", "subjects")


def _list_commas(found: list[Token], gaps: list[str]) -> set[int]:
    """The places of commas that only part a list "A, B, or C", which a negation before it denies as a whole."""
    listed: set[int] = set()
    later = 0  # the next comma, if it parts a list
    for n in reversed([n for n, gap in enumerate(gaps, start=1) if "," in gap]):
        later = n if found[n].norm in ("or", "nor") or 0 < later - n <= LIST_ITEM else 0
        listed.update([later] if later else ())
    return listed
