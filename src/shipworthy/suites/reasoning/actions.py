"""Actions: what an answer tells someone to do about the evidence, with who and when."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ...language.clauses import Clause, clauses
from ...language.words import is_content, stem
from .reading import Sentence, Store


class Action(NamedTuple):
    """Something to be done that touches the evidence."""

    words: frozenset[str]
    owned: bool
    timed: bool


def find_actions(said: Sequence[Sentence], store: Store) -> list[Action]:
    """The actions of an answer, each wording once."""
    found = {}
    names = store.names - listed("placeholders") - listed("times")
    for sentence in said:
        words = frozenset(sentence.words) & (store.topic | names)
        if sentence.is_question or not words:
            continue
        owned, timed = bool(words & names), not listed("times").isdisjoint(sentence.words)
        if any(_directs(part, store) for part in clauses(sentence.text)):
            found[words] = Action(words, owned, timed)
    return list(found.values())


@cache
def listed(name: str) -> frozenset[str]:
    lists = tomllib.loads((files("shipworthy.suites.reasoning") / "data" / "directives.toml").read_text("utf-8"))
    return frozenset({*lists[name].split(), *map(stem, lists[name].split())})


def _directs(clause: Clause, store: Store) -> bool:
    """An imperative, `X should …`, `X to …`: not denied, and about somebody or something in the evidence."""
    norms = [token.norm for token in clause.tokens]
    if clause.negated or not any(stem(norm) in store.topic or stem(norm) in store.names for norm in norms):
        return False
    start = next((n for n, norm in enumerate(norms) if norm not in listed("openers")), len(norms) - 1)
    if norms[start] in listed("verbs"):
        return True
    return any(_obliges(clause, norms, n, store) for n in range(1, len(norms)) if is_content(clause.tokens[n]))


def _obliges(clause: Clause, norms: Sequence[str], n: int, store: Store) -> bool:
    """Whether the word is what somebody should do: behind an obligation, or behind `NAME to`."""
    before = norms[max(0, n - 3) : n]
    if before[-1] == "to" and len(before) > 1:
        return stem(before[-2]) in store.names or before[-2] in ("is", "are") or bool({*before} & listed("modals"))
    return bool({*before} & {"should", "must", "shall"}) or (
        norms[n] in listed("verbs") and bool({*before} & listed("modals"))
    )
