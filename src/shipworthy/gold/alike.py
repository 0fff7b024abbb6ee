"""Near-duplicates: whether a text is nearly the same as one that was seen, without comparing it with all of them."""

from __future__ import annotations

import re
from collections import Counter

from ..text import fold

NEAR = 88  # similarity in per cent from which two texts count as one
_BANDS = 6  # of a text's words, by which texts find each other
_MOST = 24  # texts that are compared with one


class Alike:
    """Texts that were seen. Those that share some of their longest words are compared letter by letter."""

    def __init__(self, numbers: bool = False) -> None:
        self._numbers = numbers  # whether texts with different numbers are different
        self._texts: list[str] = []
        self._having: dict[str, list[int]] = {}
        self._masked: dict[str, int] = {}  # texts without their numbers: a form that is filled in is the same again

    def same(self, text: str) -> int | None:
        """The number of the first seen text that is nearly this one."""
        from rapidfuzz import fuzz

        text = fold(text)
        if not self._numbers and (known := self._masked.get(_mask(text))) is not None:
            return known
        shared = Counter(number for word in _keys(text) for number in self._having.get(word, ())[-4 * _MOST :])
        for number, _ in shared.most_common(_MOST):
            if fuzz.ratio(text, self._texts[number], score_cutoff=NEAR) and not (
                self._numbers and _digits(text) != _digits(self._texts[number])
            ):
                return number
        return None

    def add(self, text: str) -> int:
        text = fold(text)
        number = len(self._texts)
        self._texts.append(text)
        self._masked.setdefault(_mask(text), number)
        for word in _keys(text):
            self._having.setdefault(word, []).append(number)
        return number

    def is_new(self, text: str) -> bool:
        """Whether nothing like it was seen; then it is seen from now on."""
        if self.same(text) is not None:
            return False
        self.add(text)
        return True


def _mask(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def _digits(text: str) -> list[str]:
    return re.findall(r"\d+", text)


def _keys(text: str) -> list[str]:
    """The longest words, and the first two: texts that differ in little share some of them."""
    words = text.split()
    return list(dict.fromkeys([*sorted(set(words), key=lambda word: (-len(word), word))[:_BANDS], " ".join(words[:2])]))
