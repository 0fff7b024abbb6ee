"""Words: one token, one stemmer, and which words carry what a text is about."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from threading import Lock

import msgspec

from .spelling import letters, number, number_words, spelled
from .tables import word_set

# A word with its apostrophe, or a number with its separators; nothing is read twice.
_TOKEN = re.compile(r"[^\W_]+(?:(?:(?<=\d)[.,](?=\d)|['’](?=[^\W\d_]))[^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:\.\d+)*\Z|\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")
_stemming = Lock()


class Token(msgspec.Struct, frozen=True, gc=False):
    """A word as it stands in a text: how it is written, how it is compared, where, and the number that it names."""

    text: str
    norm: str
    number: str | None
    start: int
    end: int


def tokens(text: str, start: int = 0, end: int = sys.maxsize) -> list[Token]:
    """Every word and number of the text, or of the stretch of it that is asked for, in order."""
    return [Token(*_norm(match[0]), *match.span()) for match in _TOKEN.finditer(text, start, end)]


@lru_cache(maxsize=65_536)
def _norm(text: str) -> tuple[str, str, str | None]:
    """A word, how it is compared, and its number in one spelling. "One" is a pronoun as often, and is left a word."""
    norm = letters(text)
    if norm[:1].isdigit():
        return text, norm, number(norm) if _NUMBER.match(norm) else None
    value = number_words().get(norm)
    return text, norm, None if value is None or norm == "one" else str(value)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case English word."""
    with _stemming:  # the library's stemmer keeps the word at hand in itself
        return _stemmer("english")(word)


def stem_in(word: str, lang: str = "") -> str:
    """The stem of a word in a language, else in the one that its script is first thought of; itself without either."""
    name = STEMMERS.get(lang) or next((name for first, last, name in _SCRIPTS if first <= word[:1] <= last), "")
    if not name:
        return word
    with _stemming:
        return _stemmer(name)(word)


STEMMERS = {"en": "english", "de": "german", "fr": "french", "es": "spanish", "pt": "portuguese", "it": "italian"}
STEMMERS |= {"nl": "dutch", "ru": "russian", "tr": "turkish", "ar": "arabic", "hi": "hindi", "sv": "swedish"}
STEMMERS |= {"da": "danish", "nb": "norwegian", "no": "norwegian", "fi": "finnish", "hu": "hungarian", "ro": "romanian"}
_SCRIPTS: tuple[tuple[str, str, str], ...] = (
    ("a", "z", "english"),
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
)
_SCRIPTS += (("\u0600", "\u06ff", "arabic"), ("\u0900", "\u097f", "hindi"))


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    from snowballstemmer import stemmer  # plain scoring stems nothing

    of_word: Callable[[str], str] = stemmer(name).stemWord
    return of_word


def is_content(token: Token) -> bool:
    """Whether the token says what the text is about: a number, or a word that is no mere joint."""
    return token.number is not None or (len(token.norm) > 1 and token.norm not in word_set("words", "stop"))


def content_stems(text: str) -> list[str]:
    """What the text is about, in order: stems of its content words, and its numbers in one spelling."""
    return [token.number or _root(token.norm) for token in tokens(spelled(text)) if is_content(token)]


def _root(norm: str) -> str:
    return stem(norm.removesuffix("'s"))
