"""Reading: sentences in one spelling, and the evidence that they are held against."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from ...language.clauses import clauses, cues, negated_at
from ...language.sentences import sentences
from ...language.spelling import spelled
from ...language.words import Token, is_content, stem, tokens
from .fixture import Note

DIGITS = re.compile(r"\d+(?:\.\d+)*")
_JOINTS = re.compile(r"[/._-]")
_PATH = re.compile(r"[/._]")
_LIST_NUMBER = re.compile(r"\s*(?:[-*+•]\s*)?\(?\d{1,3}[.)]\s")


class Sentence(NamedTuple):
    """A sentence as it is compared: its spelling, its tokens, a stem or number for each of them, and what they say."""

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

    def places(self, words: Sequence[str]) -> Iterator[int]:
        """Where the words stand one after the other."""
        size = len(words)
        if size and words[0] in self.words:
            yield from (n for n in range(len(self.words) - size + 1) if self.words[n : n + size] == list(words))

    def denies_any(self, places: Iterable[int]) -> bool:
        """Whether one of these words stands in a clause that denies something."""
        denied = [clause for clause in clauses(self.text) if clause.negated] if self.negates else []
        return any(one.start <= self.tokens[place].start < one.end for place in places for one in denied)

    def denies_at(self, place: int, size: int) -> bool:
        """Whether a negation reaches the words: "15 May instead of 12 May" denies the second."""
        end = self.tokens[place + size - 1].end
        return self.negates and negated_at(self.text, self.tokens[place].start, end)


def read_sentence(raw: str, start: int = 0) -> Sentence:
    text = spelled(_LIST_NUMBER.sub("", raw, count=1))
    found = tokens(text)
    words = [token.number or stem(token.norm.removesuffix("'s")) for token in found]
    content = [word for token, word in zip(found, words, strict=True) if is_content(token)]
    return Sentence(" ".join(raw.split()), start, text, found, words, content, bool(cues(found)))


def read_text(text: str) -> list[Sentence]:
    return [read_sentence(span.text, span.start) for span in sentences(text)]


@lru_cache(maxsize=4096)
def read_note(text: str) -> tuple[Sentence, ...]:
    """A text that many answers are held against."""
    return tuple(read_text(text))


@lru_cache(maxsize=4096)
def note_names(text: str) -> frozenset[str]:
    return frozenset(name for sentence in read_note(text) for name in names_of(sentence.raw))


@lru_cache(maxsize=8192)
def read_phrase(text: str) -> Sentence:
    """What the author of a case wrote, which is compared with every sentence."""
    return read_sentence(text)


def phrase_words(text: str) -> list[str]:
    return read_phrase(text).words


def names_of(raw: str) -> set[str]:
    """Capitalised words that do not only open the sentence, folded."""
    found = tokens(raw)
    capital = [token.text[:1].isupper() and not token.text.isupper() for token in found]
    return {
        stem(token.norm.removesuffix("'s"))
        for n, token in enumerate(found)
        if capital[n] and (n or (n + 1 < len(found) and capital[n + 1])) and is_content(token)
    }


class Store:
    """What the evidence and the question say, ready to look things up in."""

    def __init__(self, evidence: Sequence[Note], prompt: str) -> None:
        self.evidence, self.prompt = evidence, prompt
        self.told = {note.id: read_note(note.text) for note in evidence}
        self.asked = read_note(prompt)
        self.words = {word for sentence in self._sentences() for word in sentence.words}
        self.words |= {word for note in evidence for word in phrase_words(_JOINTS.sub(" ", note.source))}
        self.prompt_words = {word for sentence in self.asked for word in sentence.words}

    def _sentences(self) -> Iterator[Sentence]:
        return (sentence for said in self.told.values() for sentence in said)

    @cached_property
    def topic(self) -> set[str]:
        """The content words of the evidence itself."""
        return {word for sentence in self._sentences() for word in sentence.content}

    @cached_property
    def pairs(self) -> set[tuple[str, str]]:
        return word_pairs(self._sentences())

    @cached_property
    def prompt_pairs(self) -> set[tuple[str, str]]:
        return word_pairs(self.asked)

    @cached_property
    def names(self) -> set[str]:
        return {name for note in self.evidence for name in note_names(note.text)}

    @cached_property
    def spelled(self) -> str:
        """All that may be repeated: texts, their sources, ids, lines and confidences, and the question."""
        parts = [sentence.text for sentence in (*self._sentences(), *self.asked)]
        # A source is named after its day: `mail/2025-05-09.md` is "the mail of 9 May".
        names = [_PATH.sub(" ", f"{note.source} {note.id} {note.line or ''}") for note in self.evidence]
        parts += [
            text for note, name in zip(self.evidence, names, strict=True) for text in (note.source, spelled(name))
        ]
        return "\n".join(parts)

    @cached_property
    def raw(self) -> str:
        return "\n".join([self.prompt, *(note.text for note in self.evidence)]).casefold()

    def naming(self, reference: str) -> set[str]:
        """The ids of the notes that a reference names: an id, a source, or the end of its path."""
        wanted = reference.strip().casefold()
        return {
            note.id
            for note in self.evidence
            if wanted
            and (wanted in (note.id.casefold(), (path := note.source.casefold())) or path.endswith(f"/{wanted}"))
        }


def word_pairs(said: Iterable[Sentence]) -> set[tuple[str, str]]:
    return {pair for sentence in said for pair in pairwise(sentence.words)}
