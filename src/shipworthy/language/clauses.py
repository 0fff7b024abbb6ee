"""Clauses: which parts of a sentence are denied and which are asked. Nothing else is read into them.

text → sentences → clauses → negated? question?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from .packs import english
from .sentences import sentences
from .words import Token, tokens

LIST_ITEM = 4  # words that an item of a list "A, B or C" may have
_BREAK = re.compile(r"[;:()\[\]—–\n]|\s-+\s|,")
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
    listed = [(text.split(), True) for text in english("negators") | english("nominal")]
    listed += [(text.split(), False) for text in english("idioms")]
    by_first: dict[str, list[tuple[list[str], bool]]] = {}
    for phrase, denying in sorted(listed, key=lambda row: -len(row[0])):
        by_first.setdefault(phrase[0], []).append((phrase, denying))
    return by_first


# --- where one clause ends and the next begins ---


def parts(text: str, found: list[Token]) -> Iterator[list[Token]]:
    """The tokens of a text cut into clauses: at signs, and before words that open a clause of their own."""
    begin = 0
    openers = english("openers") | english("joints")
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
    if found[n].norm not in english("joints"):
        return found[n - 1].norm not in ("nothing", "not")
    return n + 1 < len(found) and found[n + 1].norm in english("subjects")


def _list_commas(found: list[Token], gaps: list[str]) -> set[int]:
    """The places of commas that only part a list "A, B, or C", which a negation before it denies as a whole."""
    listed: set[int] = set()
    later = 0  # the next comma, if it parts a list
    for n in reversed([n for n, gap in enumerate(gaps, start=1) if "," in gap]):
        later = n if found[n].norm in ("or", "nor") or 0 < later - n <= LIST_ITEM else 0
        listed.update([later] if later else ())
    return listed
