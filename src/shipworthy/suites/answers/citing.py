"""Citing by place: whether a cited chunk holds the evidence, whatever its id. So a gold set survives re-chunking."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import msgspec

from ...core.contracts import Anchor, Gold, Place, Trace
from ...documents import Documents, encoded, seam
from ...documents.places import find, places_of
from ...errors import UsageError
from ...text import fold

LEAST = Fraction(1, 2)  # of the chunk or of the passage that both must have in common


class Citing(msgspec.Struct, frozen=True):
    """How citations are matched with places; `texts` are those of chunks by id."""

    way: str  # place, text
    texts: Mapping[str, str] = {}
    documents: Documents | None = None

    def anchors(self, gold: Gold) -> tuple[Anchor, ...]:
        """The places of an item, as the documents have them now."""
        places = places_of(gold)
        if self.documents is None:
            return tuple(places)
        found = (find(place, self.documents) for place in places)
        return tuple(one.anchor or place for one, place in zip(found, places, strict=True))

    @staticmethod
    def names(anchors: Sequence[Anchor]) -> list[str]:
        """What stands among citations for the places of an item: no id has a NUL."""
        return [f"\0place {number}" for number in range(len(anchors))]

    def named(self, anchors: Sequence[Anchor], ids: Sequence[str], trace: Trace) -> list[str]:
        """The ids, with the name of the place in the stead of each that holds one."""
        own = _own(trace)
        found: list[str] = []
        for name in ids:
            pairs = zip(self.names(anchors), anchors, strict=True)
            held = [token for token, one in pairs if self._holds(one, name, own.get(name))]
            found += held or [name]
        return found

    def _holds(self, anchor: Anchor, name: str, block: Place | None) -> bool:
        text = (block.text if block else None) or self.texts.get(name, "")
        if self.way == "text" or self.documents is None:
            return bool(text) and _shares(fold(anchor.text), fold(text))
        document = self.documents.by_name.get(anchor.doc)
        if document is None:
            return False
        if block is not None and block.offsets is not None and block.doc == anchor.doc:
            low, high = (len(encoded(document.text[:place])) for place in (anchor.start, anchor.end))
            return _overlap((low, high), block.offsets)
        if not text and name in self.documents.chunk_of:
            owner, chunk = self.documents.chunk_of[name]
            return owner == anchor.doc and _overlap((anchor.start, anchor.end), (chunk.start, chunk.end))
        spans = _spans(document.text, text.strip())
        return any(_overlap((anchor.start, anchor.end), span) for span in spans)


def _shares(passage: str, chunk: str) -> bool:
    """One contains the other, or the end of one is the beginning of the other for half of the shorter one."""
    if passage in chunk or chunk in passage:
        return True
    least = max(1, math.ceil(LEAST * min(len(passage), len(chunk))))
    return seam(passage, chunk, least) > 0 or seam(chunk, passage, least) > 0


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """At least half of the shorter of the two is in the other."""
    shared = min(one[1], other[1]) - max(one[0], other[0])
    return shared > 0 and shared >= LEAST * min(one[1] - one[0], other[1] - other[0])


@lru_cache(maxsize=4096)
def _spans(document: str, text: str) -> tuple[tuple[int, int], ...]:
    """Where a document has a text, whatever white space is between its words."""
    found, place = [], document.find(text) if text else -1
    while place >= 0:
        found.append((place, place + len(text)))
        place = document.find(text, place + 1)
    if not found and text:
        import re

        pattern = re.compile(r"\s+".join(map(re.escape, text.split())))
        found = [match.span() for match in pattern.finditer(document)]
    return tuple(found)


def _own(trace: Trace) -> dict[str, Place]:
    """What the trace itself says of its blocks: their texts, and where they stand."""
    found: dict[str, Place] = {}
    given: list[Iterable[object]] = [
        trace.answer_citations if isinstance(trace.answer_citations, list) else (),
        trace.answer.citations,
        trace.retrieved_ids if isinstance(trace.retrieved_ids, list) else (),
        trace.topk if isinstance(trace.topk, list) else (),
    ]
    for block in (block for blocks in given for block in blocks):
        if isinstance(block, Place):
            before = found.get(block.id, block)
            text, offsets = before.text or block.text, before.offsets or block.offsets
            found[block.id] = Place(block.id, offsets, text=text, doc=before.doc or block.doc)
    for passage in trace.evidence or ():
        if passage.text and not found.get(passage.id, Place(passage.id)).text:
            before = found.get(passage.id, Place(passage.id))
            found[passage.id] = msgspec.structs.replace(before, text=passage.text)
    return found


def citing(way: str, texts: Mapping[str, str] | None, documents: Documents | None) -> Citing | None:
    """How to match citations, or None for ids."""
    if way == "ids":
        return None
    if way == "place" and documents is None:
        raise UsageError(
            "match_citations = place needs the documents",
            hint='Give --docs, or docs = "handbook/" in the config.',
            code="match-citations",
        )
    return Citing(way, texts or {}, documents)
