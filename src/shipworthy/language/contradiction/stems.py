"""Stems: one spelling for the forms of a word, by suffix and by a table of irregular forms."""

from __future__ import annotations

import re
from collections.abc import Mapping

VOWEL = re.compile(r"[aeiouy]")
# "note", "cane" and "none" are no forms of these.
GRAMMAR = frozenset(
    (
        "all",
        "and",
        "any",
        "are",
        "but",
        "can",
        "for",
        "had",
        "has",
        "her",
        "his",
        "may",
        "non",
        "nor",
        "not",
        "off",
        "one",
        "our",
        "out",
        "own",
        "she",
        "the",
        "was",
        "who",
        "you",
    )
)
REMEMBERED = 50_000
SHORT = 3  # a stem of fewer letters says too little: "red" is no form of "r"


class Stemmer:
    """Remembers the stems it made, since a claim repeats its words."""

    def __init__(self, forms: Mapping[str, str]) -> None:
        self._known = {form: suffix_stem(lemma) for form, lemma in forms.items()}

    def stem(self, word: str) -> str:
        known = self._known.get(word)
        if known is None:
            known = suffix_stem(word)
            if len(self._known) < REMEMBERED:
                self._known[word] = known
        return known

    def term(self, text: str) -> str:
        """A term of the rules, word by word, as the tokens of a sentence would spell it."""
        return " ".join(self.stem(word) for word in text.casefold().split())


def suffix_stem(word: str) -> str:
    """The word without its inflection; what is left need not be a word, only the same for all forms."""
    if len(word) <= SHORT or not word.isalpha() or not word.isascii():
        return word
    stem = _without_tense(_without_plural(word))
    if len(stem) > SHORT and stem.endswith("e"):
        stem = stem[:-1]
    if len(stem) > SHORT and stem[-1] == stem[-2]:
        stem = stem[:-1]
    if stem in GRAMMAR:
        return stem + "e"
    return stem[:-1] + "y" if stem.endswith("i") else stem


def stems(*words: str) -> frozenset[str]:
    """Words named in the code, spelt as tokens are."""
    return frozenset(map(suffix_stem, words))


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for suffix in ("ing", "ed"):
        left = word[: -len(suffix)]
        if word.endswith(suffix) and len(left) >= SHORT and VOWEL.search(left) and not word.endswith("eed"):
            return left
    return word
