"""Polarity: whether an answer says yes or no to a question, as far as its words tell.

first word | "It does." | the sentence that has what was asked: is that denied, or its opposite said?
"""

from __future__ import annotations

import re

from .clauses import cues
from .contradiction import contradicts
from .reader import Sentence, read_phrase, read_text
from .spelling import said
from .tables import word_set
from .words import tokens

READ = 6  # sentences of an answer in which its yes or no is looked for,
BEGINNING = 6000  # and characters
_MARKS = re.compile(r"[^\w]*")
_PARTED = re.compile(r"[,.;:!()\n]|\s-+\s|[—–]|\Z")
_ASKED = re.compile(r"\?[\s\"')]*\Z")


def polarity(answer: str, statement: str) -> str:
    """`yes` or `no` to a question, or to a statement that is to be confirmed; nothing where it can't be told."""
    sentences = [sentence for sentence in read_text(said(answer[:BEGINNING]))[:READ] if not sentence.is_question]
    if not sentences:
        return ""
    if word := _first_word(sentences[0].text):
        return "" if word == "both" else word
    asked = read_phrase(_ASKED.sub("", statement.strip()))
    denied = not _ASKED.search(statement) and bool(cues(asked.tokens)) and len(cues(asked.tokens)) % 2 == 1
    for n, sentence in enumerate(sentences):
        if (reply := _short(sentence) if not n else "") or (reply := _compared(asked, sentence, denied)):
            return "" if reply == "open" else reply
    return ""


def _first_word(text: str) -> str:
    """Yes or no, where the answer begins with it: "Yes, no doubt", "Not any more.", but not "No fee is charged"."""
    text = text[_MARKS.match(text).end() :]  # type: ignore[union-attr]  # it matches nothing at least
    found = tokens(text[:80])
    words = [token.norm for token in found]
    if not words:
        return ""
    if words[:3] in (["yes", "and", "no"], ["yes", "or", "no"]):
        return "both"
    if words[0] == "not":
        return "no" if cues(found)[:1] == [(0, 1)] else ""
    said = "yes" if words[0] in word_set("negation", "yes") else "no" if words[0] in word_set("negation", "no") else ""
    if words[:2] == ["of", "course"]:
        return "no" if words[2:3] == ["not"] else "yes"
    if not said or words[0] in ("yes", "yep", "yeah", "yup", "nope", "nah") or len(words) == 1:
        return said
    signed = text[found[0].end : found[1].start].strip()
    return said if signed or words[1] in word_set("negation", "subjects") else ""


def _short(sentence: Sentence) -> str:
    """ "It does.", "They can't, because …": a pronoun and a helping verb, and nothing that says what."""
    end = _PARTED.search(sentence.text)
    words = [token.norm for token in tokens(sentence.text[: end.start() if end else None])]
    if not 2 <= len(words) <= 3 or words[0] not in word_set("negation", "pronouns"):
        return ""
    if words[1] not in word_set("negation", "helpers") or words[2:] not in ([], ["not"], ["indeed"]):
        return ""
    return "no" if words[2:] == ["not"] or words[1].endswith("n't") or words[1] == "cannot" else "yes"


def _compared(asked: Sentence, sentence: Sentence, denied: bool) -> str:
    """What the sentence says to what was asked; nothing where it is about something else."""
    wanted = list(dict.fromkeys(asked.content))
    shared = [word for word in wanted if word in sentence.words]
    opposed = contradicts(asked.raw, sentence.raw) is not None
    pronoun = bool(sentence.tokens) and sentence.tokens[0].norm in word_set("negation", "pronouns")
    near = 3 * len(shared) >= 2 * len(wanted) or (pronoun and bool(set(shared) - set(wanted[:1])))
    if not wanted or not (near or opposed):
        return ""
    words = {token.norm for token in sentence.tokens}
    if not word_set("negation", "hedges").isdisjoint(words) or ("only" in words and len(shared) < len(wanted)):
        return "open"
    places = [n for n, word in enumerate(sentence.words) if word in shared]
    negative = opposed or any(sentence.denies(n) for n in places) != denied
    return "no" if negative else "yes"
