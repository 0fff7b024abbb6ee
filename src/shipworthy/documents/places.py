"""Places: where in the documents the evidence of a question stands, and whether it still does after an edit.

A passage counts as the same only where that is certain: its words are there, as many times as before. What a reader
might take for the same, but can't be sure of, is `changed` and goes to a person.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from ..core.contracts import Anchor, Gold
from ..core.sources import GoldSource, load_gold
from ..language.edges import cut
from ..text import first_few, fold, plural
from . import Document, Documents, Passage, encoded, read_documents

AROUND = 40  # characters kept on each side
SHORT = 40  # a passage below this says little by itself: what stands around it must fit too
ALIKE = 55  # similarity in per cent from which another passage is taken for the edited one
MOST_TEXT = 4_000  # characters of a passage that are kept, to show what changed


def anchor_of(documents: Documents, document: Document, start: int, end: int, counted: bool = True) -> Anchor:
    """The place of a passage, with all that is needed to find it again. Copies are counted in all documents."""
    text = document.text[start:end]
    passage = document.passage_at(start, end)
    section = document.section_at(start)
    copies = sum(one.text.count(text) for one in documents) if text and counted else 1
    return Anchor(
        doc=document.name,
        start=start,
        end=end,
        sha256=_digest(text),
        before=document.text[max(0, start - AROUND) : start],
        after=document.text[end : end + AROUND],
        text=text[:MOST_TEXT],
        section=section.title if section else "",
        head=passage.head if passage else "",
        copies=copies,
    )


def _digest(text: str) -> str:
    return hashlib.sha256(encoded(text)).hexdigest()


class Found(NamedTuple):
    """What became of a place: unchanged, moved, changed or gone; where it is now, or may be."""

    state: str
    anchor: Anchor | None = None


def find(anchor: Anchor, documents: Documents) -> Found:
    """What became of a place."""
    document = documents.by_name.get(anchor.doc)
    if not 0 <= anchor.start <= anchor.end or not anchor.text:
        return Found("gone")
    text = anchor.text if len(anchor.text) < MOST_TEXT else ""
    here = document.text[anchor.start : anchor.end] if document else ""
    if here and _digest(here) == anchor.sha256 and document is not None:
        around = (document.text[max(0, anchor.start - AROUND) : anchor.start], document.text[anchor.end :][:AROUND])
        if not text or around == (anchor.before, anchor.after):
            return Found("unchanged", anchor)  # whatever else was edited: this stands where and among what it stood
    if text and _digest(text) == anchor.sha256:
        places = [(one, place) for one in documents for place in _occurrences(one.text, text)]
        # A copy more or a copy less: which of them was meant, nobody can tell without a look.
        if places and len(places) == anchor.copies:
            if chosen := _same(anchor, places):
                one, place = chosen
                new = anchor_of(documents, one, place, place + len(text))
                same_place = one.name == anchor.doc and place == anchor.start
                return Found("unchanged" if same_place else "moved", new)
        elif not places and (found := _respaced(anchor, documents)):
            return found
    return _near(anchor, documents, document)


def _same(anchor: Anchor, places: list[tuple[Document, int]]) -> tuple[Document, int] | None:
    """The one of these places that the anchor meant, where its surroundings leave no doubt."""
    size = len(anchor.text)
    if len(places) == 1 and not _elliptical(anchor):
        return places[0]
    fitting = [(one, place) for one, place in places if _fits(anchor, one, place, place + size, len(places) > 1)]
    return fitting[0] if len(fitting) == 1 else None


def _elliptical(anchor: Anchor) -> bool:
    """A row, a pair or a few words: what they are about stands outside."""
    return bool(anchor.head) or len(anchor.text) < SHORT or anchor.text.lstrip().startswith("|")


def _fits(anchor: Anchor, document: Document, start: int, end: int, several: bool) -> bool:
    if anchor.head:
        passage = document.passage_at(start, end)
        if passage is None or fold(passage.head) != fold(anchor.head):
            return False
    before = _words(document.text[max(0, start - AROUND) : start])[1:] == _words(anchor.before)[1:]
    after = _words(document.text[end : end + AROUND])[:-1] == _words(anchor.after)[:-1]
    if several:
        return document.name == anchor.doc and ((before and after) or (start == anchor.start and (before or after)))
    section = document.section_at(start)
    titled = bool(anchor.section) and section is not None and fold(section.title) == fold(anchor.section)
    return titled or before or after


def _words(text: str) -> list[str]:
    """Without white space and marks. The outermost word may be cut, so that nobody compares it."""
    return re.findall(r"\w+", text.casefold())


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    place = text.find(wanted)
    while place >= 0:
        yield place
        place = text.find(wanted, place + 1)


def _respaced(anchor: Anchor, documents: Documents) -> Found | None:
    """The same words with other white space between them, as after a line was wrapped anew."""
    pattern = re.compile(r"\s+".join(map(re.escape, anchor.text.split())))
    places = [(one, match.span()) for one in documents for match in pattern.finditer(one.text)]
    if len(places) != 1 or anchor.copies != 1:
        return None
    (document, (start, end)) = places[0]
    if _elliptical(anchor) and not _fits(anchor, document, start, end, False):
        return None
    return Found("moved", anchor_of(documents, document, start, end))


def _near(anchor: Anchor, documents: Documents, document: Document | None) -> Found:
    """The passage that looks most like the old one, in its document first; gone where none does."""
    from rapidfuzz import fuzz, process

    wanted = fold(anchor.text)
    for group in ([document] if document else [], [one for one in documents if one is not document]):
        best: tuple[float, Document, int, int] | None = None
        for one in group:
            spans = [(p.start, p.end) for section in one.sections for p in one.passages(section)]
            texts = [fold(one.text[start:end]) for start, end in spans]
            cutoff = best[0] if best else ALIKE
            if hit := process.extractOne(wanted, texts, scorer=fuzz.token_sort_ratio, score_cutoff=cutoff):
                best = (hit[1], one, *spans[hit[2]])
        if best:
            return Found("changed", anchor_of(documents, *best[1:]))
    return Found("gone")


# --- a whole gold set ---


class Refreshed(msgspec.Struct):
    """What became of the places of a gold set, by qid, and the items with the places that they have now."""

    unchanged: list[str] = []
    moved: list[str] = []
    changed: list[str] = []
    gone: list[str] = []
    unplaced: list[str] = []  # answerable items without a place
    now: dict[str, list[Anchor]] = {}  # of moved items: their places; of changed ones: what they may have become

    def sentences(self) -> list[str]:
        """What keeps a gold set from judging: questions whose evidence was edited or removed."""
        told = []
        for qids, what in ((self.changed, "was edited"), (self.gone, "is no longer in the documents")):
            if qids:
                names = first_few(qids, 20)
                told.append(f"{plural(len(qids), 'question')} whose evidence {what} since it was reviewed: {names}")
        return told


def places_of(item: Gold) -> list[Anchor]:
    """The places of an item's evidence."""
    given = item.anchor
    return [] if given is None else given if isinstance(given, list) else [given]


def refresh(
    gold: GoldSource | Iterable[Gold],
    docs: Documents | Mapping[str, str] | str | os.PathLike[str],
    *,
    map: Iterable[str] = (),
) -> Refreshed:
    """What became of each item's evidence after the documents were edited. The worst of its places decides."""
    documents, found = read_documents(docs), Refreshed([], [], [], [], [], {})
    for qid, item in load_gold(gold, map=map).items.items():
        places = places_of(item)
        if not places:
            if item.answerable:
                found.unplaced.append(qid)
            continue
        states = [find(place, documents) for place in places]
        worst = max((state.state for state in states), key=_ORDER.index)
        getattr(found, worst).append(qid)
        if worst in ("moved", "changed"):
            found.now[qid] = [state.anchor or place for state, place in zip(states, places, strict=True)]
    return found


_ORDER = ("unchanged", "moved", "changed", "gone")


# --- items without a place ---


class Placing(NamedTuple):
    """The one place of an item's evidence, or why there is none."""

    anchor: Anchor | None
    why: str = ""  # ambiguous, absent, no text, unknown id


def place(item: Gold, documents: Documents, chunks: Mapping[str, str] | None = None) -> Placing:
    """The one passage that has the expected text, where the citation says it is; never a guess."""
    texts = item.substrings if item.match in ("any", "all") else []
    if not texts:
        return Placing(None, "no text")
    ranges = [one for name in item.citations for one in _ranges(name, documents, chunks or {})]
    if not ranges:
        return Placing(None, "unknown id" if item.citations else "no citation")
    spans: set[tuple[str, int, int]] = set()
    for text in texts:
        found = {(doc.name, p.start, p.end) for doc, low, high in ranges for p in _holding(doc, low, high, text)}
        if item.match == "all" and spans and found:
            spans &= found
        else:
            spans |= found
    if len(spans) != 1:
        return Placing(None, "ambiguous" if spans else "absent")
    name, start, end = spans.pop()
    return Placing(anchor_of(documents, documents.by_name[name], start, end))


def _holding(document: Document, low: int, high: int, text: str) -> Iterator[Passage]:
    """The passages of a range that have a text, as whole words."""
    pattern = re.compile(r"\s+".join(map(re.escape, text.split())), re.IGNORECASE)
    for match in pattern.finditer(document.text, low, high):
        if cut(document.text, match.start(), match.end()):
            continue
        passage = document.passage_at(*match.span())
        yield passage or Passage(*match.span(), "sentence")


def _ranges(name: str, documents: Documents, chunks: Mapping[str, str]) -> list[tuple[Document, int, int]]:
    """Where a citation points: a chunk, a document, a page or a section of one. Nothing where nobody can tell."""
    if text := chunks.get(name, "").strip():
        return [(one, start, end) for one in documents for start, end in _chunk_places(one, text)]
    if name in documents.chunk_of:
        owner, chunk = documents.chunk_of[name]
        return [(documents.by_name[owner], chunk.start, chunk.end)]
    path, _, part = name.partition("#")
    named = [
        one
        for one in documents
        if path in (one.name, os.path.basename(one.name), os.path.splitext(os.path.basename(one.name))[0])
    ]
    if len(named) == 1:
        return _parts(named[0], part)
    if not named and not part:
        return _by_label(name, documents)
    return []


def _chunk_places(document: Document, text: str) -> list[tuple[int, int]]:
    found = [(place, place + len(text)) for place in _occurrences(document.text, text)]
    if not found:
        pattern = re.compile(r"\s+".join(map(re.escape, text.split())))
        found = [match.span() for match in pattern.finditer(document.text)]
    return found


def _parts(document: Document, part: str) -> list[tuple[Document, int, int]]:
    if not part:
        return [(document, 0, len(document.text))]
    wanted = _slug(part.replace("=", " "))
    return [(document, one.start, one.end) for one in document.sections if _slug(one.title) == wanted]


def _slug(text: str) -> str:
    return "-".join(re.findall(r"\w+", text.casefold()))


def _by_label(name: str, documents: Documents) -> list[tuple[Document, int, int]]:
    """An id that begins with the number of a section, as `S.4.2.p.Bk011` does: the longest that headings have."""
    best: list[tuple[Document, int, int]] = []
    longest = 0
    for one in documents:
        for section in one.sections:
            label = section.title.split(" ", 1)[0].rstrip(".:")
            if not any(char.isdigit() for char in label) or len(label) < longest:
                continue
            if name == label or name.startswith((f"{label}.", f"{label}#", f"{label}/", f"{label}-", f"{label}|")):
                best = [*best, (one, section.start, section.end)] if len(label) == longest else []
                best = best or [(one, section.start, section.end)]
                longest = len(label)
    return best
