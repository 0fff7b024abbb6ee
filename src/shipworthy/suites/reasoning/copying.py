"""Not an answer: the question echoed, the evidence dumped, words without grammar, one answer for every question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

from ...language.words import is_content, stem, tokens
from .reading import Sentence, Store

ECHO, SPAN = 6, 5
MOST_ALIKE = Fraction(3, 10)
LEAST_GRAMMAR = Fraction(1, 10)  # share of joining words; English prose has four in ten, terse notes two
GRAMMAR_FROM = 25  # words; a shorter text may be a list
Gram = tuple[str, ...]


def strip_echo(text: str, prompt: str) -> str:
    """The text without the question, where half of it or more is repeated; a shorter part may be what is asserted."""
    asked = [token.norm for token in tokens(prompt)]
    if len(asked) < ECHO or not _may_echo(text, prompt):
        return text
    found = tokens(text)
    size = max(ECHO, -(-len(asked) // 2))
    inside = _inside([token.norm for token in found], grams(asked, size), size)
    kept, position = [], 0
    for token, drop in zip(found, inside, strict=True):
        if drop:
            kept.append(text[position : token.start])
            position = token.end
    return "".join([*kept, text[position:]])


def _may_echo(text: str, prompt: str) -> bool:
    """Whether a word from the middle of the question is there at all: most answers repeat none of it."""
    folded = text.casefold()
    return all(word in folded for word in prompt.casefold().split()[3:6])


def is_dump(said: Sequence[Sentence], store: Store) -> bool:
    """Whether the answer is little else than the evidence handed on, nearly all of it, nearly word for word."""
    given = [[word for sentence in note for word in sentence.words] for note in store.told.values()]
    own = [word for sentence in said for word in sentence.words]
    if len(given) < 3 or not own:  # of two notes one can only quote both
        return False
    answer_grams = grams(own, SPAN)
    note_grams = [grams(words, SPAN) for words in given if words]
    copied = sum(5 * len(note & answer_grams) >= 4 * len(note) for note in note_grams)
    covered = sum(_inside(own, frozenset().union(*note_grams), SPAN))
    return 5 * copied > 4 * len(note_grams) and 5 * covered >= 4 * len(own)


def lacks_grammar(said: Sequence[Sentence]) -> bool:
    """Content words in a row, without the small words that make sentences of them."""
    found = [token for sentence in said for token in sentence.tokens if token.number is None]
    joints = sum(not is_content(token) for token in found)
    return len(found) >= GRAMMAR_FROM and joints < LEAST_GRAMMAR * len(found)


def alikeness(answers: Iterable[str]) -> Fraction | None:
    """The mean pairwise Jaccard overlap of the answers' runs of five words; None for fewer than two answers."""
    sets = [grams([stem(token.norm) for token in tokens(answer)], SPAN) for answer in answers]
    if len(sets) < 2:
        return None
    gained: Counter[int] = Counter()  # numerators by denominator: few denominators, so that exact sums stay short
    counted = list(Counter(_marked(sets)).items())  # sets that share the same runs are compared once
    for (mark, size), times in counted:
        gained[2 * size - mark.bit_count()] += mark.bit_count() * math.comb(times, 2)
    for ((one, of_one), times), ((other, of_other), others) in combinations(counted, 2):
        if common := (one & other).bit_count():
            gained[of_one + of_other - common] += common * times * others
    total = sum((Fraction(count, union) for union, count in gained.items()), Fraction(0))
    return total / math.comb(len(sets), 2)


def _marked(sets: Sequence[frozenset[Gram]]) -> list[tuple[int, int]]:
    """The sets that share a run with another one: a bit for each shared run, and the size of the set."""
    seen = Counter(run for runs in sets for run in runs)
    bits = {run: bit for bit, run in enumerate(run for run, count in seen.items() if count > 1)}
    marked = ((sum(1 << bits[run] for run in runs if run in bits), len(runs)) for runs in sets)
    return [(mark, size) for mark, size in marked if mark]


def grams(words: Sequence[str], size: int) -> frozenset[Gram]:
    """All runs of so many words; a shorter text is one run."""
    if len(words) < size:
        return frozenset([tuple(words)]) if words else frozenset()
    return frozenset(tuple(words[n : n + size]) for n in range(len(words) - size + 1))


def _inside(words: Sequence[str], known: frozenset[Gram], size: int) -> list[bool]:
    """Which words stand in a known run."""
    inside = [False] * len(words)
    starts = {run[:SPAN] for run in known}  # a long run is only looked at where it begins
    for n in range(len(words) - size + 1):
        if tuple(words[n : n + SPAN]) in starts and tuple(words[n : n + size]) in known:
            inside[n : n + size] = [True] * size
    return inside
