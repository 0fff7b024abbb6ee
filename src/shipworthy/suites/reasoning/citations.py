"""Citations: ids in brackets, path:line and confidence tags, each resolved to the notes that it names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .fixture import Note
from .reading import Sentence, Store

_BRACKET = re.compile(r"\[([^\[\]\n]{1,200})\](?!\()")
_PLACE = re.compile(r"(?<![\w./:-])([\w./-]{1,200}\.[A-Za-z]\w{0,4}):L?(\d{1,7}(?:-\d{1,7})?(?:, ?:\d{1,7})*)(?![\w:])")
_NAME = re.compile(r"(?<![\w./-])[A-Za-z][\w./-]{0,200}\w")
_TAG = re.compile(r"[01]\.\d{1,3}")
_WORDS_BEFORE = re.compile(r"(?:confidence|conf|see|source|sources|note|notes|id|ids|cf)[.:]?\s+", re.IGNORECASE)


class Citation(NamedTuple):
    """A reference as it is written, where, and the notes that it names; none: it is made up."""

    text: str
    start: int
    end: int
    notes: frozenset[str]
    inline: bool = False  # a path as a word of its sentence, which may be what is to be corrected


def find_citations(text: str, store: Store) -> list[Citation]:
    """Every citation of an answer, in order of their places."""
    found = [*_places(text, store), *_brackets(text, store)]
    taken = without(text, found)
    found += _names(taken, store)
    return sorted(found, key=lambda citation: citation.start)


def without(text: str, citations: Sequence[Citation]) -> str:
    """The text with blanks in place of its citations, so that everything else stays where it is."""
    parts, end = [], 0
    for citation in sorted(citations, key=lambda one: one.start):
        if citation.start >= end:
            parts += [text[end : citation.start], " " * (citation.end - citation.start)]
            end = citation.end
    return "".join([*parts, text[end:]])


def by_sentence(said: Sequence[Sentence], citations: Sequence[Citation]) -> list[set[str]]:
    """The notes cited in each sentence; a citation behind a full stop belongs to the sentence before it."""
    starts = [sentence.start for sentence in said]
    cited: list[set[str]] = [set() for _ in said]
    for citation in citations:
        if said and not citation.inline:
            cited[max(0, bisect_right(starts, citation.start) - 1)] |= citation.notes
    return cited


def _places(text: str, store: Store) -> Iterator[Citation]:
    """`path:4`, `path:4-9`, `path:4, :9, :14`: every line must be one of the evidence, or be written there."""
    for match in _PLACE.finditer(text):
        named = store.naming(match[1])
        lines = [_lines(part) for part in re.split(r", ?:", match[2])]
        found = [{note.id for note in store.evidence if note.id in named and _has(note, line)} for line in lines]
        known = all(found) or match[0].casefold() in store.raw
        yield Citation(
            match[0], *match.span(), frozenset().union(*found, named if known else ()) if known else frozenset()
        )


def _lines(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _has(note: Note, lines: range) -> bool:
    return note.line is None or note.line in lines


def _brackets(text: str, store: Store) -> Iterator[Citation]:
    """`[n1]`, `[n1, n2]`, `[1]` for the first note, `[0.95]`; words in brackets are no citation."""
    for match in _BRACKET.finditer(text):
        for part in re.split(r"[,;]", match[1]):
            reference = _WORDS_BEFORE.sub("", part.strip()).strip("'\"`#^ ")
            if _PLACE.fullmatch(reference) or match[0].casefold() in store.raw:
                continue  # read already, or quoted as it stands
            if _TAG.fullmatch(reference):
                yield Citation(reference, *match.span(), _with_confidence(reference, store))
            elif named := store.naming(reference) or _numbered(reference, store):
                yield Citation(reference, *match.span(), frozenset(named))
            elif _looks_cited(reference):
                yield Citation(reference, *match.span(), frozenset())


def _with_confidence(tag: str, store: Store) -> frozenset[str]:
    return frozenset(
        n.id for n in store.evidence if n.confidence is not None and abs(n.confidence - _exact(tag)) * 200 < 1
    )


def _exact(tag: str) -> float:
    return float(tag)


def _numbered(reference: str, store: Store) -> set[str]:
    """`[2]` is the second note, where no note has that id."""
    position = int(reference) if reference.isascii() and reference.isdigit() and len(reference) < 5 else 0
    return {store.evidence[position - 1].id} if 0 < position <= len(store.evidence) else set()


def _looks_cited(reference: str) -> bool:
    """One word with a digit or a path in it: `n99`, `12`, `notes/old.md`; not `sic`, not `4 of 9`."""
    return not re.search(r"\s", reference) and bool(re.search(r"\d|\w[/.]\w", reference)) and "://" not in reference


def _names(text: str, store: Store) -> Iterator[Citation]:
    """Ids and paths that stand in the text without brackets; one that nobody knows is judged as a number is."""
    ids = {note.id.casefold() for note in store.evidence if re.search(r"\d", note.id) and not note.id.isdigit()}
    paths = {note.source.casefold() for note in store.evidence if re.search(r"\w[/.]\w", note.source)}
    paths |= {path.rpartition("/")[2] for path in paths if "." in path}
    for match in _NAME.finditer(text):
        if (name := match[0].casefold()) in ids or name in paths:
            yield Citation(match[0], *match.span(), frozenset(store.naming(name)), name not in ids)
