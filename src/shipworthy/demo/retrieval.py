"""Retrieval: how the demo reads text, its corpus cut into blocks, and the search for them."""

from __future__ import annotations

import hashlib
import math
import re
import sqlite3
import threading
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby

from ..errors import EnvironmentFailure
from ..language.words import stem

# --- words: normalised, stemmed, and with synonyms folded into one concept ---

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
_THOUSANDS = re.compile(r"(?<=\d),\s?(?=\d{3}(?!\d))")
_CLOCK = re.compile(r"(?<=\b\d\d):\s?(?=\d\d\b)")
_TOKEN = re.compile(r"[^\W_]+")
_PHRASES = {"at most": "maximum", "up to": "maximum", "upper bound": "maximum", "at least": "minimum"}
_PHRASE = re.compile(rf"\b(?:{'|'.join(_PHRASES)})\b")
_GO = re.compile(r"\bGo\b")  # the language, not the verb
_REQUESTS = re.compile(
    r",?\s*\b(?:with citations|with sources|in one sentence|in short|at the latest|briefly|please)\b"
)

_WORDS = tomllib.loads((files(__package__) / "words.toml").read_text("utf-8"))
STOP_WORDS = frozenset(_WORDS["asking"].split())


def normalise(text: str) -> str:
    """The text without what jitter changes: case, dashes, digit grouping, spacing, request clauses."""
    text = unicodedata.normalize("NFKC", _GO.sub("golang", text)).casefold().translate(_DASHES)
    text = _CLOCK.sub(":", _THOUSANDS.sub("", text))
    text = " ".join(_REQUESTS.sub(" ", text).split())
    return _PHRASE.sub(lambda phrase: _PHRASES[phrase[0]], text)


def tokens(text: str) -> list[str]:
    """Every word of the text as its concept, in order."""
    return [concept(word) for word in _TOKEN.findall(normalise(text))]


def key_terms(question: str) -> list[str]:
    """What the question is about: its concepts without the words of asking, each once, in order."""
    words = [word for word in _TOKEN.findall(normalise(question)) if word not in STOP_WORDS]
    return list(dict.fromkeys(concept(word) for word in words))


def leading_terms(phrase: str) -> set[str]:
    """The concepts that a phrase begins with, up to its first word of asking."""
    words = _TOKEN.findall(normalise(phrase))
    end = next((n for n, word in enumerate(words) if word in STOP_WORDS), len(words))
    return {concept(word) for word in words[:end]}


@lru_cache(maxsize=8192)
def concept(word: str) -> str:
    stemmed = stem(word)
    return CONCEPTS.get(stemmed, stemmed)


CONCEPTS = {
    stem(word): stem(line.split()[0]) for line in _WORDS["synonyms"].strip().splitlines() for word in line.split()
}


# --- the corpus ---
# It is one document, the files of `corpus/` end to end; every offset counts bytes of that text.
# Three ways to cut it, so that a change of chunking can be tried:
#     live             one block a paragraph, table, code fence or figure
#     shadow           neighbouring paragraphs joined, tables cut in two, fences stripped: other ids, other ranges
#     shadow-degraded  as shadow, but tables lose their caption, header and row labels

INDEXES = ("live", "shadow", "shadow-degraded")
LETTERS = {"prose": "p", "code": "c", "table": "t", "figure": "f"}
LOCKED = "Locked rule: "
_HEADING = re.compile(r"(#{1,2}) (S(?:\.\d+)+) (.+)")


@dataclass(frozen=True, slots=True)
class CorpusBlock:
    """A retrievable piece of the corpus; `text` is what is indexed and shown, `start:end` its bytes."""

    id: str
    section_id: str
    type: str
    start: int
    end: int
    text: str
    title: str

    @property
    def offsets(self) -> list[int]:
        return [self.start, self.end]


@cache
def document() -> bytes:
    """The whole corpus as bytes: what the offsets point into."""
    folder = files(__package__) / "corpus"
    parts = sorted((part for part in folder.iterdir() if part.name.endswith(".md")), key=lambda part: part.name)
    return b"\n".join(part.read_bytes().replace(b"\r\n", b"\n") for part in parts)


@cache
def blocks(index: str = "live") -> tuple[CorpusBlock, ...]:
    """The blocks of one index, in document order."""
    live = tuple(_live(document()))
    if index == "live":
        return live
    return tuple(_shadow(live, degraded=index == "shadow-degraded"))


@cache
def locked_rules() -> dict[str, tuple[str, ...]]:
    """Section id to the locked rules that stand in it."""
    rules: dict[str, list[str]] = {}
    for block in blocks("live"):
        if block.text.startswith(LOCKED):
            rules.setdefault(block.section_id, []).append(block.text.removeprefix(LOCKED))
    return {section: tuple(texts) for section, texts in rules.items()}


def _live(text: bytes) -> Iterator[CorpusBlock]:
    section = title = chapter = ""
    number = 0
    for start, end in _pieces(text):
        piece = text[start:end].decode()
        heading = _HEADING.fullmatch(piece)
        if heading and len(heading[1]) == 1:
            chapter = heading[3]
        elif heading:
            section, title, number = heading[2], f"{chapter}: {heading[3]}", 0
        else:
            number += 1
            kind = _type_of(piece)
            block_id = f"{section}.{LETTERS[kind]}.Bk{number:03d}"
            yield CorpusBlock(block_id, section, kind, start, end, piece, title)


def _pieces(text: bytes) -> Iterator[tuple[int, int]]:
    """Byte ranges between blank lines; a fence is one piece, and so is a table with its caption."""
    start: int | None = None
    end = position = 0
    fenced = False
    for line in text.splitlines(keepends=True):
        blank, fence = not line.strip(), line.startswith(b"```")
        follows = start is not None and text[start : start + 6] == b"Table:" and b"\n" not in text[start:end]
        if blank and not fenced and not follows and start is not None:
            yield start, end
            start = None
        if not blank or fenced:
            start = position if start is None else start
            end = position + len(line.rstrip())
        fenced ^= fence
        position += len(line)
    if start is not None:
        yield start, end


def _type_of(piece: str) -> str:
    starts = {"```": "code", "Table:": "table", "|": "table", "Figure:": "figure"}
    return next((kind for start, kind in starts.items() if piece.startswith(start)), "prose")


def _shadow(live: tuple[CorpusBlock, ...], degraded: bool) -> Iterator[CorpusBlock]:
    number, section = 100, ""
    for (section_id, kind), group in groupby(live, key=lambda block: (block.section_id, block.type)):
        members = list(group)
        number, section = (number if section_id == section else 100) + 1, section_id
        block_id = f"{section}.{LETTERS[kind]}.Bk{number}"
        if kind == "prose":
            text = "\n".join(block.text for block in members)
            yield replace(members[0], id=block_id, end=members[-1].end, text=text)
        elif kind == "table":
            yield from _halves(members[0], block_id, degraded)
        else:
            yield _unfenced(members[0], block_id)


def _unfenced(block: CorpusBlock, block_id: str) -> CorpusBlock:
    """Code without its fences in the range; the text keeps the first, which names the language."""
    if block.type != "code":
        return replace(block, id=block_id)
    before, after = block.text.index("\n") + 1, len(block.text) - block.text.rindex("\n")
    start, end = block.start + before, block.end - after
    return replace(block, id=block_id, start=start, end=end, text=block.text[:-after])


def _halves(block: CorpusBlock, block_id: str, degraded: bool) -> Iterator[CorpusBlock]:
    """A table as two row groups; each repeats the caption and header in its text, not in its range."""
    lines = block.text.split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("|---")) + 1
    head, rows = lines[:first], lines[first:]
    middle = (len(rows) + 1) // 2
    start = block.start + len("\n".join(head).encode()) + 1
    for part, group in (("a", rows[:middle]), ("b", rows[middle:])):
        end = start + len("\n".join(group).encode())
        kept = ["|" + row.split("|", 2)[2] for row in group] if degraded else head + group
        yield replace(block, id=block_id + part, start=start, end=end, text="\n".join(kept))
        start = end + 1


# --- SQLite's full-text engine (BM25), a character n-gram cosine, their intersection, a cut at the knee ---

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
