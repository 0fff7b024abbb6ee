"""Edges: whether a place in a text begins and ends where a reader would say that a word or a number does."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from functools import lru_cache

# Scripts by their first and last character. Those without spaces have no edges; Hangul has one before a word only.
_SPACELESS = (0x0E00, 0x0F00, 0x1000, 0x10A0, 0x1780, 0x1800, 0x2E80, 0x3130, 0x31A0, 0xA4D0, 0xF900, 0xFB00)
_HANGUL = (0x1100, 0x1200, 0x3130, 0x3190, 0xA960, 0xA980, 0xAC00, 0xD800)
_STUCK = re.compile(r"[وفبكلس]?(?:ال|لل)|[وفبكلس]|[הובלכמש]{1,2}")  # the article and one-letter words before a word
_COMPOUNDING = ("de", "nl", "sv", "da", "nb", "no", "fi", "hu")
_DENYING = ("un", "nicht", "niet", "non", "on", "o", "in", "ei", "nem")
_SIGNS = "-\u2212\u2013\u2011"
_DENYING_BEFORE = re.compile(
    r"(?<!\w)(?:non[-\u2010\u2011 ]|(?:un|anti)[-\u2010\u2011])\Z"
)  # only "non" stands by itself
_LARGER = re.compile(
    r"\d ?(?:h|hrs?|hours?|min|minutes?|days?|weeks?|years?|feet|foot|ft|kilograms?|kg|pounds?|lbs?),? (?:and )?\Z"
)
_SMALLER = re.compile(r"\d+ ?-?(?:min|sec|in\b|hour|day|month|inch|gram|g\b|ounce|oz)")
_LONGEST = 60  # characters of a word that are looked at


def cut(text: str, start: int, end: int, lang: str = "") -> bool:
    """Whether the place begins or ends inside a word or a number, unless the word is another form of the same."""
    if start and text[start - 1] != " " and _opens_inside(text, start, lang):
        return True
    if end < len(text) and text[end] != " " and _closes_inside(text, start, end, lang):
        return True
    if not text[start].isdigit():
        return False
    if text.endswith("minus ", 0, start):
        return True
    # the smaller part of one amount: 45 minutes in "1 hour 45 minutes"
    return _LARGER.search(text, max(0, start - 24), start) is not None and _SMALLER.match(text, start, end) is not None


def around(text: str, start: int, end: int) -> str:
    """The words and numbers that a place begins and ends in."""
    start -= len("minus ") if text.endswith("minus ", 0, start) else 0
    while start > 0 and (_joins(text[start - 1]) or (text[start - 1] in ".,:-" and text[start].isdigit())):
        start -= 1
    while end < len(text) and (_joins(text[end]) or (text[end - 1].isdigit() and text[end : end + 2][1:].isdigit())):
        end += 1
    return text[start:end]


def prefixed(text: str, start: int) -> str:
    """The prefix before the place that turns it into its opposite, if there is one: non-refundable."""
    if text[max(start - 4, 0) : start - 1].strip() not in ("non", "nti", "un") or start < 3:
        return ""
    match = _DENYING_BEFORE.search(text, max(start - 6, 0), start)
    return match[0] if match else ""


def _opens_inside(text: str, start: int, lang: str) -> bool:
    before, first = text[start - 1], text[start]
    earlier = text[start - 2] if start > 1 else " "
    if first in _SIGNS:
        return before.isdigit()  # "3-5" has no -5
    if first.isdigit():
        if before in ".,:":
            return earlier.isdigit() or (before == "." and not earlier.isalnum())
        if before in _SIGNS:
            return not earlier.isalnum()  # a sign, not a range
        if before in "vV" and not earlier.isalnum():
            return False  # v1.2
    if not (_joins(before) and _joins(first)):
        return False
    if _is_numeral(first) and _is_numeral(before):
        return True
    if _in(first, _SPACELESS) or _in(before, _SPACELESS):
        return False
    stuck = _before(text, start)
    if first >= "\u0590" and _STUCK.fullmatch(stuck):
        return False
    return lang not in _COMPOUNDING or stuck in _DENYING


def _closes_inside(text: str, start: int, end: int, lang: str) -> bool:
    last, after = text[end - 1], text[end]
    if after in "+#" and last.isalpha():
        return not text[end + 1 : end + 2].isalnum()  # C++, C#
    if last.isdigit():
        if after in ".,:":
            return text[end + 1 : end + 2].isdigit()
        if after == "^":
            return True
    if not (_joins(after) and _joins(last)):
        return False
    if _is_numeral(last) and _is_numeral(after):
        return True
    if _in(last, _SPACELESS) or _in(after, _SPACELESS) or _in(last, _HANGUL):
        return False
    low, high = end, end
    while low > start and end - low < _LONGEST and _joins(text[low - 1]):
        low -= 1
    while high < len(text) and high - end < _LONGEST and _joins(text[high]):
        high += 1
    return not _same_word(text[low:end], text[low:high], lang)


@lru_cache(maxsize=4096)
def _same_word(one: str, other: str, lang: str) -> bool:
    """Whether two words are forms of one: they have the same stem."""
    from .words import stem_in  # most places end where a word does

    return one.isalpha() and stem_in(one, lang) == stem_in(other, lang)


def _before(text: str, start: int) -> str:
    low = start
    while low > 0 and start - low < _LONGEST and _joins(text[low - 1]):
        low -= 1
    return text[low:start]


def _joins(char: str) -> bool:
    """Whether a character is part of a word: a letter, a digit, a mark on one of them, or an underscore."""
    if char.isalnum() or char == "_":
        return True
    return char > "\u02ff" and unicodedata.category(char)[0] == "M"


def _is_numeral(char: str) -> bool:
    """A digit of any script, and the signs that Han has for numbers."""
    return char.isdigit() or (char > "\u2e7f" and unicodedata.numeric(char, None) is not None)


def is_spaceless(char: str) -> bool:
    return _in(char, _SPACELESS)


def is_hangul(char: str) -> bool:
    return _in(char, _HANGUL)


def _in(char: str, ranges: tuple[int, ...]) -> bool:
    point = ord(char)
    return (point >= ranges[0] and bisect(ranges, point) % 2 == 1) or (ranges is _SPACELESS and point >= 0x20000)
