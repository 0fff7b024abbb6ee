"""Meaning: what a text in a language with a pack denies, answers or refuses. English has a closer reader of its own.

text → sentences → clauses → words of the pack's lists in each → denied? yes or no? refusal?
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from .natural import ANSWER, DOUBTFUL, REFUSAL
from .numerals import localised
from .packs import WORD, Pack
from .spelling import letters
from .words import stem_in

READ = 6000  # characters of an answer that are read
REACH = 300  # characters on either side of a place in which its sentence is looked for
FEW = 3  # words of a clause that only introduces or judges the next
NEAR = 30  # characters between words that belong together
_STOP = re.compile(r"[.!?;](?=\s|$)|[。！？؟।\n]")
_BREAK = re.compile(r"[,;:()\[\]—–،、，；：「」]| - ")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_NAME = re.compile(r"(?<=[^\W\d_A-Z][ ,])(?<![.!?:] )([^\W\d_a-z]\w*[^\W\d_])")
_MARKS = re.compile(r"\A[^\w$€£¿]+|(?<=\n)[^\w$€£¿\n]+")
_EMPTY = re.compile(r"\W*(?:n/?a|null|none)?\W*", re.I)


# --- is it stated? ---


def denied(text: str, start: int, end: int, pack: Pack, question: str = "") -> str:
    """The words that show that what stands at this place is not stated there; nothing where it is."""
    low, high = _sentence_at(text, start, end)
    if text[high : high + 1] in ("?", "？", "؟"):
        return "?"
    sentence = pack.slot("idioms").sub(lambda match: "·" * len(match[0]), text[low:high])
    start, end = start - low, end - low
    left, right = _clause_at(sentence, start, end, pack)
    before, after = sentence[left:start], sentence[end:right]
    found = [match for match in pack.slot("negators").finditer(before) if _reaches(before, match, pack)]
    behind = pack.slot("after").findall(after)
    count = len(found) + len(behind)
    if not count and pack.has("true", after) and (word := pack.has("negators", after)):
        return word
    if count and (pack.concord or count % 2):
        return found[0][0] if found else behind[0]
    if count:  # two negations cancel
        return ""
    if left:  # a short clause goes with the next: "formerly, it was X", "it is wrong that …", "the former chair, X,"
        lead = sentence[_clause_at(sentence, left - 1, left - 1, pack)[0] : left]
        short = len(WORD.findall(lead)) <= FEW or (not pack.spaced and len(lead) < 2 * FEW)
        before = lead + before if short or not WORD.search(before + after) else before
    tail = sentence[right : _clause_at(sentence, right, right, pack)[1]] if right < len(sentence) else ""
    tail = tail if len(WORD.findall(tail)) <= FEW + 1 else ""
    if word := pack.has("false", before[-2 * NEAR :]) or pack.has("false", f"{after} {tail}"):
        return word
    if word := _outdated(before, after, pack, question):
        return word
    rest = sentence[right:] + text[high : high + NEAR]
    if (word := pack.has("believed", sentence[:start][-3 * NEAR :] + " " + after)) and pack.has(
        "openers", after + rest
    ):
        return word
    return _open(sentence, start, end, pack)


def negates(text: str, pack: Pack) -> bool:
    """Whether an expected text is a denial itself."""
    text = pack.slot("idioms").sub("", pack.fold(text))
    return bool(pack.has("negators", text) or pack.has("after", text) or pack.has("false", text))


def _outdated(before: str, after: str, pack: Pack, question: str) -> str:
    """The words that say that it was so once, unless that was asked."""
    word = pack.has("past", f"{before} \n {after}")
    if (
        not word
        and pack.has("was", f"{before} {after}")
        and re.match(rf"\W*(?:\w+\W+){{0,2}}(?:{pack.slot('until').pattern})", after)
    ):
        word = pack.has("until", after)
    return "" if word and pack.has("past", pack.fold(question)) else word


def _open(sentence: str, start: int, end: int, pack: Pack) -> str:
    """The words that leave it open: either … or, or maybe."""
    near = sentence[max(0, start - NEAR) : start], sentence[end : end + NEAR]
    if any(pack.has("or", part) and pack.has("maybe", part) for part in near):
        return pack.has("maybe", " ".join(near))
    either = pack.slot("either").search(sentence, 0, start)
    return either[0] if either and pack.slot("or").search(sentence, either.end()) and pack.lists.get("either") else ""


def _reaches(before: str, match: re.Match[str], pack: Pack) -> bool:
    """Whether nothing ends the reach of a negation: "not accepted after 30 days" states 30 days."""
    between = before[match.end() :]
    ends = pack.slot("ends").search(between)
    return ends is None or not WORD.search(between[: ends.start()])


def _sentence_at(text: str, start: int, end: int) -> tuple[int, int]:
    low, high = max(0, start - REACH), min(len(text), end + REACH)
    stops = [stop.end() for stop in _STOP.finditer(text, low, start)]
    after = _STOP.search(text, end, high)
    return (stops[-1] if stops else low), (after.start() if after else high)


def _clause_at(sentence: str, start: int, end: int, pack: Pack) -> tuple[int, int]:
    """The clause around a place: up to a sign or to a word that opens another one."""
    cuts = {0, len(sentence), *_cuts(sentence, pack)}
    return max(cut for cut in cuts if cut <= start), min(cut for cut in cuts if cut >= end and cut > start)


def _cuts(sentence: str, pack: Pack) -> Iterator[int]:
    for match in _BREAK.finditer(sentence):
        yield match.end()
    for match in pack.slot("openers").finditer(sentence):
        # where negations follow what they deny, the word that opens a clause may be one, and ends the one before
        yield match.end() if pack.slot("after").search(match[0]) else match.start()


# --- yes or no ---


def polarity(answer: str, question: str, pack: Pack) -> str:
    """`yes` or `no` to a question; nothing where it can't be told."""
    text = localised(answer[:READ], pack.lang).lstrip(" *_\"'¡¿-–")
    for said in ("yes", "no"):
        for word in pack.words(said):
            after = text[len(word) :]
            if text.startswith(word) and (not after[:1].isalnum() or not pack.spaced):
                if said == "yes" and (not pack.spaced or not after.lstrip()[:1].isalnum() or len(word) > 2):
                    if not re.match(rf"\W*(?:{pack.slot('negators').pattern})", after):
                        return said
                elif said == "no" and not after.lstrip()[:1].isalnum():
                    return said
    asked = _matter(localised(question, pack.lang), pack)
    for sentence in _sentences(text)[:4]:
        shared = asked & _matter(sentence, pack)
        if 2 * len(shared) < len(asked) or not asked or sentence.rstrip().endswith(("?", "？", "؟")):
            continue
        if pack.has("maybe", sentence):
            return ""
        plain = pack.slot("idioms").sub("", sentence)
        negations = len(pack.slot("negators").findall(plain)) + len(pack.slot("after").findall(plain))
        return "no" if negations and (pack.concord or negations % 2) else "yes"
    return ""


@lru_cache(maxsize=1024)
def _matter(text: str, pack: Pack) -> frozenset[str]:
    """What a text is about: stems of its words, or pairs of letters where there are no words."""
    words = [word for word in WORD.findall(text) if word not in pack.common]
    if pack.spaced:
        return frozenset(stem_in(word, pack.lang) for word in words if len(word) > 2)
    return frozenset(one + other for word in words for one, other in pairwise(word))


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
    clauses = [clause for sentence in _sentences(text) for clause in _clauses(sentence, pack)]
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
    for before, clause in pairwise(clauses[first:]):
        if clause.lacks or clause.text.rstrip().endswith(("?", "？", "؟")):
            continue
        if not set(_DIGITS.findall(clause.text)) <= known:
            return DOUBTFUL if pack.has("pointer", clause.text) and not clause.contrast else ANSWER
        if _is_reply(clause.text, pack) and clause.first:
            return ANSWER
        if _is_idle(clause.text, pack) or (not clause.first and not clause.contrast and before.lacks):
            continue
        if not names.isdisjoint(WORD.findall(clause.text)):
            return ANSWER
        doubt = doubt or not _matter(clause.text, pack) <= _matter(localised(question, pack.lang), pack)
    return DOUBTFUL if doubt else REFUSAL


def may_refuse(text: str, pack: Pack) -> bool:
    """Whether a text has any word of a lack."""
    return bool(
        pack.has("negators", text) or pack.has("after", text) or pack.has("none", text) or pack.has("lack", text)
    )


def _is_idle(text: str, pack: Pack) -> bool:
    """Courtesy, whom to ask, and what the sources are about."""
    return bool(
        pack.has("sorry", text) or pack.has("pointer", text) or pack.has("source", text) or not _matter(text, pack)
    )


def _is_reply(text: str, pack: Pack) -> bool:
    """Whether it begins with yes or no, and a sign after it."""
    return bool(re.match(rf"\W*(?:{pack.slot('yes').pattern})\W*$", text))


def _names(claim: str, question: str) -> set[str]:
    """Names that the question does not have."""
    return {letters(name) for name in _NAME.findall(claim)} - set(WORD.findall(letters(question)))


def _sentences(text: str) -> list[str]:
    text = _MARKS.sub("", text)
    ends = [match.end() for match in _STOP.finditer(text)]
    return [part for low, high in pairwise([0, *ends, len(text)]) if (part := text[low:high]).strip(" .!。\n")]


def _clauses(sentence: str, pack: Pack) -> Iterator[Clause]:
    cuts = sorted({0, len(sentence), *(cut for cut in _cuts(sentence, pack))})
    if not pack.spaced and not pack.hangul:  # where there are no words, a blank parts clauses
        cuts = sorted({*cuts, *(match.end() for match in re.finditer(r"(?<=[^\W\d]) (?=[^\W\d])", sentence))})
    # a lack may be spread over what the signs part: the sentence as a whole counts for its first clause with a negation
    for low, high in pairwise(cuts):
        text = sentence[low:high]
        if text.strip(" ,.;:，、。!！"):
            contrast = pack.slot("openers").match(text.lstrip()) is not None
            yield Clause(text, contrast, low == 0, _lack(text, sentence, pack))


def _lack(text: str, sentence: str, pack: Pack) -> str:
    """The words that say that the source lacks it, or that the speaker can't tell; nothing where none do."""
    plain = pack.slot("idioms").sub(lambda match: "·" * len(match[0]), text)
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
