"""Words: tokens with their place in the text, folded so that `closes` meets `closing` and `five` meets `5`."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

FUNCTION_WORDS = frozenset(
    """a an the this that these those there here it its he she they them his her their we us our you your i me my
    is are was were be been being am do does did has have had having will would shall should can could may might must
    of in on at by for from to with without into onto over under after before since until through during per as than
    and or but nor so yet if because while whereas although though when where which who whom whose what why how
    not no never none nothing neither yes also only still already now then just about against between both either each
    all any some most more less much many few other another same such very too again up down out off above below
    come comes came got get let""".split()
)
NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_TOKEN = re.compile(r"\w[\w./:%@'+-]*", re.UNICODE)
_NUMERIC = re.compile(r"\d+(?:[.,]\d+)*%?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+")


class Token(NamedTuple):
    raw: str
    norm: str
    start: int
    end: int

    @property
    def is_anchor(self) -> bool:
        """A number, a version, a date or an identifier: something that is either right or wrong."""
        return any(c.isdigit() for c in self.raw) or "_" in self.raw or _inner_capital(self.raw)

    @property
    def is_content(self) -> bool:
        return self.is_anchor or self.norm not in FUNCTION_STEMS

    @property
    def is_name(self) -> bool:
        return self.raw[:1].isupper() and self.raw.isalpha() and len(self.raw) > 1 and self.is_content


def tokens(text: str) -> list[Token]:
    """The words of a text; hyphenated words are taken apart, identifiers and paths are not."""
    found: list[Token] = []
    for match in _TOKEN.finditer(straight(text)):
        raw = match.group().rstrip(".:/'-+@")
        start = match.start()
        if _IDEOGRAPHS.search(raw):
            found += _pairs(raw, start)
        elif "-" in raw and raw.replace("-", "").replace("'", "").isalpha():
            for part in re.finditer(r"[^-]+", raw):
                found.append(_token(part.group(), start + part.start()))
        elif raw:
            found.append(_token(raw, start))
    return found


def straight(text: str) -> str:
    """Curly quotes made straight, character for character, so that offsets stay."""
    return text.translate(_STRAIGHT)


def fold(text: str) -> str:
    """A text as quotes are compared: NFKC, case folded, straight quotes, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", straight(text)).casefold().split())


def norms(text: str) -> list[str]:
    return [token.norm for token in tokens(text)]


def content(text: str) -> frozenset[str]:
    """The folded content words and anchors of a text."""
    return frozenset(token.norm for token in tokens(text) if token.is_content)


def stem(word: str) -> str:
    """English endings cut off, crudely and always in the same way."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) <= 3 or not word.isalpha():
        return word
    for ending, replacement in (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("s", "")):
        short = word.removesuffix(ending)
        if short != word and len(short) >= 3 and not word.endswith(("ss", "us", "is")):
            word = short + replacement
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def number(raw: str) -> str | None:
    """A number in one spelling (`1,200` and `1200.0` are `1200`), or None."""
    if not _NUMERIC.fullmatch(raw) or len(raw) > 40:
        return None
    digits = _THOUSANDS.sub("", raw.removesuffix("%"))
    if digits.count(".") > 1 or "," in digits:
        return None
    value = Fraction(digits)
    shown = str(value.numerator) if value.denominator == 1 else digits.rstrip("0").lstrip("0")
    return shown + ("%" if raw.endswith("%") else "")


def _token(raw: str, start: int) -> Token:
    folded = raw.casefold()
    norm = number(folded) or NUMBER_WORDS.get(folded) or stem(folded)
    return Token(raw, norm, start, start + len(raw))


def _pairs(raw: str, start: int) -> list[Token]:
    # Scripts without spaces are compared by pairs of characters.
    if len(raw) < 3:
        return [Token(raw, raw, start, start + len(raw))]
    return [Token(raw[i : i + 2], raw[i : i + 2], start + i, start + i + 2) for i in range(len(raw) - 1)]


def _inner_capital(raw: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in zip(raw, raw[1:], strict=False))


FUNCTION_STEMS = FUNCTION_WORDS | frozenset(stem(word) for word in FUNCTION_WORDS)
_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u00a0\u2011", "''\"\" -")
