"""Reader: sentences as suites compare them, in one spelling, with stems, numbers, and what a negation reaches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from .clauses import cues
from .denial import negated
from .packs import pack_of
from .sentences import sentences
from .spelling import spelled
from .words import Token, is_content, stem, tokens

DIGITS = re.compile(r"\d+(?:\.\d+)*")
_LIST_NUMBER = re.compile(r"\s*(?:[-*+•]\s*)?\(?\d{1,3}[.)]\s")


class Sentence(NamedTuple):
    """A sentence as it is compared: its spelling, its tokens, and a stem or number for each of them."""

    raw: str
    start: int
    text: str
    tokens: list[Token]
    words: list[str]
    content: list[str]
    negates: bool  # it has a negation somewhere; most sentences have none

    @property
    def numbers(self) -> list[str]:
        """Those inside `4x4`, `1:4`, `p95` and `$400-$500` too."""
        return DIGITS.findall(self.text)

    @property
    def is_question(self) -> bool:
        return self.raw.rstrip("\"'”’)*_ ").endswith("?")

    def places(self, words: Sequence[str]) -> list[int]:
        """Where the words occur one after the other."""
        if not words or words[0] not in self.words:
            return []
        size = len(words)
        return [n for n in range(len(self.words) - size + 1) if self.words[n : n + size] == list(words)]

    def denies(self, place: int, size: int = 1) -> bool:
        """Whether a negation reaches the words: "15 May instead of 12 May" denies the second."""
        end = self.tokens[place + size - 1].end
        return self.negates and bool(negated(self.text, self.tokens[place].start, end, pack_of("en")))

    def affirms(self, words: Sequence[str]) -> bool:
        """Whether the words occur in a place where they are not denied."""
        return any(not self.denies(place, len(words)) for place in self.places(words))

    def asserts(self, phrase: str) -> bool:
        """Whether it is no question and has all content words of the phrase, with the polarity of the phrase."""
        wanted = read_phrase(phrase)
        if self.is_question or not wanted.content or not set(wanted.content).issubset(self.words):
            return False
        return self._denies_any(wanted.content) == wanted._denies_any(wanted.content)

    def _denies_any(self, words: Sequence[str]) -> bool:
        return self.negates and any(self.denies(n) for n, word in enumerate(self.words) if word in words)


def read_sentence(raw: str, start: int = 0) -> Sentence:
    text = spelled(_LIST_NUMBER.sub("", raw, count=1))
    found = tokens(text)
    words = [token.number or stem(token.norm.removesuffix("'s")) for token in found]
    content = [word for token, word in zip(found, words, strict=True) if is_content(token)]
    return Sentence(" ".join(raw.split()), start, text, found, words, content, bool(cues(found)))


def read_text(text: str) -> list[Sentence]:
    return [read_sentence(span.text, span.start) for span in sentences(text)]


read_note = lru_cache(maxsize=4096)(read_text)  # a text that many answers are compared with
read_phrase = lru_cache(maxsize=8192)(read_sentence)  # what the author of a case wrote


def names_of(raw: str) -> set[str]:
    """Capitalised words that do not only open the sentence, as stems."""
    found = tokens(raw)
    capital = [token.text[:1].isupper() and not token.text.isupper() for token in found]
    return {
        stem(token.norm.removesuffix("'s"))
        for n, token in enumerate(found)
        if capital[n] and (n or (n + 1 < len(found) and capital[n + 1])) and is_content(token)
    }
