"""Upkeep: places for items that have none, what became of places after an edit, and what no question touches."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from ..core.contracts import Anchor, Gold
from ..core.gates import Gate
from ..core.sources import GoldSource, load_gold
from ..documents import Document, Documents, Section, read_documents
from ..documents.places import Refreshed, find, place, places_of, refresh
from ..errors import UsageError
from ..reading.files import write_whole
from ..text import fold, visible

Docs = Documents | Mapping[str, str] | str | os.PathLike[str]


# --- anchor ---


class Anchored(msgspec.Struct):
    """Which items got a place, and why others got none, by qid."""

    placed: list[str] = []
    already: list[str] = []
    ambiguous: list[str] = []  # several passages have the expected text: a person must say which
    absent: list[str] = []  # the cited text does not have it, or nobody knows what the citation names
    anchors: dict[str, Anchor] = {}


def anchor(
    gold: GoldSource, docs: Docs, *, chunks: Mapping[str, str] | None = None, map: Iterable[str] = ()
) -> Anchored:
    """The place of each answerable item's evidence, where there is exactly one; never a guess."""
    documents, found = read_documents(docs), Anchored([], [], [], [], {})
    for qid, item in load_gold(gold, map=map).items.items():
        if not item.answerable:
            continue
        if item.anchor is not None:
            found.already.append(qid)
            continue
        placing = place(item, documents, chunks)
        if placing.anchor is not None:
            found.anchors[qid] = placing.anchor
            found.placed.append(qid)
        else:
            (found.ambiguous if placing.why == "ambiguous" else found.absent).append(qid)
    return found


def write_anchors(gold: str, anchors: Mapping[str, list[Anchor] | Anchor], out: str = "") -> None:
    """Put places into the items of a file; every other line stays as it is, byte for byte."""
    target = out or gold
    if not gold.endswith(".jsonl") or not target.endswith(".jsonl"):
        what, hint = "places are written to JSON lines only", "Use a .jsonl file."
        raise UsageError(what, where=visible(target), hint=hint, code="anchor-file")
    with open(gold, "rb") as stream:
        lines = stream.read().splitlines(keepends=True)
    write_whole(target, [_anchored(line, anchors) for line in lines])


def _anchored(line: bytes, anchors: Mapping[str, list[Anchor] | Anchor]) -> bytes:
    if not line.strip():
        return line
    row = msgspec.json.decode(line.removeprefix(b"\xef\xbb\xbf"))
    qid = next((str(row[name]) for name in ("qid", "q_id", "id") if row.get(name)), "")
    if qid not in anchors:
        return line
    given = anchors[qid]
    one = given[0] if isinstance(given, list) and len(given) == 1 else given
    return msgspec.json.encode(row | {"anchor": msgspec.to_builtins(one)}) + b"\n"


# --- refresh ---


def differences(item: Gold, now: list[Anchor]) -> list[str]:
    """What changed in the passages of an item, word by word."""
    return [_diff(before.text, after.text) for before, after in zip(places_of(item), now, strict=False)]


def _diff(before: str, after: str) -> str:
    one, other = re.findall(r"\s+|[^\s]+", before), re.findall(r"\s+|[^\s]+", after)
    parts = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append("".join(one[a:b]))
            continue
        parts += [f"[-{''.join(one[a:b])}-]"] if b > a else []
        parts += [f"{{+{''.join(other[c:d])}+}}"] if d > c else []
    return "".join(parts)


def drafts(items: Mapping[str, Gold], found: Refreshed) -> list[dict[str, Any]]:
    """Changed and gone items as candidates, so that a person decides about them anew."""
    made = []
    for qid in (*found.changed, *found.gone):
        row = msgspec.to_builtins(items[qid])
        why = "its passage was edited" if qid in found.changed else "its passage is no longer in the documents"
        made.append(row | {"answerable": None, "draft": {"proposal": "answerable", "kind": "stale", "hint": why}})
    return made


# --- coverage ---


class SectionCoverage(msgspec.Struct):
    doc: str
    section: str
    questions: list[str]
    changed: bool = False  # since the commit that was named, or new


class Coverage(msgspec.Struct):
    """Questions per section of the documents."""

    sections: list[SectionCoverage]
    unplaced: list[str]  # answerable questions of which nobody knows where their evidence is

    def share(self, new: bool = False) -> Fraction | None:
        """The share of sections that some question touches; of those that changed with `new`. None without any."""
        counted = [one for one in self.sections if one.changed or not new]
        return Fraction(sum(bool(one.questions) for one in counted), len(counted)) if counted else None

    def documents(self) -> dict[str, tuple[int, int, int]]:
        """Sections, those with a question, and questions of each document."""
        found: dict[str, tuple[int, int, int]] = {}
        for one in self.sections:
            sections, covered, questions = found.get(one.doc, (0, 0, 0))
            found[one.doc] = (sections + 1, covered + bool(one.questions), questions + len(one.questions))
        return found

    def bare(self, new: bool = False) -> list[SectionCoverage]:
        """The sections without a question."""
        return [one for one in self.sections if not one.questions and (one.changed or not new)]


def coverage(gold: GoldSource, docs: Docs, *, before: Docs | None = None, map: Iterable[str] = ()) -> Coverage:
    """Which sections the questions touch. `before` is the documents as they were: what is new since is then marked."""
    documents = read_documents(docs)
    asked: dict[tuple[str, int], list[str]] = {}
    unplaced = []
    for qid, item in load_gold(gold, map=map).items.items():
        places = places_of(item)
        if item.answerable and not places:
            unplaced.append(qid)
        for given in places:
            now = find(given, documents).anchor
            if now is not None and (section := documents.by_name[now.doc].section_at(now.start)):
                asked.setdefault((now.doc, section.start), []).append(qid)
    is_new = _news(None if before is None else read_documents(before))
    sections = [
        SectionCoverage(
            document.name, section.title, asked.get((document.name, section.start), []), is_new(document, section)
        )
        for document in sorted(documents, key=lambda one: one.name)
        for section in document.sections
        if document.text[section.body : section.end].strip()
    ]
    return Coverage(sections, unplaced)


def _news(before: Documents | None) -> Callable[[Document, Section], bool]:
    """Whether a section's text was nowhere in the documents as they were; a section that moved is not new."""
    if before is None:
        return lambda document, section: False
    known = {fold(one.text[section.body : section.end]) for one in before for section in one.sections}
    return lambda document, section: fold(document.text[section.body : section.end]) not in known


def coverage_gates(found: Coverage, gates: Iterable[str | Gate]) -> list[tuple[Gate, Fraction | None, bool]]:
    """Each gate with its share and whether it holds; without any section to count it does."""
    judged = []
    for given in gates:
        gate = given if isinstance(given, Gate) else Gate.parse(given)
        if gate.metric != "coverage" or gate.slice not in ("", "new") or gate.op not in (">=", "=") or gate.bound.sign:
            raise UsageError(
                f"{visible(str(gate), 60)!r} is no gate on coverage",
                hint='Write "coverage[new] >= 0.5" or "coverage >= 0.3".',
                code="coverage-gate",
            )
        share = found.share(new=gate.slice == "new")
        judged.append((gate, share, share is None or share >= gate.bound.number))
    return judged


__all__ = ["Anchored", "Coverage", "anchor", "coverage", "coverage_gates", "refresh", "write_anchors"]
