"""Contradiction: does a claim say the opposite of a locked constraint? Decided by rules, without a model.

    constraint, claim → sentences → polarity | only | quantities | slots → Contradiction or None

It favours precision: sentences without shared content words are never compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from . import only, polarity, quantities, slots
from .clauses import Sentence, read_sentence
from .rules import Rules, load_rules, read_rules
from .tokens import LONGEST, Token, sentences, tokenise

__all__ = ["Contradiction", "Rules", "contradicts", "load_rules", "read_rules"]

LOCKED = 50  # sentences of one constraint
COMPARED = 200  # sentences of one claim, those that share most with the constraint first
WORD = re.compile(r"[^\W\d_]\w*")
CHECKS = (polarity.conflict, only.conflict, quantities.conflict, slots.conflict)


class Contradiction(NamedTuple):
    """The two sentences that can't both hold, and why."""

    constraint: str
    claim: str
    why: str


def contradicts(constraint: str, claim: str, rules: Rules | None = None) -> Contradiction | None:
    """The first contradiction between a constraint and a claim, or None."""
    rules = rules or load_rules()
    texts = islice(sentences(constraint), LOCKED)
    locked = [read_sentence(text, tokens, rules) for text, tokens in _tokenised(texts, rules)]
    repeated = {_spelling(sentence.tokens) for sentence in locked}
    matter = {word for sentence in locked for word in sentence.content}
    for text, tokens in _tokenised(_related(claim, matter, rules), rules):
        if _spelling(tokens) in repeated:
            continue
        said = read_sentence(text, tokens, rules)
        for sentence in locked:
            why = _why(sentence, said, rules)
            if why:
                return Contradiction(sentence.text, said.text, why)
    return None


def _why(constraint: Sentence, claim: Sentence, rules: Rules) -> str | None:
    if not set(constraint.content) & set(claim.content):
        return None
    return next((why for check in CHECKS if (why := check(constraint, claim, rules))), None)


def _tokenised(texts: Iterable[str], rules: Rules) -> Iterator[tuple[str, list[Token]]]:
    for text in texts:
        tokens = tokenise(text, rules)
        for start in range(0, len(tokens), LONGEST):
            yield text, tokens[start : start + LONGEST]


def _related(claim: str, matter: set[str], rules: Rules) -> list[str]:
    """The claim's sentences that share words with the constraint, each once, in the order of the claim."""
    names = [*matter, *(name for name, first in rules.names.items() if first in matter)]
    parts = [word for name in names for word in (*name.split(), *WORD.findall(name))]
    wanted = {*parts, *map(rules.stemmer.stem, parts)}
    found: list[tuple[int, int, str]] = []
    for index, text in enumerate(dict.fromkeys(sentences(claim))):
        words = {rules.stemmer.stem(word) for word in WORD.findall(text.casefold())}
        if shared := len(wanted & words):
            found.append((-shared, index, text))
    return [text for _, _, text in sorted(sorted(found)[:COMPARED], key=lambda row: row[1])]


def _spelling(tokens: list[Token]) -> tuple[str, ...]:
    return tuple(token.key for token in tokens)
