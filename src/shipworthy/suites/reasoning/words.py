"""Words: tokens with their place in the text, folded so that `closes` meets `closing` and `five` meets `5`."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ...language.contradiction.numbers import CARDINALS


def vocabulary(words: str) -> frozenset[str]:
    """The words of a text between blanks, as a table reads best."""
    return frozenset(words.split())


FUNCTION_WORDS = vocabulary(
    """a an the this that these those there here it its he she they them his her their we us our you your i me my
    is are was were be been being am do does did has have had having will would shall should can could may might must
    of in on at by for from to with without into onto over under after before since until through during per as than
    and or but nor so yet if because while whereas although though when where which who whom whose what why how
    not no never none nothing neither yes also only still already now then just about against between both either each
    every all any some most more less much many few other another same such very too again up down out off above below
    come comes came got get let"""
)
NUMBER_WORDS = {word: str(value) for word, value in CARDINALS.items() if value <= 12 and word != "dozen"}
UNITS = {
    "s": "second",
    "sec": "second",
    "secs": "second",
    "min": "minute",
    "mins": "minute",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "d": "day",
    "wk": "week",
    "gb": "gb",
    "ms": "ms",
}
SHORT = 2_000  # characters; tokens of a longer text are not kept
_GLUED_UNIT = re.compile(r"(\d+(?:\.\d+)?)(s|secs?|mins?|h|hrs?|d|ms|gb)", re.IGNORECASE)
_TOKEN = re.compile(r"\w[\w./:%@'+#-]{0,199}")
_PERCENT = re.compile(r"(?<=\d)( ?)(percent|per cent|pct)\b", re.IGNORECASE)
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
        return _is_anchor(self.raw)

    @property
    def is_content(self) -> bool:
        if self.is_anchor or self.norm not in FUNCTION_STEMS:
            return True
        # `Sam` has the stem of `same`
        return self.raw[:1].isupper() and self.raw.casefold().removesuffix("'s") not in FUNCTION_WORDS

    @property
    def is_name(self) -> bool:
        plain = self.raw.removesuffix("'s")
        return plain[:1].isupper() and plain.isalpha() and len(plain) > 1 and self.is_content


def tokens(text: str) -> list[Token]:
    """The words of a text; hyphenated words are taken apart, identifiers and paths are not."""
    return list(_remembered(text) if len(text) <= SHORT else _tokens(text))


def _tokens(text: str) -> tuple[Token, ...]:
    found: list[Token] = []
    for match in _TOKEN.finditer(straight(text)):
        raw = match.group().rstrip(".:/'-+@#")
        start = match.start()
        if _IDEOGRAPHS.search(raw):
            found += _pairs(raw, start)
        elif "-" in raw and raw.replace("-", "").replace("'", "").isalpha():
            for part in re.finditer(r"[^-]+", raw):
                found.append(_token(part.group(), start + part.start()))
        elif glued := _GLUED_UNIT.fullmatch(raw):
            found += [_token(glued.group(1), start), _token(glued.group(2), start + glued.start(2))]
        elif raw:
            found.append(_token(raw, start))
    return tuple(_with_unit(found[i - 1] if i else None, token) for i, token in enumerate(found))


# Evidence and clauses are read again by every rule, and most words come again.
_remembered = lru_cache(maxsize=512)(_tokens)


def _with_unit(before: Token | None, token: Token) -> Token:
    """`90 s` and `90 seconds` are the same words."""
    unit = UNITS.get(token.raw.casefold())
    if unit is None or before is None or not before.norm[:1].isdigit():
        return token
    return token._replace(norm=stem(unit))


def straight(text: str) -> str:
    """Curly quotes made straight and `percent` a sign, character for character, so that offsets stay."""
    return _PERCENT.sub(lambda match: "%" + " " * (len(match.group()) - 1), text.translate(_STRAIGHT))


def fold(text: str) -> str:
    """A text as quotes are compared: NFKC, case folded, straight quotes, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", straight(text)).casefold().split())


def is_within(quote: str, text: str) -> bool:
    """Whether a text has the words of a quote in a row, words of grammar aside."""
    wanted, given = ([token.norm for token in tokens(one) if token.is_content] for one in (quote, text))
    return bool(wanted) and any(given[i : i + len(wanted)] == wanted for i in range(len(given) - len(wanted) + 1))


def full_names(words: list[Token]) -> list[int]:
    """Where two capitalised words stand together; `Anna Maria Ruiz` has two such places."""
    pairs = enumerate(pairwise(words))
    return [i for i, (one, other) in pairs if one.is_name and other.is_name and other.start == one.end + 1]


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
    shown = str(value.numerator) if value.denominator == 1 else "0" * (value < 1) + digits.rstrip("0").lstrip("0")
    return shown + ("%" if raw.endswith("%") else "")


def _token(raw: str, start: int) -> Token:
    return Token(raw, norm(raw), start, start + len(raw))


@lru_cache(maxsize=16_384)
def norm(raw: str) -> str:
    folded = raw.casefold()
    return number(folded) or NUMBER_WORDS.get(folded) or stem(folded)


@lru_cache(maxsize=16_384)
def _is_anchor(raw: str) -> bool:
    return any(c.isdigit() for c in raw) or "_" in raw or _inner_capital(raw)


def _pairs(raw: str, start: int) -> list[Token]:
    # Scripts without spaces are compared by pairs of characters.
    if len(raw) < 3:
        return [Token(raw, raw, start, start + len(raw))]
    return [Token(raw[i : i + 2], raw[i : i + 2], start + i, start + i + 2) for i in range(len(raw) - 1)]


def _inner_capital(raw: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in pairwise(raw))


FUNCTION_STEMS = FUNCTION_WORDS | frozenset(stem(word) for word in FUNCTION_WORDS)
_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u00a0\u2011", "''\"\" -")
