"""Sections: which section a block stands in, and how far two sections are apart in the title tree."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

from ...core.sources import Input
from ...errors import DataError
from ...reading.jsonl import Problems, Reader

Section = tuple[tuple[str, int], ...]  # one pair a level: what stands before the number, and the number (-1 for none)

_DOTTED = re.compile(r"(?P<section>(?:[A-Z]\.)?\d+(?:\.\d+)*)\.(?:(?P<type>[a-z])\.)?[Bb]k\d+[a-z]?", re.ASCII)
_KEYED = re.compile(r"(?P<doc>[^|]*)\|(?:[^|]*\|)*?s=(?P<section>[^|]+)(?:\|[^|]*)*")
_PAGED = re.compile(r"(?P<section>p\d+)#\d+", re.ASCII)
_LEVEL = re.compile(r"(.*?)(\d*)", re.ASCII | re.DOTALL)
_TYPES = {"p": "prose", "c": "code", "t": "table", "f": "figure"}


@lru_cache(maxsize=1 << 16)
def section_of_id(block_id: str) -> str | None:
    """`S.4.2.p.Bk011a` → `S.4.2`, `doc|s=4.2|b=7` → `4.2`, `A.3.1.bk012` → `A.3.1`, `p12#2` → `p12`; else unknown."""
    for grammar in (_DOTTED, _PAGED, _KEYED):
        if match := grammar.fullmatch(block_id):
            return match["section"]
    return None


def type_of_id(block_id: str) -> str | None:
    """The block type that the id's letter names: p prose, c code, t table, f figure."""
    match = _DOTTED.fullmatch(block_id)
    return _TYPES.get(match["type"] or "") if match else None


def document_of_id(block_id: str) -> str | None:
    """The document that an id of the form `doc|…|s=4.2` names."""
    match = _KEYED.fullmatch(block_id)
    return match["doc"] or None if match else None


@lru_cache(maxsize=1 << 16)
def parse_section(name: str) -> Section:
    """The levels of a section's name, so that 1.10 comes after 1.2; a leading `S.` says nothing."""
    levels = name.strip().removeprefix("S.").split(".")
    return tuple(_level(level.strip()) for level in levels)


def _level(text: str) -> tuple[str, int]:
    match = _LEVEL.fullmatch(text)
    assert match is not None  # the pattern accepts every text
    return match[1], int(match[2]) if match[2] and len(match[2]) < 19 else -1


def distance(one: Section, other: Section) -> int:
    """depth(a) + depth(b) − 2 · depth(common prefix): 0 the same, 1 parent and child, 2 siblings."""
    common = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        common += 1
    return len(one) + len(other) - 2 * common


def inside(section: Section, anchor: Section) -> bool:
    """Whether a section is the anchor or lies below it."""
    return section[: len(anchor)] == anchor


def read_sections(source: Mapping[str, str] | str | os.PathLike[str]) -> tuple[Mapping[str, str], Input]:
    """Sections by block id, from a mapping or from JSON lines with `id` and `section_id` (or `section`)."""
    if isinstance(source, Mapping):
        return source, Input(path="<sections>", records=len(source))
    problems, sections = Problems(), {}
    reader = Reader(source, dict, problems)
    for line, row in reader:
        name, section = row.get("id"), row.get("section_id", row.get("section"))
        if not isinstance(name, str) or not isinstance(section, str):
            raise DataError(
                "a line of --sections needs an id and a section_id, both strings",
                where=f"{reader.path}:{line}",
                hint='Write {"id": "b7", "section_id": "4.2"}.',
                code="sections-row",
            )
        sections[name] = section
    problems.raise_any()
    return sections, Input(path=reader.path, digest=reader.digest, records=reader.records)


def section_of(block_id: str, section_id: str | None, known: Mapping[str, str]) -> Section | None:
    """What the block says of itself wins, then the table of --sections, then the grammar of ids; else unknown."""
    name = section_id or known.get(block_id) or section_of_id(block_id)
    return parse_section(name) if name and name.strip() else None
