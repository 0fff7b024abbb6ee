"""Wording: a text found word by word, where its letters are not found as they are.

The same words may be in another form, with or without accents and commas; a name with or without a title, with an
initial for a first name, or with the last name first.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from .tables import word_set
from .words import Token, stem_in, tokens

_SOFT = re.compile(r"[\s,.'\"():;&\[\]{}-]*")
_INITIAL = re.compile(r" \w\. ?")
_STOP = re.compile(r"[.;:!?]\s")
_NEGATIVE = re.compile(r"(?:^|[^\w])-\d")
_LAST_FIRST = re.compile(r"[^\W\d_][\w'’-]+, ")
_SHORT = ({"st", "saint"}, {"mt", "mount"}, {"ft", "fort"})
_ENDINGS = (  # British and American spelling
    (re.compile(r"is(?=(?:e|ed|es|er|ers|ing|ation|ations)$)"), "iz"),
    (re.compile(r"(?<=\w{4})our(?=s?$|ed$|ing$)"), "or"),
    (re.compile(r"(?<=\w[bt])re(?=s?$)"), "er"),
)


class Worded(NamedTuple):
    """A text made ready: its words, how they begin, and its words as those of a name, if it may be one."""

    words: list[Token]
    begins: list[str]
    name: list[Token]
    short: list[Token]  # the name without its middle: its title, or its first word, and its last


@lru_cache(maxsize=8192)
def worded(written: str, text: str, titles: frozenset[str] | None = None) -> Worded:
    """A text as it was written, and in one spelling."""
    words = tokens(text)
    titles = word_set("words", "titles") if titles is None else titles
    capital = sum(word[:1].isupper() for word in written.split())
    name = words if capital > 1 and len(words) <= 5 and not any(word.number for word in words) else []
    if _LAST_FIRST.match(written):
        name = [*name[1:], *name[:1]]
    short = [name[0], name[-1]] if len(name) == 3 else []
    while len(name) > 2 and name[0].norm in titles:
        name = name[1:]
    if _NEGATIVE.search(text) or text[-1:] in "+-#" or not _SOFT.fullmatch(_between(text, words)):
        words = []
    return Worded(words, [_bare(word.norm)[:3] for word in words], name, short)


def places(wanted: Worded, claim: str, lang: str = "") -> Iterator[tuple[int, int]]:
    """Where the words stand in a claim in one spelling, one after the other, or as people write a name.

    They shorten names, turn them round and put titles before them.
    """
    bare = _bare(claim)
    if wanted.words and all(map(bare.__contains__, wanted.begins)):
        yield from _runs(wanted.words, claim, lang, False)
    if wanted.name and _bare(wanted.name[-1].norm)[:3] in bare:
        yield from _runs(wanted.name, claim, lang, True)
        if wanted.short:
            yield from _runs(wanted.short, claim, lang, False)
        for start, end in _runs([wanted.name[-1], *wanted.name[:-1]], claim, lang, True):
            if "," in claim[start:end]:
                yield start, end


def _runs(wanted: Sequence[Token], claim: str, lang: str, short: bool) -> Iterator[tuple[int, int]]:
    found = _claim_tokens(claim)
    for n in range(len(found) - len(wanted) + 1):
        run = found[n : n + len(wanted)]
        if short and len(run) == 2 and len(run[1].norm) == 1:
            run = [run[0], *found[n + 2 : n + 3]]  # an initial in the middle
        if len(run) < len(wanted) or not _same(wanted[0], run[0], lang, short):
            continue
        if all(_same(one, other, lang, short) for one, other in zip(wanted, run, strict=True)) and _adjoin(run, claim):
            yield run[0].start, run[-1].end


def _adjoin(run: Sequence[Token], claim: str) -> bool:
    for one, other in itertools.pairwise(run):
        gap = _INITIAL.sub(" ", claim[one.end : other.start])
        if not _SOFT.fullmatch(gap) or (_STOP.search(gap) and len(one.norm) > 3):
            return False
    return True


def _same(one: Token, other: Token, lang: str, short: bool) -> bool:
    if one.norm == other.norm or {one.norm, other.norm} in _SHORT:
        return True
    if one.number is not None or other.number is not None:
        return False  # in one spelling, the same number is written in the same way
    if one.norm[:1] != other.norm[:1] and one.norm.isascii() and other.norm.isascii():
        return False
    if short and 1 in (len(one.norm), len(other.norm)):
        return True  # an initial
    return _same_word(one.norm, other.norm, lang)


@lru_cache(maxsize=16_384)
def _same_word(one: str, other: str, lang: str) -> bool:
    one, other = one.removesuffix("'s"), other.removesuffix("'s")
    if one == other or _but_for_accents(one, other):
        return True
    if lang in ("", "en"):
        for pattern, ending in _ENDINGS:
            one, other = pattern.sub(ending, one), pattern.sub(ending, other)
    return one.isalpha() and other.isalpha() and stem_in(one, lang) == stem_in(other, lang)


def _but_for_accents(one: str, other: str) -> bool:
    """Whether they differ only in accents on Latin letters that one of them leaves out."""
    if _bare(one) != _bare(other):
        return False
    return all(a == b or a.isascii() or b.isascii() for a, b in zip(one, other, strict=False)) and len(one) == len(
        other
    )


@lru_cache(maxsize=64)
def _bare(text: str) -> str:
    """Without accents on Latin letters; marks of other scripts are letters of theirs."""
    if text.isascii():
        return text
    return "".join(first if (first := unicodedata.normalize("NFD", char)[0]).isascii() else char for char in text)


@lru_cache(maxsize=4)
def _claim_tokens(claim: str) -> list[Token]:
    return tokens(claim)


def _between(text: str, found: Sequence[Token]) -> str:
    edges = [0, *(edge for token in found for edge in (token.start, token.end)), len(text)]
    return "".join(text[low:high] for low, high in zip(edges[::2], edges[1::2], strict=True))
