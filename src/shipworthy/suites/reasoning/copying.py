"""Copying: the question echoed, the evidence dumped, one answer given to every question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

from .fixture import Note
from .words import norms, stem, tokens, vocabulary

_LISTED = frozenset(map(stem, vocabulary("l line note source file confidence id")))
_REFERENCE = re.compile(r"\[[^\[\]\n]{0,200}\]|(?<![\w./-])[\w./-]{1,200}\.\w{1,5}:\d{1,7}")
ECHO, SPAN, SHINGLE = 6, 5, 5
MOST_ALIKE = Fraction(3, 10)


def strip_echo(text: str, prompt: str) -> str:
    """The text without the runs of six words that it shares with the question."""
    echoed = grams(norms(prompt), ECHO)
    words = tokens(text)
    drop = [False] * len(words)
    for i in range(len(words) - ECHO + 1):
        if tuple(token.norm for token in words[i : i + ECHO]) in echoed:
            drop[i : i + ECHO] = [True] * ECHO
    kept, position = [], 0
    for token, dropped in zip(words, drop, strict=True):
        if dropped:
            kept.append(text[position : token.start])
            position = token.end
    return "".join([*kept, text[position:]])


def is_dump(text: str, evidence: Sequence[Note]) -> bool:
    """Whether the answer is little else than the evidence handed on, nearly all of it, nearly word for word."""
    named = {word for item in evidence for word in norms(f"{item.id} {item.source} {item.line}")} | _LISTED
    given = [norms(item.text) for item in evidence if item.text.strip()]
    told = {word for item in given for word in item}
    said = [word for word in norms(_REFERENCE.sub(" ", text)) if word in told or word not in named]
    if len(given) < 3 or not said:  # of two notes one can only quote both
        return False
    answer_grams = grams(said, SPAN)
    copied_items = sum(_is_copied(item, answer_grams) for item in given)
    evidence_grams = {gram for item in given for gram in grams(item, SPAN)}
    covered = _covered(said, evidence_grams)
    return 5 * copied_items > 4 * len(given) and 5 * covered >= 4 * len(said)


def alikeness(answers: Iterable[str]) -> Fraction | None:
    """The mean pairwise Jaccard overlap of the answers' runs of five words; None for fewer than two answers."""
    sets = [grams(norms(answer), SHINGLE) for answer in answers]
    if len(sets) < 2:
        return None
    gained: Counter[int] = Counter()  # numerators by denominator: few denominators, so that exact sums stay short
    for (one, of_one), (other, of_other) in combinations(_marked(sets), 2):
        if common := (one & other).bit_count():
            gained[of_one + of_other - common] += common
    total = sum((Fraction(count, union) for union, count in gained.items()), Fraction(0))
    return total / math.comb(len(sets), 2)


def _marked(sets: Sequence[frozenset[tuple[str, ...]]]) -> list[tuple[int, int]]:
    """The sets that share a run with another one: a bit for each shared run, and the size of the set."""
    seen = Counter(run for runs in sets for run in runs)
    bits = {run: bit for bit, run in enumerate(run for run, count in seen.items() if count > 1)}
    marked = ((sum(1 << bits[run] for run in runs if run in bits), len(runs)) for runs in sets)
    return [(mark, size) for mark, size in marked if mark]


def grams(words: Sequence[str], size: int) -> frozenset[tuple[str, ...]]:
    """All runs of so many words; a shorter text is one run."""
    if len(words) < size:
        return frozenset([tuple(words)]) if words else frozenset()
    return frozenset(tuple(words[i : i + size]) for i in range(len(words) - size + 1))


def _is_copied(item: list[str], answer_grams: frozenset[tuple[str, ...]]) -> bool:
    own = grams(item, SPAN)
    return 5 * len(own & answer_grams) >= 4 * len(own)


def _covered(words: list[str], known: set[tuple[str, ...]]) -> int:
    inside = [False] * len(words)
    for i in range(len(words) - SPAN + 1):
        if tuple(words[i : i + SPAN]) in known:
            inside[i : i + SPAN] = [True] * SPAN
    return sum(inside)
