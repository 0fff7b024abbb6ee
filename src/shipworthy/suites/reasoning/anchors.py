"""Anchors: citations, paths, quotes, tags and numbers of an answer, each resolved against the evidence or not."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, permutations

import msgspec

from .fixture import Note
from .words import Token, fold, is_within, norm, number, stem, straight, tokens, vocabulary

_BRACKET = re.compile(r"\[([^\[\]\n]{1,200})\](?!\()")
_WORD = re.compile(r"[\w./:-]{3,300}")
_PATH = re.compile(r"[\w./-]+\.([A-Za-z]{1,5})(?::(\d+(?:-\d+)?))?")
_PATH_SUFFIXES = vocabulary(
    """md txt json jsonl yaml yml go py toml csv tsv log html js ts rs java sql pdf cfg ini sh xml ipynb rst c h cpp
    rb php kt swift proto tf env conf docx xlsx pptx eml"""
)
_URL = re.compile(r"https?://[^\s<>()\[\]\"']+")
_QUOTE = re.compile(r"\"([^\"\n]{2,400})\"|“([^”\n]{2,400})”|«([^»\n]{2,400})»")
_TO_SAY = re.compile(
    r"\b(?:i'd|i would|we should|could|should|please|let's)\b[^.!?\n]{0,40}\b(?:ask\w*|answer|reply|tell|write|say"
    r"|post|send|add|put|call|label)\b[^.!?\n]{0,30}$",
    re.I,
)
_TAG = re.compile(
    r"\[\s*(?:confidence[:\s]*)?([01]\.\d{1,4})\s*\]|\bconfidence(?:\s+(?:of|is|score))?[:\s]+([01]\.\d{1,4})\b", re.I
)
_SHAPE = re.compile(r"^([A-Za-z]+(?:[-_:#][A-Za-z]+)*[-_:#]?)(\d+)$")
_ORDINAL = re.compile(r"^[ \t>]*\(?\d{1,3}[.)](?=\s)|(?<=\s)\(?\d{1,2}\)(?=\s)", re.MULTILINE)
_CITE_WORDS = re.compile(r"^(?:see|source|sources|cf|ref|refs|note|notes|from|per|in|and|memory|fact|evidence)$", re.I)
_JOINTS = re.compile(r"[/._-]")
_PLAIN_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?")
_CLOCK = re.compile(r"(?<!\d)[0-2]\d:[0-5]\d(?!\d)")
_LENGTH = re.compile(r"(?<![\d.])(\d{1,3}) (hour|minute)s?\b")
_CODE = re.compile(r"([A-Za-z]{1,4}-?)\d{1,4}")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LINE = re.compile(r"\blines? $", re.IGNORECASE)
_NO_PLURALS = vocabulary("is was has does as this its us")
SMALL = 12
MEASURES = frozenset(map(stem, vocabulary("percent second minute hour day week month year ms gb mb usd eur gbp times")))
LONG_QUOTE = 3  # words; a shorter quote may be a word used with reservation


class Citation(msgspec.Struct, frozen=True):
    """A reference in the answer; `items` are the evidence items that it names, none if it was made up."""

    text: str
    start: int
    end: int
    items: tuple[str, ...]
    bracketed: bool


class Anchors(msgspec.Struct, frozen=True):
    citations: tuple[Citation, ...]
    unresolved: tuple[str, ...]  # citations, paths, quotes and tags that nothing bears out
    supported: int
    unsupported: tuple[str, ...]  # numbers, dates, identifiers, short quotes found nowhere
    invented: tuple[str, ...]  # the numbers and dates among them, small counts aside

    @property
    def total(self) -> int:
        return self.supported + len(self.unsupported)


class NoteIndex:
    """The evidence of a case, indexed for looking things up."""

    def __init__(self, evidence: Sequence[Note], prompt: str) -> None:
        self.evidence = tuple(evidence)
        self.by_id = {item.id.casefold(): item.id for item in self.evidence}
        self.texts = tuple(fold(item.text) for item in self.evidence)
        self.prompt = fold(prompt)
        self.sources = {item.source.casefold().partition(":")[0] for item in self.evidence if item.source}
        names = " ".join(f"{item.source} {item.id} {_shown(item.confidence)}" for item in self.evidence)
        everything = " ".join([*(item.text for item in self.evidence), names, _JOINTS.sub(" ", names), prompt])
        self.known = {token.norm for token in tokens(everything)}
        self.known |= {word[:4] for word in self.known if _ISO_DATE.fullmatch(word)}
        self.lines = {str(item.line) for item in self.evidence}
        spoken = {item.id: f"{item.text} {_JOINTS.sub(' ', item.source)}" for item in self.evidence}
        self.words = {name: {token.norm for token in tokens(text)} for name, text in spoken.items()}
        self.labels = {item.id: {(kind, name) for kind, name, _ in labels(tokens(item.text))} for item in self.evidence}
        self.asked = {token.norm for token in tokens(prompt)}
        self.values = [_values(text) for text in [*(item.text for item in self.evidence), prompt]]
        told = " ".join([*(item.text for item in self.evidence), prompt])
        lengths = [int(match[1]) * (60 if match[2] == "hour" else 1) for match in _LENGTH.finditer(told)]
        starts = [_minutes(time) for time in _CLOCK.findall(told)]
        self.ends = {(start + way * length) % 1440 for start in starts for length in lengths for way in (1, -1)}
        self.shapes = {m.group(1).casefold() for item in self.evidence if (m := _SHAPE.match(item.id))}

    def naming(self, reference: str) -> tuple[str, ...]:
        """Ids of the items that an id, a path or a path:line names."""
        wanted = reference.casefold().strip()
        if wanted in self.by_id:
            return (self.by_id[wanted],)
        return tuple(item.id for item in self.evidence if _is_source(item, wanted))

    def is_source(self, word: str) -> bool:
        """A source by its full name, if that is not a plain word: `leaflet-2018`, `CODEOWNERS:8`."""
        return not word.isalpha() and word.casefold().partition(":")[0] in self.sources

    def has_text(self, text: str) -> bool:
        wanted = fold(text)
        return wanted in self.prompt or any(wanted in body for body in self.texts)

    def speaks_of(self, word: str) -> bool:
        """Whether the evidence or the question has the word: a number as a number, anything else as text."""
        return number(word) in self.known if word.isdigit() else self.has_text(word)

    def is_id_shaped(self, word: str) -> bool:
        match = _SHAPE.match(word)
        return bool(match) and match.group(1).casefold() in self.shapes  # type: ignore[union-attr]


def labels(words: Sequence[Token]) -> Iterator[tuple[str, str, Token]]:
    """Names of things of one kind: `hive 6`, `line B`, `E3`, as (kind, name, word)."""
    for one, other in pairwise(words):
        is_name = other.raw.isdecimal() or (len(other.raw) == 1 and other.raw.isupper() and other.raw != "I")
        if is_name and one.raw.isalpha() and one.is_content and other.start == one.end + 1:
            following = next((word for word in words if word.start >= other.end), None)
            if following is None or not (following.norm in MEASURES or following.norm == "of" or _is_plural(following)):
                yield one.norm, other.norm, other
    for word in words:
        if match := _CODE.fullmatch(word.raw):
            yield match[1].casefold(), word.norm, word


def _is_plural(word: Token) -> bool:
    """`hold 340 packs`: what stands before things in the plural counts them."""
    return word.raw.isalpha() and word.raw.islower() and word.raw.endswith("s") and word.raw not in _NO_PLURALS


def _minutes(time: str) -> int:
    hours, _, minutes = time.partition(":")
    return int(hours) * 60 + int(minutes)


def _values(text: str) -> set[Fraction]:
    norms = (token.norm.removesuffix("%") for token in tokens(text))
    return {Fraction(norm) for norm in norms if _PLAIN_NUMBER.fullmatch(norm)}


def _shown(confidence: Fraction | float | None) -> str:
    return "" if confidence is None else f"{float(confidence):g}"


def find(answer: str, store: NoteIndex) -> Anchors:
    """Every anchor of the answer, resolved."""
    text = straight(answer)
    citations = find_citations(text, store)
    unresolved = [c.text for c in citations if not c.items]
    unresolved += _unresolved_tags(text, citations, store)
    supported = sum(bool(c.items) for c in citations)
    unsupported: list[str] = []
    invented: list[str] = []
    for quote in _quotes(text):
        if _quoted_from(quote, store):
            supported += 1
        elif len(quote.split()) >= LONG_QUOTE:
            unresolved.append(f'"{quote}"')
        else:
            unsupported.append(quote)
    for token in plain_anchors(text, citations):
        if _is_known(token, store) or (_LINE.search(text, 0, token.start) and token.norm in store.lines):
            supported += 1
        elif not _is_derived(token, store):
            unsupported.append(token.raw)
            if token.raw[:1].isdigit() and not is_small_count(text, token):
                invented.append(token.raw)
    missing = tuple(unsupported) + tuple(unresolved)
    return Anchors(tuple(citations), tuple(unresolved), supported, missing, tuple(invented))


def find_citations(text: str, store: NoteIndex) -> list[Citation]:
    """Ids in brackets or bare, paths, paths with lines and addresses, in the order of the text."""
    found = _urls(text, store) + _paths(text, store)
    taken = sorted((c.start, c.end) for c in found)
    for match in _BRACKET.finditer(text):
        if not _TAG.fullmatch(match.group()):
            found += _bracketed(match, store, taken)
    taken = sorted((c.start, c.end) for c in found)
    for token in tokens(text):
        if _inside(token.start, taken):
            continue
        word = token.raw.casefold()
        if word in store.by_id and (store.is_id_shaped(token.raw) or not word.isalnum() or _is_mixed(word)):
            found.append(
                Citation(token.raw, token.start, token.end, (store.by_id[word],), in_brackets(text, token.start))
            )
        elif store.is_id_shaped(token.raw) and token.norm not in store.known:
            found.append(Citation(token.raw, token.start, token.end, (), False))
    return sorted(found, key=lambda c: (c.start, c.end))


def _bracketed(match: re.Match[str], store: NoteIndex, taken: list[tuple[int, int]]) -> list[Citation]:
    found = []
    for word in re.finditer(r"[^\s,;|]+", match.group(1)):
        start = match.start(1) + word.start()
        raw = word.group().strip(".:'\"()")
        if not raw or _inside(start, taken) or _CITE_WORDS.match(raw):
            continue
        items = store.naming(raw)
        alone = len(re.findall(r"[^\s,;|]+", match.group(1))) == 1
        looks_cited = store.is_id_shaped(raw) or (
            (alone or "," in match.group(1) or ";" in match.group(1)) and _cites_like(raw) and not store.speaks_of(raw)
        )
        if items or looks_cited:
            found.append(Citation(raw, start, start + len(raw), items, True))
    return found


def _cites_like(raw: str) -> bool:
    """`[n12]`, `[doc#3]`, `[7]` read as citations; `[high]`, `[x]` and `[2025-03-11]` do not."""
    return any(c.isdigit() for c in raw) and not re.fullmatch(
        r"\d{4}-\d\d(?:-\d\d)?|\d+(?:\.\d+)+%?|\d+%|\d{1,2}:\d\d", raw
    )


def _paths(text: str, store: NoteIndex) -> list[Citation]:
    found = []
    addresses = [match.span() for match in _URL.finditer(text)]
    for word in _WORD.finditer(text):
        raw = word.group().rstrip(".:-/")
        if not (_is_path(raw) or store.is_source(raw)) or _inside(word.start(), addresses):
            continue
        items = store.naming(raw)
        if store.has_text(raw) and not (items and ":" in raw):
            continue  # a file that the evidence speaks of, not a place where something is said
        found.append(Citation(raw, word.start(), word.start() + len(raw), items, in_brackets(text, word.start())))
    return found


def _is_path(raw: str) -> bool:
    match = _PATH.fullmatch(raw)
    return bool(match) and match.group(1).lower() in _PATH_SUFFIXES  # type: ignore[union-attr]


def _urls(text: str, store: NoteIndex) -> list[Citation]:
    found = []
    for match in _URL.finditer(text):
        raw = match.group().rstrip(".,;:!?")
        items = tuple(item.id for item in store.evidence if raw.casefold() == item.source.casefold())
        if items or not store.has_text(raw):
            found.append(Citation(raw, match.start(), match.start() + len(raw), items, True))
    return found


def _is_source(item: Note, wanted: str) -> bool:
    source, _, own_line = (
        item.source.casefold().partition(":") if "://" not in item.source else (item.source.casefold(), "", "")
    )
    path, _, line = wanted.partition(":") if "://" not in wanted else (wanted, "", "")
    if not source or (path != source and not source.endswith("/" + path)):
        return False
    if not line:
        return True
    first = item.line if item.line is not None else (int(own_line) if own_line.isdigit() else None)
    if first is None:
        return False
    low, _, high = line.partition("-")
    last = first + item.text.count("\n")
    return low.isdigit() and int(low) <= last and int(high if high.isdigit() else low) >= first


def _unresolved_tags(text: str, citations: list[Citation], store: NoteIndex) -> list[str]:
    """Confidence tags that no cited item of the line (or, where none is cited, no item at all) carries."""
    wrong = []
    for match in _TAG.finditer(text):
        value = Fraction(match.group(1) or match.group(2))
        low = text.rfind("\n", 0, match.start()) + 1
        high = text.find("\n", match.end())
        near = {i for c in citations if low <= c.start and (high < 0 or c.end <= high) for i in c.items}
        carried = [item.confidence for item in store.evidence if not near or item.id in near]
        if value not in carried:
            wrong.append(match.group())
    return wrong


def _quotes(text: str) -> list[str]:
    """What is quoted, without the words that someone shall say: `ask him for a short "rerun went through"`."""
    found = (
        match for match in _QUOTE.finditer(text) if not _TO_SAY.search(text, max(0, match.start() - 120), match.start())
    )
    return [next(part for part in match.groups() if part).strip() for match in found]


def _quoted_from(quote: str, store: NoteIndex) -> bool:
    if is_within(quote, store.prompt):  # the question may be quoted a bit freely, the evidence not
        return True
    parts = [part.strip(" .,;:!?") for part in re.split(r"\.\.\.|…|\[[^\]]*\]", quote)]
    return all(store.has_text(part) for part in parts if part)


def plain_anchors(text: str, citations: list[Citation]) -> list[Token]:
    """Numbers, versions, dates and identifiers that are neither citations nor list numbers."""
    taken = [(c.start, c.end) for c in citations]
    taken += [match.span() for match in _ORDINAL.finditer(text)] + [match.span() for match in _TAG.finditer(text)]
    taken.sort()
    return [t for t in tokens(text) if t.is_anchor and not _inside(t.start, taken)]


def _is_known(token: Token, store: NoteIndex) -> bool:
    if token.norm in store.known or token.norm.rstrip("%") in store.known or token.norm + "%" in store.known:
        return True
    parts = token.raw.split("-")
    if len(parts) > 1 and all(part.isalpha() or norm(part) in store.known for part in parts):  # `a 6-shard index`
        return True
    digits = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", token.raw)
    if digits and f"p{digits[1]}" in store.known:  # `the 95th percentile` is p95
        return True
    return not token.norm[:1].isdigit() and store.has_text(token.raw)


def _is_mixed(word: str) -> bool:
    """`7f3a`: letters and digits, which no plain word has."""
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


def is_small(count: str) -> bool:
    return count.isdecimal() and int(count) <= SMALL


def is_small_count(text: str, token: Token) -> bool:
    """`item 4`, `the 6 containers`: a small number without a unit is often the answer's own or repeated."""
    if not is_small(token.norm):
        return False
    following = tokens(text[token.end : token.end + 20])[:1]
    return not any(word.norm in MEASURES for word in following) and text[token.end : token.end + 1] != "%"


def _is_derived(token: Token, store: NoteIndex) -> bool:
    """A difference or a percentage of two numbers of the evidence: worked out, neither borne out nor invented."""
    joined = re.fullmatch(r"(\d+(?:\.\d+)?)-[a-z]+", token.raw)  # `a 23-dollar overrun`
    plain = joined[1] if joined else token.norm.removesuffix("%")
    if _CLOCK.fullmatch(plain):
        return _minutes(plain) in store.ends
    if not _PLAIN_NUMBER.fullmatch(plain):
        return False
    value = Fraction(plain)
    if any(value == one - other for one, other in permutations(set().union(*store.values), 2)):
        return True
    half = Fraction(1, 2 * 10 ** len(plain.partition(".")[2]))
    pairs = (pair for values in store.values for pair in permutations(values, 2))
    # 13 of 21 is 62%, 810 against 600 is 35% more
    shares = (Fraction(100) * part / other for one, other in pairs if other for part in (one, abs(one - other)))
    return token.norm.endswith("%") and any(abs(share - value) <= half for share in shares)


def in_brackets(text: str, position: int) -> bool:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line.count("(") > line.count(")") or line.count("[") > line.count("]")


def _inside(position: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a position lies in one of the spans, which stand in the order of the text and don't overlap."""
    index = bisect_right(spans, (position, sys.maxsize)) - 1
    return index >= 0 and position < spans[index][1]
