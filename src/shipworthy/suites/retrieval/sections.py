"""Sections: which section a block stands in, and how far two sections are apart in the title tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ...errors import DataError
from ...jsonl import read_objects

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
        if found := grammar.fullmatch(block_id):
            return found["section"]
    return None


def type_of_id(block_id: str) -> str | None:
    """The block type that the id's letter names: p prose, c code, t table, f figure."""
    found = _DOTTED.fullmatch(block_id)
    return _TYPES.get(found["type"] or "") if found else None


def document_of_id(block_id: str) -> str | None:
    """The document that an id of the form `doc|…|s=4.2` names."""
    found = _KEYED.fullmatch(block_id)
    return found["doc"] or None if found else None


@lru_cache(maxsize=1 << 16)
def parse_section(name: str) -> Section:
    """The levels of a section's name, so that 1.10 comes after 1.2; a leading `S.` says nothing."""
    levels = name.strip().removeprefix("S.").split(".")
    return tuple(_level(level.strip()) for level in levels)


def _level(text: str) -> tuple[str, int]:
    found = _LEVEL.fullmatch(text)
    assert found is not None  # the pattern accepts every text
    return found[1], int(found[2]) if found[2] and len(found[2]) < 19 else -1


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


def read_sections(path: str) -> dict[str, str]:
    """Sections by block id, from JSON lines with `id` and `section_id` (or `section`)."""
    found: dict[str, str] = {}
    for line, row in read_objects(path):
        name, section = row.get("id"), row.get("section_id", row.get("section"))
        if not isinstance(name, str) or not isinstance(section, str):
            raise DataError("a line of --sections needs an id and a section_id, both strings", where=f"{path}:{line}",
                            hint='Write {"id": "b7", "section_id": "4.2"}.', code="sections-row")  # fmt: skip
        found[name] = section
    return found


def section_of(block_id: str, section_id: str | None, known: Mapping[str, str]) -> Section | None:
    """What the block says of itself wins, then the table of --sections, then the grammar of ids; else unknown."""
    name = section_id or known.get(block_id) or section_of_id(block_id)
    return parse_section(name) if name and name.strip() else None
