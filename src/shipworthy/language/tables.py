"""Word lists: the TOML files beside this module, each read once and only when something asks for it."""

from __future__ import annotations

import os
import re
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
def quick_words(name: str) -> frozenset[str]:
    """The words of a quick look, from the first lines of the English pack: nearly every answer is looked at with them,
    and that should cost no parser."""
    with open(os.path.join(os.path.dirname(__file__), "packs", "en.toml"), encoding="utf-8") as stream:
        return frozenset(next(line for line in stream if line.startswith(f"{name} = ")).split('"')[1].split())


@cache
def words_of(name: str, key: str) -> tuple[str, ...]:
    """The words of one list: written as text with blanks between, or as a list where they hold blanks themselves."""
    listed = table(name)[key]
    return tuple(listed.split() if isinstance(listed, str) else listed)


@cache
def roughly() -> tuple[tuple[str, ...], re.Pattern[str]]:
    """Words for "about" in any language, and an expression for one before a number."""
    words = tuple(word.replace("_", " ") for word in words_of("words", "roughly"))
    return words, re.compile(rf"\A(?:{'|'.join(map(re.escape, words))})\s*(?=[$€£¥₹]?\s?\d)", re.I)


@cache
def word_set(name: str, key: str) -> frozenset[str]:
    return frozenset(words_of(name, key))


ASCII_LETTERS = bytes(  # by which translating leaves letters and blanks
    byte if chr(byte).isalpha() and byte < 0x80 else 0x20 for byte in range(256)
)


@lru_cache(maxsize=4)  # a claim is looked at for its language, for refusals, and for denials
def glance(text: str) -> frozenset[bytes]:
    """The runs of ASCII letters in a text: a quick look at which words it can have, before it is read."""
    return frozenset(text.encode("utf-8", "surrogatepass").translate(ASCII_LETTERS).split())


@cache
def quick_bytes(name: str) -> frozenset[bytes]:
    """The words that its entries begin with."""
    return frozenset(word.partition("_")[0].encode() for word in quick_words(name) if "/" not in word)


@cache
def _phrases() -> dict[bytes, list[str]]:
    """By the word that they begin with, the wordings that tell of a denial; an empty one where the word alone does."""
    found: dict[bytes, list[str]] = {}
    for entry in sorted(quick_words("telling")):
        first, _, more = entry.partition("_")
        found.setdefault(first.encode(), []).extend([f"{first} {more}"] if more else [""])
    return found


def may_deny(text: str) -> bool:
    """Whether an English text in lower case may deny, take back, leave open or ask anything. Most need not be read."""
    if "n't" in text or "n’t" in text or "?" in text:
        return True
    if not text.isascii() and ("ʼ" in text or not unicodedata.is_normalized("NFKC", text)):
        return True  # letters may only look different from those of a negation
    phrases, words = _phrases(), glance(text)
    if words.isdisjoint(phrases):
        return False
    return any(phrase in text for word in phrases.keys() & words for phrase in phrases[word])
