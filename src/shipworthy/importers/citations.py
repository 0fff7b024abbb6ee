"""Citations: from a field of the answer, from ids in brackets, or from numbers that count the documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..reading.markers import read_markers, resolved
from ..reading.proposal import CITED_NAMES, RETRIEVED_AS_CITED
from ..text import fold
from .documents import Document, Library, documents_of
from .values import loosened, text_of

_MARKER = re.compile(r"\s*\[([^\[\]\n]{1,300})\]")
_BETWEEN = re.compile(r"\s*[,;]\s*")


class Cited(NamedTuple):
    """The claim without its markers, what it cites, how that was found, and what of it is a guess."""

    claim: str
    ids: list[str]
    how: str = ""
    guessed: str = ""


def cited(claim: str, holder: Mapping[str, object] | None, documents: list[Document], library: Library) -> Cited:
    """What an answer cites: the first rule that applies."""
    for key in CITED_NAMES:
        value = loosened(holder.get(key)) if holder is not None else None
        if isinstance(value, list):
            ids = _listed(value, documents, library)
            guessed = f"citations: {key} may list all that was retrieved" if key in RETRIEVED_AS_CITED else ""
            return Cited(_without(claim, {document.id for document in documents}), ids, f"field {key}", guessed)
    known = {document.id for document in documents}
    pieces = [piece for marker in _MARKER.findall(claim) for piece in _BETWEEN.split(marker.strip())]
    if ids := _once(piece for piece in pieces if piece in known):
        return Cited(_without(claim, known), ids, "inline ids")
    if pieces and all(re.fullmatch(r"\d{1,4}", piece) and 1 <= int(piece) <= len(documents) for piece in pieces):
        ids = _once(documents[int(piece) - 1].id for piece in pieces)
        return Cited(_MARKER.sub("", claim).strip(), ids, "inline ranks", "citations: numbers read as ranks")
    names = [document.id for document in documents]
    marked = read_markers(claim, names)
    found = [str(one) for one in resolved(marked.names, names, labels=True)]
    if found and all(one in known for one in found):
        return Cited(marked.text, found, "markers", "citations: markers read as ids or ranks")
    return Cited(claim, [])


def _listed(values: list[object], documents: list[Document], library: Library) -> list[str]:
    """Ids from a field: ids as they are, objects by their id, texts by the document that has the same text."""
    by_text = {fold(document.text): document.id for document in documents if document.text}
    ids = []
    for value in values:
        if isinstance(value, Mapping):
            ids += [document.id for document in documents_of([value], library, Counter())]
        elif text := text_of(value):
            ids.append(by_text.get(fold(text), text))
    return _once(ids)


def _without(claim: str, known: set[str]) -> str:
    """The claim without markers all of whose pieces are known ids."""

    def kept(marker: re.Match[str]) -> str:
        return "" if all(piece in known for piece in _BETWEEN.split(marker[1].strip())) else marker[0]

    return _MARKER.sub(kept, claim).strip()


def _once(names: Any) -> list[str]:
    return list(dict.fromkeys(names))
