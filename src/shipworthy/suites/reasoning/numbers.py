"""Numbers: each must be in the evidence or the question, or follow from two numbers there."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property
from typing import NamedTuple

from ...language.spelling import number_words
from ...language.tables import words_of
from ...language.words import tokens
from .reading import DIGITS, Sentence, Store

SMALL = 12  # counts up to a dozen, written as words, are speech: "these two notes"
MOST = 300  # numbers of the evidence, and unknown ones of an answer, that are tried against each other
_PLAIN = re.compile(r"\d{1,15}(?:\.\d{1,15})?")


class Numbers(NamedTuple):
    """How many numbers and dates an answer has, and which of them nobody gave."""

    total: int
    invented: tuple[str, ...]


def check_numbers(said: Sequence[Sentence], store: Store) -> Numbers:
    known = Known(store)
    total, invented = 0, []
    for sentence in said:
        if not DIGITS.search(sentence.text):
            continue
        dates = [match[0] for match in _dates().finditer(sentence.text)]
        rest = _dates().sub(" ", sentence.text)
        found = DIGITS.findall(rest)
        if not known.digits.issuperset(found):
            speech = {"1"} | {_small(token.norm) for token in tokens(sentence.raw)}
            found = [digits for digits in found if digits in known.digits or digits not in speech]
        total += len(dates) + len(found)
        invented += [date for date in dates if date not in store.spelled]
        invented += [digits for digits in found if not known.has(digits, _after(digits, rest))]
    return Numbers(total, tuple(dict.fromkeys(invented)))


def _after(digits: str, text: str) -> str:
    """The sign behind a number: `%`, or the `s` of the 1990s."""
    return "%" if f"{digits}%" in text else "s" if f"{digits}s" in text else ""


def _small(norm: str) -> str:
    value = number_words().get(norm, SMALL + 1)
    return str(value) if value <= SMALL else ""


@cache
def _dates() -> re.Pattern[str]:
    return re.compile(rf"\b\d{{1,2}} (?:{'|'.join(words_of('words', 'months'))})\b")


class Known:
    """The numbers of evidence and question, and what follows from them."""

    def __init__(self, store: Store) -> None:
        self.digits = set(DIGITS.findall(store.spelled))
        self._tried = 0

    @cached_property
    def values(self) -> list[Fraction]:
        return sorted({Fraction(digits) for digits in self.digits if _PLAIN.fullmatch(digits)})[:MOST]

    @cached_property
    def _set(self) -> set[Fraction]:
        return set(self.values)

    def has(self, digits: str, sign: str = "") -> bool:
        if digits in self.digits:
            return True
        if sign == "s" and any(len(known) == len(digits) and known[:-1] + "0" == digits for known in self.digits):
            return True
        if not _PLAIN.fullmatch(digits) or self._tried >= MOST:
            return False
        self._tried += 1
        value, half = Fraction(digits), Fraction(1, 2 * 10 ** len(digits.partition(".")[2]))
        return self._follows(value, half) or (
            sign == "%" and any(self._is_share(a, value, half) for a in self.values if a)
        )

    def _follows(self, value: Fraction, half: Fraction) -> bool:
        """A sum, difference or product of two numbers, or the rounding of one."""
        if value in self._set or any(value - a in self._set or value + a in self._set for a in self.values):
            return True
        if any(a and value / a in self._set for a in self.values):
            return True
        return self._near(value, half)

    def _is_share(self, a: Fraction, percent: Fraction, half: Fraction) -> bool:
        """Whether some other number is this percentage of `a`, more than it or less than it by that much."""
        shares = (percent, 100 + percent, 100 - percent)
        return any(self._near(share * a / 100, half * a / 100) for share in shares if share > 0)

    def _near(self, value: Fraction, half: Fraction) -> bool:
        """Whether a number of the evidence rounds to this one."""
        n = bisect_left(self.values, value - half)
        return n < len(self.values) and self.values[n] <= value + half and self.values[n] != 0
