"""Word lists: the TOML files beside this module, each read once and only when something asks for it."""

from __future__ import annotations

import os
import unicodedata
from functools import cache, lru_cache
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The tables of `data/NAME.toml`."""
    import tomllib  # scoring plain answers reads no list

    with open(os.path.join(os.path.dirname(__file__), "data", f"{name}.toml"), "rb") as stream:
        return tomllib.load(stream)


@cache
def lines_of(name: str) -> frozenset[str]:
    """The lines of `data/NAME.txt`: lists that nearly every text is looked at with, and that should cost no parser.

    signs.txt: a text without any of these words is no refusal, and is read no further. cues.txt: what turns a clause
    into its opposite; a word that ends in n't does so too. doubts.txt: what may take a statement back or leave it open.
    """
    with open(os.path.join(os.path.dirname(__file__), "data", f"{name}.txt"), encoding="utf-8") as stream:
        return frozenset(stream.read().splitlines())


@cache
def words_of(name: str, key: str) -> tuple[str, ...]:
    """The words of one list: written as text with blanks between, or as a list where they hold blanks themselves."""
    listed = table(name)[key]
    return tuple(listed.split() if isinstance(listed, str) else listed)


@cache
def word_set(name: str, key: str) -> frozenset[str]:
    return frozenset(words_of(name, key))


_LETTERS = bytes(byte if chr(byte).isalpha() and byte < 0x80 else 0x20 for byte in range(256))


def ascii_words(text: str) -> list[bytes]:
    """The runs of ASCII letters in a text: a quick look at which words it can have, before it is read."""
    return text.encode("utf-8", "surrogatepass").translate(_LETTERS).split()


@lru_cache(maxsize=4)  # a claim is looked at for refusals, and then for denials
def telling_words(text: str) -> frozenset[bytes]:
    """Those words of a text in lower case that tell of a refusal or a denial; many texts have none."""
    telling, words = _telling(), ascii_words(text)
    return _NONE if telling.isdisjoint(words) else telling.intersection(words)


_NONE: frozenset[bytes] = frozenset()


@cache
def _telling() -> frozenset[bytes]:
    return letter_signs().union(_cues_by_word(), _doubts())


@cache
def letter_signs() -> frozenset[bytes]:
    """The signs of a refusal as a quick look finds them; one with a stroke is looked for where there is a stroke."""
    return frozenset(sign.encode() for sign in lines_of("signs") if sign.isalpha())


def may_deny(text: str) -> bool:
    """Whether a text in lower case may deny anything: it has all words of some cue. Most need not be read."""
    if "n't" in text or "n’t" in text:
        return True
    if not text.isascii() and ("ʼ" in text or not unicodedata.is_normalized("NFKC", text)):
        return True  # letters may only look different from those of a cue
    for word in telling_words(text):
        for cue in _cues_by_word().get(word, ()):
            if all(map(text.__contains__, cue)):
                return True
    return False


def may_doubt(text: str) -> bool:
    """Whether a text in lower case may take something back that it has, leave it open, or ask it."""
    words = telling_words(text)
    return "?" in text or bool(words and not _doubts().isdisjoint(words))


@cache
def _doubts() -> frozenset[bytes]:
    return frozenset(word.encode() for word in lines_of("doubts"))


@cache
def _cues_by_word() -> dict[bytes, list[list[str]]]:
    """The words of each cue, by the longest of them."""
    cues: dict[bytes, list[list[str]]] = {}
    for cue in lines_of("cues"):
        cues.setdefault(max(ascii_words(cue), key=len), []).append(cue.split())
    return cues
