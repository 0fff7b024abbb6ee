"""Notes: what looks wrong and only people can judge; shown as "check by hand", failing nothing unless gated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...language.contradiction import contradicts
from .reading import Sentence, Store, phrase_words

LEAST_QUOTE = 5  # words
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,400})[\"”]")


def suspicions(said: Sequence[Sentence], cited: Sequence[set[str]], store: Store) -> tuple[str, ...]:
    """One line for each suspicion, the same one once."""
    found: list[str] = []
    for sentence, notes in zip(said, cited, strict=True):
        if notes:
            found += _quotes(sentence, notes, store)
            found += _numbers(sentence, notes, store)
            found += _contradictions(sentence, notes, store)
    return tuple(dict.fromkeys(found))


def _quotes(sentence: Sentence, notes: set[str], store: Store) -> Iterator[str]:
    for match in _QUOTED.finditer(sentence.raw):
        words = phrase_words(match[1])
        if len(words) >= LEAST_QUOTE and not any(any(one.places(words)) for note in notes for one in store.told[note]):
            yield f"not a quote of {', '.join(sorted(notes))}: {match[0]}"


def _numbers(sentence: Sentence, notes: set[str], store: Store) -> Iterator[str]:
    cited = {digits for note in notes for one in store.told[note] for digits in one.numbers}
    asked = {digits for one in store.asked for digits in one.numbers}
    others = {digits for said in store.told.values() for one in said for digits in one.numbers}
    for digits in sentence.numbers:
        if digits in others and digits not in cited and digits not in asked:
            yield f"{digits} is not in {', '.join(sorted(notes))}: {sentence.raw}"


def _contradictions(sentence: Sentence, notes: set[str], store: Store) -> Iterator[str]:
    """By the contradiction rule, against the one note cited; what only repeats its words can't contradict it."""
    for note in store.evidence if len(notes) == 1 else ():
        if note.id in notes and not _repeats(sentence, store.told[note.id]) and contradicts(note.text, sentence.raw):
            yield f"seems to contradict {note.id}, which it cites: {sentence.raw}"


def _repeats(sentence: Sentence, told: Sequence[Sentence]) -> bool:
    return any(set(one.words).issuperset(sentence.words) for one in told)
