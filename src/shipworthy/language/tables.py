"""Word lists: the TOML files beside this module, each read once and only when something asks for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

Table = Mapping[str, object]


@cache
def table(name: str) -> Table:
    """The tables of `data/NAME.toml`."""
    import tomllib  # scoring plain answers reads no list

    with open(os.path.join(os.path.dirname(__file__), "data", f"{name}.toml"), "rb") as stream:
        return tomllib.load(stream)


@cache
def words_of(name: str, key: str) -> tuple[str, ...]:
    """The words of one list: written as text with blanks between, or as a list where they hold blanks themselves."""
    listed = table(name)[key]
    if isinstance(listed, str):
        return tuple(listed.split())
    assert isinstance(listed, list)
    return tuple(str(word) for word in listed)


@cache
def word_set(name: str, key: str) -> frozenset[str]:
    return frozenset(words_of(name, key))
