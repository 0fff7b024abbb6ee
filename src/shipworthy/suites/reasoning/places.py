"""Places: counts and full names with the words around them, and whether two of them stand in each other's place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations, pairwise

import msgspec

from .anchors import MEASURES, labels
from .clauses import COLON, Clause
from .words import Token, full_names, stem, vocabulary

# Words of the other's place that are enough. People share tasks and the words for them; counts don't.
LEAST: Mapping[str, int] = {"count": 1, "measure": 1, "date": 2, "when": 1, "name": 2}
_DATE = re.compile(r"(?:\d{4}-)?\d\d-\d\d|\d\d:\d\d")
_WHEN = frozenset(
    map(
        stem,
        vocabulary("""hourly daily nightly weekly monthly quarterly yearly night morning evening noon weekend
    monday tuesday wednesday thursday friday saturday sunday"""),
    )
)
COUNT = re.compile(r"\d{1,9}(?:\.\d{1,6})?%?")


class NotePlace(msgspec.Struct, frozen=True):
    """A count or a full name, and the words of its clause that belong to it rather than to another one."""

    holder: str
    kind: str  # only what is of one kind can be exchanged: counts, counts in some measure, names
    words: frozenset[str]


def exchanged(evidence: Iterable[Clause], said: Iterable[Clause]) -> list[str]:
    """Two holders of the evidence, each among the words that are the other's there, and among none of its own."""
    known: dict[tuple[str, str], set[str]] = {}
    for place in places(evidence):
        known.setdefault((place.kind, place.holder), set()).update(place.words)
    told: dict[tuple[str, str], list[frozenset[str]]] = {}
    for place in places(said):
        if (place.kind, place.holder) in known:
            told.setdefault((place.kind, place.holder), []).append(place.words)

    def has_moved(one: tuple[str, str], other: tuple[str, str]) -> bool:
        own, foreign = known[one] - known[other], known[other] - known[one]
        return any(len(words & foreign) >= LEAST[one[0]] and not words & own for words in told[one])

    pairs = ((one, other) for one, other in combinations(told, 2) if one[0] == other[0])
    return [f"{one[1]} and {other[1]}" for one, other in pairs if has_moved(one, other) and has_moved(other, one)]


def places(clauses: Iterable[Clause]) -> Iterator[NotePlace]:
    for clause in clauses:
        edges = [0, *(match.start() for match in COLON.finditer(clause.text)), len(clause.text)]
        for start, end in pairwise(edges):
            yield from _in_segment([token for token in clause.tokens if start <= token.start < end])


def _in_segment(words: list[Token]) -> Iterator[NotePlace]:
    named = {token.start for _, _, token in labels(words)}
    kinds = [_kind(words, i) if t.start not in named else None for i, t in enumerate(words)]
    yield from _around(words, kinds, ("count", "measure"))
    yield from _around(words, kinds, ("date",))
    yield from _around(words, kinds, ("when",))
    yield from _behind_names(words)


def _kind(words: list[Token], position: int) -> str | None:
    norm = words[position].norm
    if COUNT.fullmatch(norm):
        measured = norm.endswith("%") or (position + 1 < len(words) and words[position + 1].norm in MEASURES)
        return "measure" if measured else "count"
    if _DATE.fullmatch(norm):
        return "date"
    return "when" if norm in _WHEN else None


def _around(words: list[Token], kinds: list[str | None], wanted: Collection[str]) -> Iterator[NotePlace]:
    """Each word belongs to the holder that is nearest; of two as near to the one that follows."""
    holders = [i for i, kind in enumerate(kinds) if kind in wanted]
    belonging: dict[int, set[str]] = {i: set() for i in holders}
    for i, token in enumerate(words if holders else ()):
        is_word = kinds[i] in (None, "date", "when") and i not in belonging
        if is_word and token.is_content and token.norm not in MEASURES:
            belonging[min(holders, key=lambda j: (abs(i - j), j < i))].add(token.norm)
    for one, other in pairwise(holders):
        # In `9 of 52 requests` both are of requests.
        if [t.norm for t in words[one + 1 : other] if t.norm != "the"] == ["of"]:
            belonging[one] = belonging[other] = belonging[one] | belonging[other]
    for i in holders:
        yield NotePlace(words[i].norm, kinds[i] or "", frozenset(belonging[i]))


def _behind_names(words: list[Token]) -> Iterator[NotePlace]:
    """What is said of a full name stands behind it."""
    starts = [i for i in full_names(words) if not words[i].raw.isupper()]  # `SE-VTK` is nobody
    starts = [i for i in starts if i - 1 not in starts]
    for i, end in zip(starts, [*starts[1:], len(words)], strict=False):
        said = frozenset(t.norm for t in words[i + 2 : end] if t.is_content and not t.is_anchor)
        yield NotePlace(f"{words[i].norm} {words[i + 1].norm}", "name", said)
