"""Asserted: whether a sentence says a phrase that the case's author wrote down, and where bound values stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...language.clauses import denies
from ...language.tables import words_of
from .fixture import Binding
from .reading import Sentence, Store, phrase_words, read_phrase

Standing = Literal["given", "missing", "denied", "misbound"]


def asserts(sentence: Sentence, phrase: str) -> bool:
    """Whether a sentence that is no question has all content words of a phrase, with its polarity."""
    wanted, held = read_phrase(phrase), set(sentence.words)
    if sentence.is_question or not wanted.content or not set(wanted.content) <= held:
        return False
    places = [n for n, word in enumerate(sentence.words) if word in wanted.content]
    return sentence.denies_any(places) == denies(wanted.text)


class Bound:
    """One binding with the forms that its value and its rivals may have."""

    def __init__(self, binding: Binding, store: Store) -> None:
        self.binding = binding
        self.forms = value_forms(binding.value)
        self.about = [set(read_phrase(term).content) or set(phrase_words(term)) for term in binding.about]
        self.source = {note for reference in binding.source for note in store.naming(reference)}
        self.rivals = {note for reference in binding.rivals for note in store.naming(reference)} - self.source
        self.rival_forms = [form for value in binding.rivals_values for form in value_forms(value)]

    def is_deniable(self, store: Store) -> bool:
        """Whether no source denies the value itself: "did not read 13 of 21" denies no 13."""
        return not any(self.denied(sentence) for note in self.source for sentence in store.told[note])

    def is_about(self, sentence: Sentence) -> bool:
        words = set(sentence.words)
        return any(term <= words for term in self.about)

    def is_cited_to_rival(self, sentence: Sentence, notes: set[str]) -> bool:
        """Whether the value is told as the word of a source that says otherwise."""
        told = bool(notes & self.rivals) and not notes & self.source and not _standing(sentence, self.rival_forms)
        return told and not self.denied(sentence)

    def places(self, sentence: Sentence) -> list[tuple[int, int]]:
        return _places(sentence, self.forms)

    def denied(self, sentence: Sentence) -> bool:
        """Whether the value is there, and denied wherever it is."""
        places = self.places(sentence)
        return bool(places) and all(sentence.denies_at(*place) for place in places)


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


def standing(
    bound: Bound, others: Sequence[Bound], said: Sequence[Sentence], cited: Sequence[set[str]], store: Store
) -> Standing:
    """Whether the value is given where it belongs, denied there, or another value stands in its place."""
    placed: list[bool] = []
    misplaced = False
    named = [bound.is_about(sentence) for sentence in said]
    understood = not any(named)  # a terse answer leaves out what the question is about
    for n, sentence in enumerate(said):
        here = understood or named[n] or (n > 0 and named[n - 1])
        if here and bound.places(sentence):
            placed.append(bound.denied(sentence))
            if bound.is_cited_to_rival(sentence, cited[n]):
                return "misbound"
        misplaced = misplaced or _is_misbound(bound, others, sentence)
    if placed and not all(placed):
        return "given"  # beside it, another value may be a report of what was
    if misplaced:
        return "misbound"
    if not placed:
        return "missing"
    return "denied" if bound.is_deniable(store) else "given"


def _is_misbound(bound: Bound, others: Sequence[Bound], sentence: Sentence) -> bool:
    """Another value where this one belongs."""
    if sentence.is_question:
        return False
    if bound.places(sentence) or not bound.is_about(sentence):
        return False
    return _standing(sentence, bound.rival_forms) or any(
        _standing(sentence, other.forms) and not other.is_about(sentence) for other in others if other.about
    )


def _standing(sentence: Sentence, forms: Sequence[Sequence[str]]) -> bool:
    return any(not sentence.denies_at(*place) for place in _places(sentence, forms))


def _places(sentence: Sentence, forms: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Where one of the forms stands; a number alone is not the day or the year of a date."""
    found = [(place, len(form)) for form in forms for place in sentence.places(form)]
    return [(place, size) for place, size in found if size > 1 or not _is_dated(sentence, place)]


def _is_dated(sentence: Sentence, place: int) -> bool:
    months, around = words_of("words", "months"), sentence.words[max(0, place - 1) : place + 2]
    return sentence.tokens[place].number is not None and any(word in months for word in around)
