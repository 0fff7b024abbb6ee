"""Meaning: what a text in a language with a pack refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from .denial import cuts, matter
from .natural import ANSWER, DOUBTFUL, REFUSAL
from .numerals import localised
from .packs import WORD, Pack
from .polarity import sentences
from .spelling import letters

READ = 6000  # characters of an answer that are read
NEAR = 30  # characters between words that belong together
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_NAME = re.compile(r"(?<=[^\W\d_A-Z][ ,])(?<![.!?:] )([^\W\d_a-z]\w*[^\W\d_])")
_MARKS = re.compile(r"\A[^\w$€£¿]+|(?<=\n)[^\w$€£¿\n]+")
_EMPTY = re.compile(r"\W*(?:n/?a|null|none)?\W*", re.I)


# --- refusals ---


class Clause(NamedTuple):
    """A part of a sentence, whether a contrast opens it, and whether it says that there is no answer."""

    text: str
    contrast: bool
    first: bool  # of its sentence
    lacks: str


def read(claim: str, question: str, pack: Pack) -> str:
    """`refusal`, `answer`, or `doubtful`, as in English."""
    claim = claim[:READ]
    if _EMPTY.fullmatch(claim):
        return REFUSAL if claim.strip() else ANSWER
    text = "\n".join(localised(line, pack.lang) for line in claim.splitlines() if line.strip())
    if not may_refuse(text, pack):
        return ANSWER
    clauses = [clause for sentence in sentences(_MARKS.sub("", text)) for clause in _clauses(sentence, pack)]
    first = next((n for n, clause in enumerate(clauses) if clause.lacks), -1)
    if first < 0:
        return ANSWER
    known = set(_DIGITS.findall(localised(question, pack.lang)))
    names = _names(claim, question) if pack.capitals else set()
    for n, clause in enumerate(clauses[:first]):
        if not set(_DIGITS.findall(clause.text)) <= known or _is_reply(clause.text, pack):
            return ANSWER
        if n and clause.first and not _is_idle(clause.text, pack):
            return ANSWER  # it says something first
    doubt = False
    for clause in clauses[first + 1 :]:
        if clause.lacks or clause.text.rstrip().endswith(("?", "？", "؟")):
            continue
        if not set(_DIGITS.findall(clause.text)) <= known:
            return DOUBTFUL if pack.has("pointer", clause.text) and not clause.contrast else ANSWER
        if _is_reply(clause.text, pack) and clause.first:
            return ANSWER
        if _is_idle(clause.text, pack) and not (clause.contrast and pack.has("source", clause.text)):
            continue
        if not names.isdisjoint(WORD.findall(clause.text)):
            return ANSWER
        new = matter(clause.text, pack) - matter(localised(question, pack.lang), pack)
        goes_on = pack.spaced and not clause.first and not clause.contrast  # as a relative clause does
        doubt = doubt or len(new) > goes_on
    return DOUBTFUL if doubt else REFUSAL


def may_refuse(text: str, pack: Pack) -> bool:
    """Whether a text has any word of a lack."""
    return bool(
        pack.has("negators", text) or pack.has("after", text) or pack.has("none", text) or pack.has("lack", text)
    )


def _is_idle(text: str, pack: Pack) -> bool:
    """Courtesy, whom to ask, and what the sources are about."""
    return bool(
        pack.has("sorry", text) or pack.has("pointer", text) or pack.has("source", text) or not matter(text, pack)
    )


def _is_reply(text: str, pack: Pack) -> bool:
    """Whether it begins with yes or no, and a sign after it."""
    return bool(re.match(rf"\W*(?:{pack.slot('yes').pattern})\W*$", text))


def _names(claim: str, question: str) -> set[str]:
    """Names that the question does not have."""
    return {letters(name) for name in _NAME.findall(claim)} - set(WORD.findall(letters(question)))


def _clauses(sentence: str, pack: Pack) -> Iterator[Clause]:
    edges = {0, len(sentence), *cuts(sentence, pack)}
    if not pack.spaced and not pack.hangul:  # where there are no words, a blank parts clauses
        edges.update(match.end() for match in re.finditer(r"(?<=[^\W\d]) (?=[^\W\d])", sentence))
    # a lack may be spread over what the signs part: the sentence as a whole counts for its first clause with a negation
    for low, high in pairwise(sorted(edges)):
        text = sentence[low:high]
        if text.strip(" ,.;:，、。!！"):
            contrast = pack.slot("openers").match(text.lstrip()) is not None
            yield Clause(text, contrast, low == 0, _lack(text, sentence, pack))


def _lack(text: str, sentence: str, pack: Pack) -> str:
    """The words that say that the source lacks it, or that the speaker can't tell; nothing where none do."""
    plain = pack.slot("idioms").sub(lambda match: "·" * len(match[0]), text)
    if pack.has("single", plain):  # "there is no single answer" is one
        return ""
    if word := pack.has("lack", plain):
        return word
    negation = pack.has("negators", plain) or pack.has("after", plain)
    if negation and (word := pack.has("say", plain)):
        return word
    none, matter = pack.slot("none").search(plain), pack.slot("matter").search(plain)
    if none and matter and min(abs(none.start() - matter.end()), abs(matter.start() - none.end())) <= NEAR:
        return none[0]
    if negation and pack.has("have", plain) and pack.has("source", sentence) and pack.has("matter", plain):
        return negation
    can = pack.has("can", plain)
    if (negation or can) and pack.has("answer", plain) and can and (negation or not pack.spaced):
        return can
    if negation and pack.has("know", plain) and len(plain) < 2 * NEAR:
        return negation
    return ""
