"""Build: candidates for a gold set from documents. Expected text, citation and place are known; people word and decide.

Sections are taken in an order that the seed fixes, one document after the other, two candidates a section at most. So
a few hundred candidates from a large folder cost little more than reading it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

import msgspec

from ..documents import KEY_VALUE, Document, Documents, Passage, Section, cells, encoded, read_documents
from ..documents.places import anchor_of
from ..errors import UsageError
from ..text import fold, visible
from .facts import NO_NOUN, Fact, facts_of, is_label, plain, wording

A_SECTION = 2  # candidates of one section at most
MOST_SPARE = 20_000  # sections whose weak facts are kept for when nothing better is left
UNANSWERABLE = 3  # one candidate in so many is proposed as unanswerable
_PREFERRED = ("answer", "cell", "date", "time", "amount", "definition", "value", "name")

_PAIR = re.compile(rf"^{KEY_VALUE.pattern}$", re.MULTILINE)

Draft = dict[str, Any]
Wording = Callable[[Draft], Mapping[str, Any]]


def build(
    docs: Documents | Mapping[str, str] | str | os.PathLike[str],
    *,
    count: int = 100,
    seed: int = 0,
    chunks: Mapping[str, str] | None = None,
    word: Wording | None = None,
) -> list[Draft]:
    """Candidates from documents. `chunks` has the texts of your system's chunks by id: these are then what is cited.

    `word` is asked for a better wording; what it returns counts only where `worded` accepts it.
    """
    if count < 1:
        raise UsageError("must be at least 1", where="count", hint="Write --count 100.", code="option-value")
    documents = read_documents(docs)
    unanswerable = list(_lacking(documents, random.Random(seed), count // UNANSWERABLE))
    made: list[Draft] = []
    alike = Alike()
    for document, passage, fact in _spread(documents, random.Random(seed), alike):
        if len(made) >= count - len(unanswerable):
            break
        made.append(_draft(documents, document, passage, fact, chunks or {}))
    if word is not None:
        made = [worded(draft, word, documents) for draft in made]
    return _mixed(made, unanswerable)


def _mixed(made: list[Draft], unanswerable: list[Draft]) -> list[Draft]:
    """The unanswerable ones spread evenly among the others: nobody reviews thirty of a kind in a row."""
    if not unanswerable:
        return made
    found, step = list(made), max(1, len(made) // len(unanswerable))
    for place, draft in enumerate(unanswerable):
        found.insert(min(len(found), (place + 1) * (step + 1) - 1), draft)
    return found


def _spread(documents: Documents, order: random.Random, alike: Alike) -> Iterator[tuple[Document, Passage, Fact]]:
    """Facts of one section after another: every document's first section, then every document's second, and so on.

    What says little, such as a name in passing, comes only when there is nothing better left.
    """
    queues = []
    for document in sorted(documents, key=lambda one: one.name):
        sections = list(document.sections)
        order.shuffle(sections)
        queues.append((document, sections))
    order.shuffle(queues)
    rounds = zip_longest(*([(one, section) for section in sections] for one, sections in queues))
    asked, taken, common = {""}, dict[tuple[str, int], int](), _Common(documents)
    spare: list[tuple[Document, Section, list[tuple[Passage, Fact]]]] = []

    def chosen(
        document: Document, section: Section, found: list[tuple[Passage, Fact]]
    ) -> Iterator[tuple[Passage, Fact]]:
        here = (document.name, section.start)
        for passage, fact in _chosen(found, order, A_SECTION - taken.get(here, 0)):
            value = document.text[fact.start : fact.end]
            if fold(fact.question) in asked - {""} or (fact.kind == "name" and common(value)):
                continue
            if alike.is_new(f"{document.text[passage.start : passage.end]} → {value}"):
                asked.add(fold(fact.question))
                taken[here] = taken.get(here, 0) + 1
                yield passage, fact

    for document, section in filter(None, chain.from_iterable(rounds)):
        found = list(facts_of(document, section))
        weak = [one for one in found if one[1].weak]
        if weak and len(spare) < MOST_SPARE:
            spare.append((document, section, weak))
        for one in chosen(document, section, [one for one in found if not one[1].weak]):
            yield document, *one
    for document, section, weak in spare:
        for one in chosen(document, section, weak):
            yield document, *one


class _Common:
    """Whether a name is all over the documents, so that to expect it says nothing. A part of a large folder tells."""

    def __init__(self, documents: Documents) -> None:
        self._texts, room = [], 2_000_000
        for document in documents:
            self._texts.append(document.text[:room])
            room -= len(self._texts[-1])
            if room <= 0:
                break

    def __call__(self, name: str) -> bool:
        seen = 0
        for text in self._texts:
            seen += text.count(name)
            if seen > 3:
                return True
        return False


def _chosen(found: list[tuple[Passage, Fact]], order: random.Random, most: int) -> list[tuple[Passage, Fact]]:
    """A few facts of a section, of different passages and rather of different kinds."""
    order.shuffle(found)
    found.sort(key=lambda one: _PREFERRED.index(one[1].kind))
    chosen: list[tuple[Passage, Fact]] = []
    for again in (False, True):
        for passage, fact in found:
            fresh = all(passage.start != other.start for other, _ in chosen)
            other_kind = all(fact.kind != taken.kind for _, taken in chosen)
            if len(chosen) < most and fresh and (again or other_kind):
                chosen.append((passage, fact))
    return chosen


def _draft(documents: Documents, document: Document, passage: Passage, fact: Fact, chunks: Mapping[str, str]) -> Draft:
    expected = document.text[fact.start : fact.end]
    anchor = anchor_of(documents, document, passage.start, passage.end, counted=False)
    text = document.text[passage.start : passage.end]
    named = [name for name, body in chunks.items() if text in body]
    cited = named or [document.chunk_at(passage.start, passage.end) or citation(document, passage)]
    name = hashlib.sha256(encoded(f"{document.name}\0{text}\0{expected}")).hexdigest()[:10]
    return {
        "qid": f"d-{name}",
        "question": fact.question,
        "answerable": None,
        "gold_claim_substr": [expected],
        "gold_citations": cited[:3],
        "anchor": msgspec.to_builtins(anchor),
        "provenance": "built",
        "draft": {"proposal": "answerable", "kind": fact.kind, "hint": fact.hint},
    }


def citation(document: Document, passage: Passage | None = None) -> str:
    """What a document is cited by: its name, with the page where it has pages."""
    if document.kind == "pages" and passage is not None and (page := document.section_at(passage.start)):
        return f"{document.name}#{page.title.replace(' ', '=')}"
    return document.name


def worded(draft: Draft, word: Wording, documents: Documents) -> Draft:
    """The candidate with the wording that a command gave, where nothing speaks against it; else as it was.

    The expected text must be words of the passage, the question must not have it, and no other passage may.
    """
    answer = word(draft)
    question, expected = answer.get("question"), answer.get("expected", draft["gold_claim_substr"][0])
    if not isinstance(question, str) or not isinstance(expected, str) or not question.strip() or not expected.strip():
        return draft
    anchor = draft["anchor"]
    passage = documents.by_name[anchor["doc"]].text[anchor["start"] : anchor["end"]]
    if expected not in passage or fold(expected) in fold(question):
        return draft
    if sum(document.text.count(expected) for document in documents) != 1:
        return draft
    changed = {"question": " ".join(question.split()), "gold_claim_substr": [expected]}
    return draft | changed | {"draft": draft["draft"] | {"worded": True}}


# --- what the documents lack ---


def _lacking(documents: Documents, order: random.Random, most: int) -> Iterator[Draft]:
    """A property that one thing has, asked of another of which the documents do not say it. Proposed, never decided."""
    groups: dict[str, list[Table]] = {}
    for table in chain(_tables(documents), _sheets(documents)):
        groups.setdefault(table[0], []).append(table)  # close to each other, or the question tests nothing
    pairs = [
        (name, entity, where)
        for tables in groups.values()
        for name, owners, where in _properties(tables)
        for entity in _entities(tables)
        if fold(entity) not in owners
    ]
    order.shuffle(pairs)
    texts = [(document, document.text.lower()) for document in documents]
    used: dict[str, int] = {}
    made = 0
    for name, entity, where in pairs[: most * 20]:
        if made >= most:
            return
        if used.get(name, 0) >= 2 or used.get(entity, 0) >= 2 or _said(texts, name, entity):
            continue
        made += 1
        used[name], used[entity] = used.get(name, 0) + 1, used.get(entity, 0) + 1
        digest = hashlib.sha256(encoded(f"{name}\0{entity}")).hexdigest()[:10]
        yield {
            "qid": f"u-{digest}",
            "question": wording(name, entity),
            "answerable": None,
            "provenance": "built",
            "draft": {
                "proposal": "unanswerable",
                "kind": "lacking",
                "hint": f"{name} is said of others ({where}), and nothing says it of {entity}",
            },
        }


Table = tuple[str, str, list[str], list[list[str]]]  # its chapter, its section, its columns, its rows


def _tables(documents: Documents) -> Iterator[Table]:
    for document in documents:
        if "|" not in document.text:
            continue
        chapter = ""
        for section in document.sections:
            chapter = section.title if section.level < 2 else chapter
            groups: dict[str, list[list[str]]] = {}
            for passage in document.passages(section) if "|" in document.text[section.body : section.end] else ():
                if passage.kind == "row" and passage.head:
                    row = [plain(text) for text, _ in cells(document.text[passage.start : passage.end])]
                    groups.setdefault(passage.head, []).append(row)
            for head, rows in groups.items():
                columns = [plain(text) for text, _ in cells(head)]
                yield f"{document.name}, {chapter}", section.title, columns, rows


def _sheets(documents: Documents) -> Iterator[Table]:
    """Sections beside each other with lines such as `Price: $5`, as one table: a row each, blank where it has none."""
    for document in documents:
        chapters: dict[str, dict[str, dict[str, str]]] = {}
        chapter = ""
        for section in document.sections:
            chapter = section.title if section.level < 2 else chapter
            pairs = _PAIR.findall(document.text, section.body, section.end)
            said = {plain(name): value for name, value in pairs if not is_label(name)}
            if said and section.title:
                chapters.setdefault(chapter, {})[plain(section.title)] = said
        for name, things in chapters.items():
            often = Counter(key for said in things.values() for key in said)
            columns = [key for key, times in often.items() if times > 1]  # a line that one has alone is no property
            rows = [[thing, *(said.get(key, "") for key in columns)] for thing, said in things.items()]
            if len(columns) > 1:  # else these are notes, and the sections no things of one kind
                yield f"{document.name}, {name}, line by line", name, ["", *columns], rows


def _properties(tables: Sequence[Table]) -> Iterator[tuple[str, set[str], str]]:
    """Columns, with the things that have them."""
    for _, where, columns, rows in tables:
        for place, name in enumerate(columns[1:], 1):
            blank = {
                fold(row[0])
                for row in rows
                if place < len(row) and fold(row[place]) in ("", "-", "–", "—", "n/a", "none")
            }
            owners = {fold(row[0]) for row in rows if row} - (blank if len(blank) < len(rows) else set())
            if 3 <= len(name) <= 30 and name[0].isalpha() and not NO_NOUN.search(name):
                yield name, owners, where


def _entities(tables: Sequence[Table]) -> list[str]:
    names = {row[0] for _, _, _, rows in tables for row in rows if row and _is_name(row[0])}
    return sorted(names)


def _is_name(text: str) -> bool:
    return 3 <= len(text) <= 30 and text[0].isalpha() and len(text.split()) <= 3


def _said(texts: Sequence[tuple[Document, str]], name: str, entity: str) -> bool:
    """Whether any section has both names."""
    wanted, property_name = entity.lower(), name.lower()
    for document, text in texts:
        place = text.find(wanted)
        while place >= 0:
            section = document.section_at(place)
            if section is not None and property_name in text[section.start : section.end]:
                return True
            place = text.find(wanted, section.end if section else place + 1)
    return False


# --- a command of the user's that words the questions; what it gives is checked like anything from outside ---

SECONDS = 60  # for one candidate
MOST_REPLY = 1 << 20  # characters of a reply


def command_wording(command: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Asks a command: one JSON object on its standard input, {"question", "expected"} or a plain question back.

    A candidate that it fails on, or takes too long for, keeps the wording that it had.
    """
    words = shlex.split(command)
    if not words:
        raise UsageError("is empty", where="--word", hint="Name a command, such as ./word.sh.", code="word-command")

    def ask(draft: Mapping[str, Any]) -> Mapping[str, Any]:
        anchor, given = draft["anchor"], draft["draft"]
        sent = {
            "passage": anchor["text"],
            "expected": draft["gold_claim_substr"][0],
            "document": anchor["doc"],
            "section": anchor.get("section", ""),
            "hint": given["hint"],
            "question": draft["question"],
        }
        try:
            done = subprocess.run(
                words, input=json.dumps(sent), capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except OSError as error:
            raise UsageError(
                f"can't be started: {error.strerror or error}",
                where=f"--word {visible(words[0])}",
                hint="Check its spelling.",
                code="word-command",
            ) from None
        except (subprocess.TimeoutExpired, UnicodeDecodeError):
            return {}
        reply = done.stdout[:MOST_REPLY].strip()
        if done.returncode or not reply:
            return {}
        try:
            value = json.loads(reply)
        except (ValueError, RecursionError):
            value = reply
        return value if isinstance(value, dict) else {"question": value}

    return ask


# --- near-duplicates ---

NEAR = 88  # similarity in per cent from which two texts count as one
_BANDS = 6  # of a text's words, by which texts find each other
_MOST = 24  # texts that are compared with one


class Alike:
    """Texts that were seen. Those that share some of their longest words are compared letter by letter."""

    def __init__(self, numbers: bool = False) -> None:
        self._numbers = numbers  # whether texts with different numbers are different
        self._texts: list[str] = []
        self._having: dict[str, list[int]] = {}
        self._masked: dict[str, int] = {}  # texts without their numbers: a form that is filled in is the same again

    def same(self, text: str) -> int | None:
        """The number of the first seen text that is nearly this one."""
        from rapidfuzz import fuzz

        text = fold(text)
        if not self._numbers and (known := self._masked.get(_mask(text))) is not None:
            return known
        shared = Counter(number for word in _keys(text) for number in self._having.get(word, ())[-4 * _MOST :])
        for number, _ in shared.most_common(_MOST):
            if fuzz.ratio(text, self._texts[number], score_cutoff=NEAR) and not (
                self._numbers and _digits(text) != _digits(self._texts[number])
            ):
                return number
        return None

    def add(self, text: str) -> int:
        text = fold(text)
        number = len(self._texts)
        self._texts.append(text)
        self._masked.setdefault(_mask(text), number)
        for word in _keys(text):
            self._having.setdefault(word, []).append(number)
        return number

    def is_new(self, text: str) -> bool:
        """Whether nothing like it was seen; then it is seen from now on."""
        if self.same(text) is not None:
            return False
        self.add(text)
        return True


def _mask(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def _digits(text: str) -> list[str]:
    return re.findall(r"\d+", text)


def _keys(text: str) -> list[str]:
    """The longest words, and the first two: texts that differ in little share some of them."""
    words = text.split()
    return list(dict.fromkeys([*sorted(set(words), key=lambda word: (-len(word), word))[:_BANDS], " ".join(words[:2])]))
