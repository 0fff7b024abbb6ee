"""Guard: ships an answer only if the evidence covers the question, and repeats the locked rules."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .answerer import Candidate, asks_count, counts, has_number, mentions
from .blocks import locked_rules
from .retrieval import Index
from .words import key_terms, normalise, tokens

REFUSAL = "not in context"
UNKNOWN_WEIGHT = 6.0  # a word that the corpus never uses weighs as much as its rarest word
NEARBY = 0.30  # at most this share of the question may be covered by the rest of the block only
_NAME = re.compile(r"[^\W_]+(?:[-_.][^\W_]+)+")  # ember-query, leaf_wetness, LF-1310: whole or not at all
_ABSENT = re.compile(r"\b(?:without|no) ([^\W_]+)")


@dataclass(frozen=True, slots=True)
class GuardResult:
    """Whether the answer may leave, why not, and how well the evidence covers the question (0 to 1)."""

    ok: bool
    reason: str
    confidence: float


def check(where: Index, question: str, best: Candidate | None) -> GuardResult:
    """The first objection to answering with this candidate, or none."""
    terms = key_terms(question)
    if best is None or not terms:
        return GuardResult(False, "no evidence was found", 0.0)
    unit = best.unit
    weights = {term: where.idf.get(term, UNKNOWN_WEIGHT) for term in terms}
    close = [term for term in terms if mentions(unit, term) or term in unit.heading]
    named = {part for name in _NAME.findall(normalise(question)) for part in tokens(name)}
    missing = [term for term in terms if term not in close and (term in named or term not in unit.around)]
    confidence = round(sum(weights[term] for term in close) / sum(weights.values()), 4)
    if missing:
        return GuardResult(False, f"the evidence does not speak of: {', '.join(missing)}", confidence)
    if confidence < 1 - NEARBY:
        return GuardResult(False, "the evidence speaks of it only in passing", confidence)
    if asks_count(question) and not has_number(unit):
        return GuardResult(False, "a number is asked for and the evidence has none", confidence)
    if not counts(unit, question):
        return GuardResult(False, "the evidence does not count what is asked for", confidence)
    if denied := _denied(question, unit.text):
        return GuardResult(False, f"the evidence only says that there is no {denied}", confidence)
    return GuardResult(True, "supported by the cited evidence", confidence)


def constraints_echo(candidate: Candidate) -> list[str]:
    """The locked rules of the section that is cited, word for word."""
    return list(locked_rules().get(candidate.block.section_id, ()))


def _denied(question: str, evidence: str) -> str:
    """The thing whose amount is asked for although the evidence says that there is none."""
    asked = normalise(question)
    if not asks_count(question) or _ABSENT.search(asked):
        return ""
    terms = set(key_terms(question))
    absent = (word for word in _ABSENT.findall(normalise(evidence)) if terms & set(tokens(word)))
    return next(absent, "")
