"""Support: how much of an answer the evidence says. Three shares, and the sentences that it does not bear out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from .reading import Sentence, Store

LEAST_WORDS = 4  # content words from which a sentence is judged on its own
FLOOR = Fraction(1, 2)  # a sentence with a larger share of new words is listed


class Support(NamedTuple):
    """The three shares of one answer, each from 0 to 1."""

    new_words: Fraction
    weakest_sentence: Fraction
    shared_pairs: Fraction
    unsupported: tuple[str, ...] = ()

    @property
    def value(self) -> Fraction:
        return ((1 - self.new_words) + (1 - self.weakest_sentence) + self.shared_pairs) / 3


def measure(said: Sequence[Sentence], store: Store) -> Support:
    """An answer without a content word says nothing that the evidence could bear out."""
    content = [sentence.content for sentence in said]
    new = [sum(_newness(word, store) for word in words) for words in content]  # in halves
    total = sum(map(len, content))
    if not total:
        return Support(Fraction(1), Fraction(1), Fraction(0))
    new_words = Fraction(sum(new), 2 * total)
    judged = [n for n, words in enumerate(content) if len(words) >= LEAST_WORDS]
    shares = {n: Fraction(new[n], 2 * len(content[n])) for n in judged}
    return Support(
        new_words=new_words,
        weakest_sentence=max(shares.values(), default=new_words),
        shared_pairs=_shared_pairs(said, store),
        unsupported=tuple(said[n].raw for n, share in shares.items() if share > FLOOR),
    )


def _newness(word: str, store: Store) -> int:
    """A word that only the question has is half known: it may be repeated, and nothing is known of it."""
    if word in store.words:
        return 0
    return 1 if word in store.prompt_words else 2


def _shared_pairs(said: Sequence[Sentence], store: Store) -> Fraction:
    pairs = [pair for sentence in said for pair in pairwise(sentence.words)]
    known = sum(2 if pair in store.pairs else pair in store.prompt_pairs for pair in pairs)
    return Fraction(known, 2 * len(pairs)) if pairs else Fraction(0)
