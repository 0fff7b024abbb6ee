"""Word lists: the TOML files beside this module, each read once and only when something asks for it."""

from __future__ import annotations

import os
import re
from functools import cache
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
