"""Contradiction: does a claim say the opposite of a locked constraint? Decided by rules, without a model.

    constraint, claim → sentences → polarity | only | quantities | slots → Contradiction or None

It favours precision: sentences without shared content words are never compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shipworthy.contradiction import only, polarity, quantities, slots
from shipworthy.contradiction.clauses import Sentence, content_of, read_sentence
from shipworthy.contradiction.rules import Rules, load_rules
from shipworthy.contradiction.tokens import LONGEST, Token, sentences, tokenise

__all__ = ["Contradiction", "Rules", "contradicts", "load_rules"]

COMPARED = 200  # sentences of one claim, those that share most with the constraint first
CHECKS = (polarity.conflict, only.conflict, quantities.conflict, slots.conflict)


class Contradiction(NamedTuple):
    """The two sentences that can't both hold, and why."""

    constraint: str
    claim: str
    why: str


def contradicts(constraint: str, claim: str, rules: Rules | None = None) -> Contradiction | None:
    """The first contradiction between a constraint and a claim, or None."""
    rules = rules or load_rules()
    locked = [read_sentence(text, tokens, rules) for text, tokens in _tokenised(constraint, rules)]
    if not any(sentence.content for sentence in locked):
        return None
    repeated = {_spelling(sentence.tokens) for sentence in locked}
    for text, tokens in _related(claim, {word for sentence in locked for word in sentence.content}, rules):
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


def _tokenised(text: str, rules: Rules) -> Iterator[tuple[str, list[Token]]]:
    for sentence in sentences(text):
        tokens = tokenise(sentence, rules)
        for start in range(0, len(tokens), LONGEST):
            yield sentence, tokens[start : start + LONGEST]


def _related(claim: str, matter: set[str], rules: Rules) -> list[tuple[str, list[Token]]]:
    """The claim's sentences that share content with the constraint, each once, in the order of the claim."""
    found: dict[tuple[str, ...], tuple[int, int, str, list[Token]]] = {}
    for index, (text, tokens) in enumerate(_tokenised(claim, rules)):
        shared = len(matter.intersection(content_of(tokens, rules)))
        if shared:
            found.setdefault(_spelling(tokens), (-shared, index, text, tokens))
    chosen = sorted(found.values(), key=lambda row: row[:2])[:COMPARED]
    return [(text, tokens) for _, _, text, tokens in sorted(chosen, key=lambda row: row[1])]


def _spelling(tokens: list[Token]) -> tuple[str, ...]:
    return tuple(token.key for token in tokens)
