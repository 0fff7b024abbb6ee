"""Retrieval: SQLite's full-text engine (BM25), a character n-gram cosine, their intersection, a cut at the knee."""

from __future__ import annotations

import hashlib
import math
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from ..errors import EnvironmentFailure
from .blocks import CorpusBlock, blocks
from .words import key_terms, tokens

EMBEDDER = "demo-trigram-v1"
KEEP = 3  # the knee never cuts deeper than this
Postings = dict[str, list[tuple[int, float]]]
Scored = list[tuple[CorpusBlock, float]]


class FullText:
    """The blocks' words in an FTS5 table in memory, one connection that callers take in turn."""

    def __init__(self, bags: Iterable[Iterable[str]]) -> None:
        self._lock = threading.Lock()
        self._table = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            self._table.execute("CREATE VIRTUAL TABLE texts USING fts5(words)")
        except sqlite3.OperationalError as error:
            raise EnvironmentFailure(
                f"this Python's SQLite has no full-text search: {error}",
                code="demo-no-fts5",
                hint="Use a Python whose sqlite3 has FTS5, as python.org's and Debian's do.",
            ) from None
        rows = ((" ".join(map(_spelt, bag)),) for bag in bags)
        self._table.executemany("INSERT INTO texts VALUES (?)", rows)

    def search(self, terms: Iterable[str]) -> list[tuple[int, float]]:
        """Positions of blocks that hold any of the terms, each with its BM25 score, higher is better."""
        wanted = " OR ".join(sorted({_spelt(term) for term in terms}))
        if not wanted:
            return []
        with self._lock:
            rows = self._table.execute(
                "SELECT rowid - 1, -bm25(texts) FROM texts WHERE texts MATCH ?", (wanted,)
            ).fetchall()
        return [(int(position), float(score)) for position, score in rows]


def _spelt(term: str) -> str:
    """A term as letters and digits alone, so that the engine's tokeniser takes it whole."""
    return "t" + term.encode().hex()


@dataclass(frozen=True, slots=True)
class Index:
    """A full-text engine and an inverted index of trigrams over the same blocks."""

    name: str
    blocks: tuple[CorpusBlock, ...]
    words: FullText
    grams: Postings
    idf: Mapping[str, float]
    gram_idf: Mapping[str, float]
    hash: str


@cache
def index(name: str = "live") -> Index:
    """Build an index once; a corpus of this size takes a few hundredths of a second."""
    members = blocks(name)
    bags = [Counter(tokens(f"{block.title}\n{block.text}")) for block in members]
    shapes = [Counter(gram for term in bag for gram in _grams(term)) for bag in bags]
    idf, gram_idf = _idf(bags), _idf(shapes)
    content = "\n".join(f"{block.id} {block.start} {block.end} {block.text}" for block in members)
    digest = hashlib.sha256(f"{name}\n{content}".encode()).hexdigest()[:16]
    return Index(
        name, members, FullText(bag.elements() for bag in bags), _cosine(shapes, gram_idf), idf, gram_idf, digest
    )


def lexical(where: Index, question: str, k: int) -> Scored:
    """The k best blocks by the engine's BM25."""
    matches = where.words.search(key_terms(question))
    return ranked((where.blocks[position], score) for position, score in matches)[:k]


def semantic(where: Index, question: str, k: int) -> Scored:
    """The k best blocks by cosine of character trigrams of concepts: near spellings and word parts meet."""
    return _best(where, _vector(where.name, question).items(), where.grams, k)


def distance(where: Index, question: str, views: Iterable[str]) -> float:
    """ΔS: one minus the best cosine between the question's trigrams and a view of the text, to four places."""
    asked = _vector(where.name, question)
    shown = [_vector(where.name, view) for view in views]
    cosines = [sum(weight * view.get(gram, 0.0) for gram, weight in asked.items()) for view in shown]
    return round(min(1.0, max(0.0, 1 - max(cosines))), 4)


def fuse(lex: Scored, sem: Scored, intersect: bool) -> Scored:
    """One ranking of both: the mean of the scores, each as a share of its list's best."""
    shares = [{block.id: score / hits[0][1] for block, score in hits} for hits in (lex, sem)]
    known = {block.id: block for block, _ in [*lex, *sem]}
    both = [name for name in known if all(name in share for share in shares)]
    names = both if intersect and both else list(known)
    scored = [(known[name], sum(share.get(name, 0.0) for share in shares) / 2) for name in names]
    return ranked(scored)


def cut_at_knee(hits: Scored) -> Scored:
    """Everything above the widest gap between neighbours, but never fewer than three."""
    if len(hits) <= KEEP:
        return hits
    gaps = [(hits[n - 1][1] - hits[n][1], -n) for n in range(KEEP, len(hits))]
    return hits[: -max(gaps)[1]]


def ranked(scored: Iterable[tuple[CorpusBlock, float]]) -> Scored:
    """Best first; equal scores by id, so that the order never depends on the machine."""
    rounded = [(block, round(score, 9)) for block, score in scored]
    return sorted(rounded, key=lambda pair: (-pair[1], pair[0].id))


def _best(where: Index, query: Iterable[tuple[str, float]], postings: Postings, k: int) -> Scored:
    sums: dict[int, float] = {}
    for term, weight in query:
        for position, score in postings.get(term, ()):
            sums[position] = sums.get(position, 0.0) + weight * score
    return ranked((where.blocks[position], score) for position, score in sums.items())[:k]


def _cosine(shapes: list[Counter[str]], idf: Mapping[str, float]) -> Postings:
    postings: Postings = {}
    for position, shape in enumerate(shapes):
        for gram, weight in _unit_length(shape, idf).items():
            postings.setdefault(gram, []).append((position, weight))
    return postings


@lru_cache(maxsize=4096)  # the same sentences are held against one question after another
def _vector(name: str, text: str) -> Mapping[str, float]:
    return _unit_length(_shape(text), index(name).gram_idf)


def _unit_length(shape: Counter[str], idf: Mapping[str, float]) -> dict[str, float]:
    weights = {gram: (1 + math.log(count)) * idf.get(gram, 0.0) for gram, count in shape.items()}
    length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {gram: weight / length for gram, weight in weights.items()}


def _idf(bags: list[Counter[str]]) -> dict[str, float]:
    holding = Counter(term for bag in bags for term in bag)
    return {term: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5)) for term, n in holding.items()}


def _shape(text: str) -> Counter[str]:
    return Counter(gram for term in key_terms(text) for gram in _grams(term))


def _grams(term: str) -> list[str]:
    padded = f"_{term}_"
    return [padded[start : start + 3] for start in range(len(padded) - 2)]
