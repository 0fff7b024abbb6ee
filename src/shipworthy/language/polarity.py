"""Polarity: whether an answer says yes or no to a question, as far as its words tell.

first word | "It does." | the clause that has what was asked: is that denied, or its opposite said?
"""

from __future__ import annotations

import re
from itertools import pairwise

from .denial import ASKING, STOP, cuts, matter
from .numerals import one_spelling
from .packs import Pack

READ = 6  # sentences of an answer in which its yes or no is looked for,
BEGINNING = 6000  # and characters
OPEN = "open"
_MARKS = re.compile(r"[^\w]*")
_SIGNED = re.compile(r"\s*(?:[^\w\s]|\Z)")
_NON = re.compile(r"\bnon-(?=\w)")
_SIGN = re.compile(r"[^\w\s'’-]|$")
_TURNING = ("un", "in", "im", "ir", "il", "non")  # before a word, its opposite
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def polarity(answer: str, statement: str, pack: Pack) -> str:
    """`yes` or `no` to a question, or to a statement that is to be confirmed; nothing where it can't be told."""
    text = one_spelling(answer[:BEGINNING], pack.lang)
    found = [sentence for sentence in sentences(text)[:READ] if not sentence.rstrip("\"')*_ ").endswith(ASKING)]
    if not found:
        return ""
    if word := _first_word(found[0], pack):
        return "" if word == OPEN else word
    asked = one_spelling(statement, pack.lang).strip()
    denied = not asked.endswith(ASKING) and _negative(asked, pack)
    for n, sentence in enumerate(found):
        if (reply := _short(sentence, pack) if not n else "") or (reply := _compared(asked, sentence, denied, pack)):
            return "" if reply == OPEN else reply
    return ""


def sentences(text: str) -> list[str]:
    """The sentences of a text in one spelling."""
    ends = [match.end() for match in STOP.finditer(text)]
    return [part for low, high in pairwise([0, *ends, len(text)]) if (part := text[low:high]).strip(" .!。\n")]


def _first_word(text: str, pack: Pack) -> str:
    """Yes or no, where the answer begins with it, or its first few words end in it.

    "Yes, no doubt", "Not any more.", "I'm afraid not.", but not "No fee is charged".
    """
    text = text[_MARKS.match(text).end() :]  # type: ignore[union-attr]  # it matches nothing at least
    if pack.slot("both").match(text):
        return OPEN
    if pack.slot("not").match(text):
        return "" if pack.slot("idioms").match(text) else "no"
    opening, *_ = _SIGN.split(text, maxsplit=1)
    words = _TOKEN.findall(opening)
    if 1 < len(words) <= 4 and not (pack.slot("idioms").search(opening) or _is_hedged(opening, pack)):
        for said, last in (("no", pack.words("not")), ("no", pack.words("no")[:1]), ("yes", pack.words("yes")[:1])):
            if words[-1] in last:
                return said
    sure = pack.words("sure") or pack.words("yes")[:1]
    for said in ("yes", "no"):
        for word in sorted(pack.words(said), key=len, reverse=True):
            after = text[len(word) :]
            if not text.startswith(word) or (pack.spaced and after[:1].isalnum()):
                continue
            if _SIGNED.match(after) or (said == "no" and pack.slot("subjects").match(after.lstrip())):
                return said
            if not pack.spaced and said == "yes":
                return "" if pack.slot("negators").match(after) else said
            if word in sure or pack.slot("subjects").match(after.lstrip()):
                return said
    return ""


def _short(sentence: str, pack: Pack) -> str:
    """ "It does.", "They can't, because …": a pronoun and a helping verb, and nothing that says what."""
    if "pronouns" not in pack.lists:
        return ""
    end = min([*cuts(sentence, pack), len(sentence)])
    words = _TOKEN.findall(sentence[:end])
    if not 2 <= len(words) <= 3 or words[0] not in pack.words("pronouns"):
        return ""
    if words[1] not in pack.words("helpers") or words[2:] not in ([], ["not"], ["indeed"]):
        return ""
    return "no" if _negative(sentence[:end], pack) else "yes"


def _compared(asked: str, sentence: str, denied: bool, pack: Pack) -> str:
    """What the sentence says to what was asked; nothing where it is about something else."""
    wanted, had = matter(asked, pack), matter(sentence, pack)
    shared, turned, opposed = wanted & had, set[str](), False
    if pack.lang == "en":  # opposites are known of English only
        from .contradiction import contradicts

        opposed = contradicts(asked.rstrip("? "), sentence) is not None
        turned = {word for word in wanted - had if any(prefix + word in had for prefix in _TURNING)}
    pronoun = _TOKEN.match(sentence.lstrip(" *-\"'"))
    stands_for = pronoun is not None and pronoun[0] in pack.words("pronouns") and len(shared) > 0
    forbids = bool(pack.has("forbids", sentence)) and not pack.has("forbids", asked)
    plainly_no = 4 * len(shared) >= len(wanted) and (forbids or _negative(sentence, pack))
    if not wanted or not (opposed or stands_for or plainly_no or 2 * len(shared | turned) >= len(wanted)):
        return ""
    if _is_hedged(sentence, pack):
        return OPEN
    if pack.has("only", sentence) and shared < wanted:
        return "no"  # it is so of something else only
    edges = [0, *cuts(sentence, pack), len(sentence)]
    clause = max((sentence[a:b] for a, b in pairwise(edges)), key=lambda part: len(matter(part, pack) & wanted))
    return "no" if opposed or _negative(clause, pack) != (denied != (forbids or bool(turned))) else "yes"


def _is_hedged(text: str, pack: Pack) -> bool:
    return bool(pack.has("hedges" if "hedges" in pack.lists else "maybe", text))


def _negative(text: str, pack: Pack) -> bool:
    """Whether a clause has an odd number of negations; in some languages two are one."""
    plain = pack.slot("idioms").sub("", text)
    count = sum(len(pack.slot(name).findall(plain)) for name in ("negators", "nominal", "after"))
    count += len(_NON.findall(plain))
    return count > 0 and (pack.concord or count % 2 == 1)
