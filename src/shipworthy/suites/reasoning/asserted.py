"""Asserted: whether a sentence says a phrase that the case's author wrote down, and where bound values stand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from ...language.clauses import denies
from ...language.tables import words_of
from .fixture import Binding
from .reading import Sentence, Store, names_of, phrase_words, read_sentence

Standing = Literal["given", "missing", "denied", "misbound"]


def asserts(sentence: Sentence, phrase: str, spared: Collection[str] = ()) -> bool:
    """All content words of the phrase, with its polarity, in a sentence that is no question.

    `spared` are words that need not be repeated, because the question has them; numbers and names always must.
    """
    wanted = read_sentence(phrase)
    fixed = {token.number for token in wanted.tokens if token.number} | names_of(phrase)
    needed = {word for word in wanted.content if word not in spared or word in fixed} or set(wanted.content)
    if not needed or sentence.is_question or not needed <= set(sentence.words):
        return False
    places = [n for n, word in enumerate(sentence.words) if word in needed]
    return any(map(sentence.denies, places)) == denies(wanted.text)


def first_asserting(said: Sequence[Sentence], phrase: str, spared: Collection[str] = ()) -> int | None:
    return next((n for n, sentence in enumerate(said) if asserts(sentence, phrase, spared)), None)


class Bound:
    """One binding with the forms that its value and its rivals may have."""

    def __init__(self, binding: Binding, store: Store) -> None:
        self.binding = binding
        self.forms = value_forms(binding.value)
        self.about = [set(read_sentence(term).content) or set(phrase_words(term)) for term in binding.about]
        self.source = {note for reference in binding.source for note in store.naming(reference)}
        self.rivals = {note for reference in binding.rivals for note in store.naming(reference)} - self.source
        told = [sentence for note in self.source for sentence in store.told[note]]
        self.deniable = not any(self.denied(sentence) for sentence in told)  # "did not read 13 of 21" denies no 13
        self.rival_forms = [form for value in binding.rivals_values for form in value_forms(value)]

    def is_about(self, sentence: Sentence) -> bool:
        words = set(sentence.words)
        return any(term <= words for term in self.about)

    def places(self, sentence: Sentence) -> list[tuple[int, int]]:
        return _places(sentence, self.forms)

    def denied(self, sentence: Sentence) -> bool:
        """Whether the value is there, and denied wherever it is."""
        places = self.places(sentence)
        return bool(places) and all(sentence.denies(*place) for place in places)


def value_forms(value: str) -> list[list[str]]:
    """How a value may be written: a date without its year, a person by one of two names."""
    words = phrase_words(value)
    forms = [words]
    if len(words) == 3 and words[1] in words_of("words", "months"):
        forms.append(words[:2])
    parts = value.split()
    if len(parts) == 2 and all(part[:1].isupper() and part.isalpha() for part in parts):
        forms += [[word] for word in words]
    return forms


def standing(bound: Bound, others: Sequence[Bound], said: Sequence[Sentence], cited: Sequence[set[str]]) -> Standing:
    """Whether the value is given where it belongs, denied there, or another value stands in its place."""
    if any(_is_misbound(bound, others, sentence, notes) for sentence, notes in zip(said, cited, strict=True)):
        return "misbound"
    placed = [
        bound.denied(sentence)
        for n, sentence in enumerate(said)
        if bound.places(sentence)
        and (not bound.about or bound.is_about(sentence) or (n and bound.is_about(said[n - 1])))
    ]
    if not placed:
        return "missing"
    return "denied" if all(placed) and bound.deniable else "given"


def _is_misbound(bound: Bound, others: Sequence[Bound], sentence: Sentence, notes: set[str]) -> bool:
    """Another value where this one belongs, or this value as the word of a source that says otherwise."""
    if sentence.is_question:
        return False
    rivals = _standing(sentence, bound.rival_forms)
    if bound.places(sentence):
        return bool(notes & bound.rivals) and not notes & bound.source and not rivals and not bound.denied(sentence)
    if not bound.is_about(sentence):
        return False
    other = any(_standing(sentence, one.forms) and not one.is_about(sentence) for one in others if one.about)
    return rivals or other


def _standing(sentence: Sentence, forms: Sequence[Sequence[str]]) -> bool:
    return any(not sentence.denies(*place) for place in _places(sentence, forms))


def _places(sentence: Sentence, forms: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    return [(place, len(form)) for form in forms for place in sentence.places(form)]
