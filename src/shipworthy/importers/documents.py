"""Documents: what was retrieved, and under which id, from any of the shapes in which frameworks log it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ..reading.mapping import digest
from ..text import fold
from .spans import Joined
from .values import first, loosened, mapping, number, text_of

_OWN_IDS = ("id", "_id", "chunk_id", "doc_id", "node_id", "id_", "document_id")
_META_IDS = ("id", "chunk_id", "doc_id", "document_id", "node_id")
_TEXTS = ("content", "page_content", "text", "document", "pageContent", "chunk", "passage", "body")
_LISTS = ("documents", "context", "contexts", "source_documents", "source_nodes", "retrieved_contexts", "docs", "nodes")
_LISTS_LATER = ("results", "matches", "chunks", "passages", "retrieved_documents", "retrieved_docs", "hits")
_REPR = re.compile(r"<?\w+\((id_?|node|page_content|content|metadata)\s*[=:(]")


class Document(msgspec.Struct):
    """One retrieved document; `source` says where its id is from."""

    id: str = ""
    text: str = ""
    score: float | None = None
    source: str = ""


class Library(msgspec.Struct):
    """Ids by text, from the file of chunks and from corpora among the inputs; and which id to prefer."""

    by_text: dict[str, str] = {}
    texts: dict[str, str] = {}
    id_key: str = ""  # a metadata key that wins over all others

    def add(self, name: str, text: str) -> None:
        self.by_text.setdefault(fold(text), name)
        self.texts[name] = text


def documents_of(values: Any, library: Library, notes: Counter[str]) -> list[Document]:
    """The documents of a list, each with an id; those of which only a repr is left are counted, not guessed at."""
    if isinstance(values, Joined):
        values = _pieces(values, library, notes)
    if isinstance(values, Mapping) or values is None:
        values = [values] if values else []
    if isinstance(values, str):
        values = [values]
    documents = []
    for value in values:
        document = _document(value, library)
        if document is None:
            notes["documents of which only a Python repr is left"] += 1
        elif document.id or document.text:
            documents.append(_named(document, library))
    return documents


def _pieces(joined: Joined, library: Library, notes: Counter[str]) -> list[str]:
    """A joined text is split only where every piece is a known chunk: the separator may be part of a text."""
    pieces = [piece for piece in joined.text.split(joined.separator) if piece.strip()]
    if not joined.separator or all(fold(piece) in library.by_text for piece in pieces):
        return pieces
    if joined.whole:
        notes["contexts that may be several documents, kept as one: --chunks does not have every piece"] += 1
        return [joined.text]
    notes[f"contexts joined with {joined.separator!r}, not split: --chunks does not have every piece"] += 1
    return []


def _document(value: object, library: Library) -> Document | None:
    value = _paired(loosened(value))
    if isinstance(value, str):
        return None if _REPR.match(value) else Document(text=value)
    if not isinstance(value, Mapping):
        return Document()
    fields = _flat(value)
    meta = {**mapping(fields.get("metadata")), **mapping(fields.get("meta"))}
    text = next((part for key in _TEXTS if isinstance(part := fields.get(key), str)), "")
    score = number(first(fields, ("score", "similarity", "relevance_score", "similarity_score")))
    score = number(meta.get("score")) if score is None else score
    if library.id_key and (chosen := text_of(meta.get(library.id_key)) or text_of(fields.get(library.id_key))):
        return Document(chosen, text, score, "chosen")
    if own := text_of(first(fields, _OWN_IDS)):
        return Document(own, text, score, "own")
    if known := text_of(first(meta, _META_IDS)):
        return Document(known, text, score, "metadata")
    return Document("", text, score)


def _paired(value: object) -> object:
    """A document and its score side by side, as LangChain's vector stores give them."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], Mapping) and number(value[1]) is not None:
        return {**value[0], "score": value[1]}
    return value


def _flat(value: Mapping[str, Any]) -> dict[str, object]:
    """The fields of a document without the wrappers around them."""
    if value.get("lc") == 1 and isinstance(value.get("kwargs"), Mapping):  # LangChain
        return dict(value["kwargs"])
    for key in ("node", "document", "doc"):  # LlamaIndex, Phoenix, LangChain's (document, score)
        if isinstance(inner := value.get(key), Mapping):
            return {**{name: part for name, part in value.items() if name != key}, **_flat(inner)}
    return {key.removeprefix("document."): part for key, part in value.items()}


def _named(document: Document, library: Library) -> Document:
    """An id for a document that has none: that of the chunk with the same text, else a digest of the text."""
    if document.id:
        if not document.text and document.id in library.texts:
            document.text = library.texts[document.id]
        return document
    folded = fold(document.text)
    if name := library.by_text.get(folded):
        document.id, document.source = name, "chunks"
    else:
        document.id = digest(document.text)
        document.source = "digest"
    return document


def filled(documents: list[object], output: object) -> list[object]:
    """Documents without ids, given those in the step's output where it lists the same texts in the same order."""
    listing = document_list(output)
    if listing is None or len(listing) != len(documents):
        return documents
    out = []
    for logged, other in zip(documents, listing, strict=True):
        one, two = (_flat(value) if isinstance(value, Mapping) else {} for value in (logged, other))
        same = _text(one) and fold(_text(one)) == fold(_text(two))
        known = first(one, _OWN_IDS) or first({**mapping(one.get("metadata"))}, _META_IDS)
        out.append({**one, "id": two.get("id")} if same and not known and isinstance(two.get("id"), str) else logged)
    return out


def _text(fields: Mapping[str, object]) -> str:
    return next((part for key in _TEXTS if isinstance(part := fields.get(key), str)), "")


def document_list(value: object, depth: int = 0, known: bool = False) -> list[object] | None:
    """The list of documents in an output: the output itself, or a field of it or of one of its components.

    `known`: it is the output of a retriever, so that a text is enough for a document.
    """
    value = loosened(value)
    if isinstance(value, list):
        fits = _has_content if known else looks_like_document
        return value if value and all(map(fits, value)) else None
    if not isinstance(value, Mapping) or depth > 3:
        return None
    for key in (*_LISTS, *_LISTS_LATER):
        listing = loosened(value.get(key))
        if isinstance(listing, list) and listing and all(isinstance(one, (str, Mapping)) for one in listing):
            return listing
    for part in value.values():
        if isinstance(part, Mapping) and (below := document_list(part, depth + 1)) is not None:
            return below
    return None


def _has_content(value: object) -> bool:
    value = _paired(value)
    fields = _flat(value) if isinstance(value, Mapping) else {}
    return bool(_text(fields)) or first(fields, _OWN_IDS) is not None


def looks_like_document(value: object) -> bool:
    """An object with a text, or with an id and a score: not a message, not a row of anything else."""
    value = _paired(value)
    if not isinstance(value, Mapping) or "role" in value or "tool_calls" in value:
        return False
    fields = _flat(value)
    named = first(fields, _OWN_IDS) is not None or isinstance(fields.get("metadata"), Mapping)
    return named and (bool(_text(fields)) or number(fields.get("score")) is not None)


def distinct(documents: Iterable[Document]) -> list[Document]:
    """Each id once, where it came first."""
    seen: dict[str, Document] = {}
    for document in documents:
        seen.setdefault(document.id, document)
    return list(seen.values())
