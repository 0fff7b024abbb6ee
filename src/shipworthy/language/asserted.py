"""Asserted: whether a sentence states what stands in it, or denies it, takes it back, leaves it open, or asks it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .clauses import negated_at, parts, sentence_at
from .reader import read_phrase
from .tables import may_doubt, word_set
from .words import Token, stem, tokens

NEAR = 4  # words between a thing and what is said of it


def unasserted(text: str, start: int, end: int, question: str = "") -> bool:
    """Whether what stands at this place is not stated there; the question tells what the answer is about."""
    negated, doubted = negated_at(text, start, end), may_doubt(text)
    if negated and not doubted:
        return True
    low, high = sentence_at(text, start, end)
    found = tokens(text, low, high)
    place = next((n for n, token in enumerate(found) if token.end > start), len(found))
    after = next((n for n in range(place, len(found)) if found[n].start >= end), len(found))
    words = [token.norm for token in found]
    if negated:
        rest = words[after : after + NEAR]  # "30 days is not wrong" denies nothing
        return not (rest and _is(rest[0], "forms_of_be") and any(_is(word, "falsity") for word in rest))
    if text[high : high + 1] == "?" or _denied_of_it(words, after, question):
        return True
    if not doubted:
        return False
    following = [token.norm for token in tokens(text, high, high + 80)]
    return (
        (_is_false(words, place, after, following) and not _has(question, "falsity"))
        or _left_open(words, place, after)
        or _hypothetical(words, place)
        or (_is_past(text, found, words, place, after) and not _has(question, "asks_past"))
    )


def _is_false(words: Sequence[str], place: int, after: int, following: Sequence[str]) -> bool:
    """Whether it is called wrong: "X is wrong", "X, but that is a myth", "wrongly X", "X. This was ruled out.\""""
    rest = words[after:]
    if rest[:1] and _is(rest[0], "forms_of_be") and _false_in(rest[1 : NEAR + 1]):
        return True
    if _pointed(following[: NEAR + 2]) or any(_pointed(rest[n : n + NEAR + 2]) for n in range(len(rest) - 1)):
        return True
    before = words[max(0, place - 2 * NEAR) : place]
    return any(_is(word, "falsely") for word in before) or _pair(before, "contrary", "to")


def _pointed(words: Sequence[str]) -> bool:
    """ "That is a common misconception"."""
    if words[:1] and words[0] in ("that's", "it's"):
        return _false_in(words[1:])
    verb = words[1:2] and (_is(words[1], "forms_of_be") or words[1] in ("has", "had"))
    return bool(verb) and words[0] in ("that", "this", "which", "it") and _false_in(words[2:])


def _false_in(words: Sequence[str]) -> bool:
    """Whether the words say that something is false, and do not deny it."""
    told = next(
        (n for n, word in enumerate(words) if _is(word, "falsity") or _pair(words[n : n + 2], "ruled", "out")), -1
    )
    return told >= 0 and not any(word in ("not", "never", "no") for word in words[:told])


def _left_open(words: Sequence[str], place: int, after: int) -> bool:
    """ "Either X or Y", "X or maybe Y"; where one may choose, both hold."""
    guesses = word_set("negation", "guesses")
    if words[after : after + 1] == ["or"] and not guesses.isdisjoint(words[after + 1 : after + 3]):
        return True
    if "or" in words[max(0, place - 3) : place] and not guesses.isdisjoint(words[max(0, place - 3) : place]):
        return True
    if "either" not in words[:place] or not word_set("negation", "choices").isdisjoint(words):
        return False
    return "or" in words[words.index("either") :]


def _hypothetical(words: Sequence[str], place: int) -> bool:
    """ "If it were X"."""
    before = list(words[max(0, place - 2 * NEAR) : place])
    return "if" in before and "were" in before[before.index("if") :]


def _is_past(text: str, found: list[Token], words: Sequence[str], place: int, after: int) -> bool:
    """ "Used to be X", "formerly X", "was X until", "until 2020 it was X", "reduced from X"."""
    clause = next((part for part in parts(text, found) if part[-1].end > found[place].start), found) if found else []
    before = [token.norm for token in clause if token.start < found[place].start] if place < len(found) else []
    behind = [token.norm for token in clause if token.start >= found[after].start] if after < len(found) else []
    if any(_is(word, "formerly") for word in before) or _pair(before, "used", "to"):
        return True
    was = not {"was", "were", "had"}.isdisjoint(before)
    if was and not {"until", "till"}.isdisjoint([*words[:1], *behind[:1]]):
        return True
    if "from" not in words[max(0, place - 2) : place]:
        return False
    origin = max(n for n in range(max(0, place - 2), place) if words[n] == "from")
    return any(_is(word, "changed") for word in words[max(0, origin - NEAR) : origin])


def _pair(words: Sequence[str], one: str, other: str) -> bool:
    return any(words[n] == one and words[n + 1] == other for n in range(len(words) - 1))


def _denied_of_it(words: Sequence[str], after: int, question: str) -> bool:
    """ "X does not inherit" to "Who inherits?" denies what was asked; "X is no longer so" needs no question."""
    rest = list(words[after : after + 2 * NEAR])
    if not rest or not _is(rest[0], "helpers"):
        return False
    if rest[1:3] == ["no", "longer"]:
        return _is(rest[0], "forms_of_be") or _shares(rest[3:], question)
    if not (rest[0].endswith("n't") or rest[0] == "cannot" or rest[1:2] in (["not"], ["never"])):
        return False
    verb = rest[1:2] if rest[1:2] not in (["not"], ["never"]) else rest[2:3]
    return _shares(verb, question)


def _shares(words: Sequence[str], question: str) -> bool:
    return not _asked(question).isdisjoint(map(stem, words))


def _has(question: str, kind: str) -> bool:
    """Whether the question itself has such a word: then the answer may well be what is wrong, or was so once."""
    return not word_set("negation", kind).isdisjoint(token.norm for token in read_phrase(question).tokens)


@lru_cache(maxsize=1024)
def _asked(question: str) -> frozenset[str]:
    return frozenset(read_phrase(question).content)


def _is(word: str, kind: str) -> bool:
    return word in word_set("negation", kind)
