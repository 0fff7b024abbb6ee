"""Places: sections of blocks, the gold places that a block covers, what a citation is worth, and λ, which asks
whether the runs of a question arrive at the same place."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import msgspec

from ...core.contracts import Gold, Place
from ...core.inputs import Input
from ...errors import DataError
from ...reading.jsonl import Problems, Reader
from ...text import fold
from ..ranking.options import Choices

Section = tuple[tuple[str, int], ...]  # one pair a level: what stands before the number, and the number (-1 for none)
Offsets = tuple[int, int]

_DOTTED = re.compile(r"(?P<section>(?:[A-Z]\.)?\d+(?:\.\d+)*)\.(?:(?P<type>[a-z])\.)?[Bb]k\d+[a-z]?", re.ASCII)
_KEYED = re.compile(r"(?P<doc>[^|]*)\|(?:[^|]*\|)*?s=(?P<section>[^|]+)(?:\|[^|]*)*")
_PAGED = re.compile(r"(?P<section>p\d+)#\d+", re.ASCII)
_LEVEL = re.compile(r"(.*?)(\d*)", re.ASCII | re.DOTALL)
_SECTIONS_ROW = 'Write {"id": "b7", "section_id": "4.2"}.'
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
            what, hint = "a line of --sections needs an id and a section_id, both strings", _SECTIONS_ROW
            raise DataError(what, where=f"{reader.path}:{line}", hint=hint, code="sections-row")
        sections[name] = section
    problems.raise_any()
    return sections, Input(path=reader.path, digest=reader.digest, records=reader.records)


def section_of(block_id: str, section_id: str | None, known: Mapping[str, str]) -> Section | None:
    """What the block says of itself wins, then the table of --sections, then the grammar of ids; else unknown."""
    name = section_id or known.get(block_id) or section_of_id(block_id)
    return parse_section(name) if name and name.strip() else None


# --- which gold places a block covers ---


class GoldPlaces(msgspec.Struct):
    """A gold item made ready for comparing."""

    places: tuple[Place, ...]  # what can be found, each id or range once
    index: dict[str, int]  # by id
    anchor: Section | None
    negatives: frozenset[str]
    types: tuple[str, ...]  # types of the relevant blocks, for segmentation
    placeless: int = 0  # relevant blocks that the chosen way of matching can't see
    folded: tuple[str, ...] = ()
    answerable: bool = True  # an item that does not say otherwise is

    @property
    def citable(self) -> bool:
        """Whether there is anything that an answer could rightly cite."""
        return self.answerable and (bool(self.places) or self.anchor is not None)


def prepare(gold: Gold, choices: Choices, texts: Mapping[str, str]) -> GoldPlaces:
    """The places of `relevant`, or of `gold_citations` where a gold set made for answers gives only those."""
    given: Iterable[str | Place] = gold.relevant or gold.citations
    unique: dict[object, Place] = {}
    for place in given:
        block = Place(id=place) if isinstance(place, str) else place
        unique.setdefault(_SAME[choices.match](block), block)  # one id may have several ranges, or several passages
    places = [block for block in unique.values() if _can_be_seen(block, choices, texts)]
    anchor = parse_section(gold.anchor_section) if gold.anchor_section and gold.anchor_section.strip() else None
    named = (block.type or type_of_id(block.id) for block in unique.values())
    types = tuple(dict.fromkeys(name for name in named if name)) or ((gold.type,) if gold.type else ())
    folded = tuple(fold(text_of(block, texts) or "") for block in places) if choices.match == "text" else ()
    return GoldPlaces(
        tuple(places),
        {block.id: number for number, block in enumerate(places)},
        anchor,
        frozenset(gold.negatives),
        types,
        len(unique) - len(places),
        folded,
        gold.answerable is not False,
    )


def _can_be_seen(block: Place, choices: Choices, texts: Mapping[str, str]) -> bool:
    if choices.match == "offsets":
        return block.offsets is not None
    return choices.match != "text" or bool(fold(text_of(block, texts) or ""))


def text_of(block: Place, texts: Mapping[str, str]) -> str | None:
    return block.text if block.text is not None else texts.get(block.id)


def covered(target: GoldPlaces, block: Place, choices: Choices, texts: Mapping[str, str]) -> tuple[int, ...]:
    """Numbers of the gold places that a block covers; empty when it is not relevant."""
    return _WAYS[choices.match](target, block, choices, texts)


def _by_id(target: GoldPlaces, block: Place, choices: Choices, texts: Mapping[str, str]) -> tuple[int, ...]:
    number = target.index.get(block.id)
    return () if number is None else (number,)


def _by_offsets(target: GoldPlaces, block: Place, choices: Choices, texts: Mapping[str, str]) -> tuple[int, ...]:
    if block.offsets is None:
        return ()
    return tuple(
        number
        for number, gold in enumerate(target.places)
        if same_document(gold, block) and _overlaps(gold, block, choices.min_overlap)
    )


def same_document(one: Place, other: Place) -> bool:
    """Two blocks stand in different documents only where both say in which, and these differ."""
    first, second = (place.doc or document_of_id(place.id) for place in (one, other))
    return first is None or second is None or first == second


def _overlaps(gold: Place, block: Place, least: Fraction) -> bool:
    assert gold.offsets is not None and block.offsets is not None
    shared = min(gold.offsets[1], block.offsets[1]) - max(gold.offsets[0], block.offsets[0])
    return shared > 0 and any(shared >= least * (end - start) for start, end in (gold.offsets, block.offsets))


def _by_text(target: GoldPlaces, block: Place, choices: Choices, texts: Mapping[str, str]) -> tuple[int, ...]:
    text = fold(text_of(block, texts) or "")
    if not text:
        return ()
    return tuple(number for number, gold in enumerate(target.folded) if shares_text(gold, text, choices.min_overlap))


def shares_text(gold: str, block: str, least: Fraction) -> bool:
    """One contains the other, or the end of one is the beginning of the other for at least `least` of either.

    Two pieces cut from one document overlap in no other way.
    """
    if gold in block or block in gold:
        return True
    need = max(1, math.ceil(least * min(len(gold), len(block))))
    return _seam(gold, block, need) or _seam(block, gold, need)


def _seam(left: str, right: str, need: int) -> bool:
    """Whether some end of `left`, of `need` characters or more, is a beginning of `right` (Knuth, Morris, Pratt)."""
    if right[:need] not in left:  # nearly always, and far quicker
        return False
    borders, length = [0] * len(right), 0
    for place in range(1, len(right)):
        while length and right[place] != right[length]:
            length = borders[length - 1]
        length += right[place] == right[length]
        borders[place] = length
    length = 0
    for char in left:
        while length and (length == len(right) or char != right[length]):
            length = borders[length - 1]
        length += char == right[length]
    return length >= need


def in_anchor(target: GoldPlaces, block: Place, sections: Mapping[str, str]) -> bool | None:
    """Whether a block lies in the anchor section; None where the gold has none or the block's is unknown."""
    if target.anchor is None:
        return None
    section = section_of(block.id, block.section_id, sections)
    return None if section is None else inside(section, target.anchor)


_SAME: dict[str, Callable[[Place], object]] = {
    "ids": lambda block: block.id,
    "offsets": lambda block: (block.id, block.doc, block.offsets),
    "text": lambda block: (block.id, block.text),
}
_WAYS: dict[str, Callable[[GoldPlaces, Place, Choices, Mapping[str, str]], tuple[int, ...]]] = {
    "ids": _by_id,
    "offsets": _by_offsets,
    "text": _by_text,
}


# --- what a citation is worth ---


def covers_gold(
    target: GoldPlaces, cited: Sequence[Place], choices: Choices, sections: Mapping[str, str], texts: Mapping[str, str]
) -> bool:
    """Coverage: some citation is relevant, or lies in the anchor section."""
    return any(covered(target, place, choices, texts) or in_anchor(target, place, sections) for place in cited)


def accurate(target: GoldPlaces, cited: Sequence[Place], choices: Choices, sections: Mapping[str, str]) -> bool | None:
    """Citation accuracy: section and byte range of some citation fit a gold place.

    None without a gold range, and where only a byte range that the citation lacks could tell.
    """
    ranged = [place for place in target.places if place.offsets is not None]
    if not ranged:
        return None
    fits = {_fits(gold, place, target, choices, sections) for gold in ranged for place in cited}
    return True if True in fits else None if None in fits else False


def _fits(gold: Place, place: Place, target: GoldPlaces, choices: Choices, sections: Mapping[str, str]) -> bool | None:
    if gold.offsets is None or not same_document(gold, place) or not same_section(gold, place, target, sections):
        return False
    if place.offsets is None:
        return None
    return ranges_fit(gold.offsets, place.offsets, choices.window, choices.offset_match)


def same_section(gold: Place, place: Place, target: GoldPlaces, sections: Mapping[str, str]) -> bool:
    """The gold place's own section, or the anchor where it has none, equals the citation's."""
    wanted = section_of(gold.id, gold.section_id, sections) or target.anchor
    cited = section_of(place.id, place.section_id, sections)
    return wanted is not None and wanted == cited


def ranges_fit(gold: Offsets, cited: Offsets, window: int, how: str) -> bool:
    """A cited byte range against a gold one that is widened by `window` bytes on each side."""
    low, high = gold[0] - window, gold[1] + window
    if how == "overlap":
        return cited[0] < high and cited[1] > low
    if how == "contained":
        return low <= cited[0] and cited[1] <= high
    return abs(cited[0] - gold[0]) <= window and abs(cited[1] - gold[1]) <= window


def first_section(cited: Sequence[Place], sections: Mapping[str, str]) -> Section | None:
    return section_of(cited[0].id, cited[0].section_id, sections) if cited else None


def first_place(cited: Sequence[Place], sections: Mapping[str, str]) -> Section | str | None:
    """Where an answer's first citation stands: its section, or the block itself where nobody knows the section."""
    return (first_section(cited, sections) or cited[0].id) if cited else None


def proximity(target: GoldPlaces, cited: Sequence[Place], sections: Mapping[str, str]) -> int | None:
    """Steps in the title tree from the first cited section to the anchor; None where either is unknown."""
    section = first_section(cited, sections)
    return None if section is None or target.anchor is None else distance(section, target.anchor)


def drifted(target: GoldPlaces, cited: Sequence[Place], choices: Choices, sections: Mapping[str, str]) -> bool:
    """The right section is cited, with a byte range that fits nowhere: offsets drift or count in another unit."""
    if accurate(target, cited, choices, sections) is not False:
        return False
    return any(
        place.offsets is not None and same_section(gold, place, target, sections)
        for gold in target.places
        for place in cited
    )


# --- λ: did the runs of a question arrive at the same place? Read from the log, or derived from what they cite ---
# → convergent    ← failed, cited nothing, or refused what is answerable    <> split    × collapse

STATES = ("→", "←", "<>", "×")
WORDINGS = 3  # paraphrases that a group needs, unless the gold lists fewer


class StatedRun(NamedTuple):
    """What a state depends on."""

    seed: str
    paraphrase: str
    logged: str | None
    failed: bool
    refused: bool  # refused, or cited nothing
    arrived: bool  # cites something relevant or the anchor section
    section: Section | str | None  # of the first citation; the block itself where its section is unknown


def derive(runs: Sequence[StatedRun], answerable: bool) -> list[str]:
    """The state of every run, given all the runs of its question."""
    if not answerable:
        every_run_answers = all(not run.refused for run in runs if not run.failed)
        return ["←" if run.failed else "→" if run.refused else "×" if every_run_answers else "<>" for run in runs]
    some_arrived = any(run.arrived and not run.failed and not run.refused for run in runs)
    return [_state(run, some_arrived) for run in runs]


def _state(run: StatedRun, some_arrived: bool) -> str:
    if run.failed or run.refused:
        return "←"
    if run.arrived:
        return "→"
    return "<>" if some_arrived else "×"


def states(runs: Sequence[StatedRun], answerable: bool) -> list[tuple[str, bool]]:
    """Each run's state, and whether it was derived."""
    derived = derive(runs, answerable)
    return [(run.logged or state, run.logged is None) for run, state in zip(runs, derived, strict=True)]


def wordings_needed(paraphrases: int) -> int:
    return max(1, min(WORDINGS, paraphrases))


def converged(runs: Sequence[StatedRun], stated: Sequence[tuple[str, bool]], needed: int) -> dict[str, bool | None]:
    """Per seed, whether its runs converge; None where too few paraphrases were run to say."""
    groups: dict[str, list[tuple[StatedRun, str]]] = {}
    for run, (state, _) in zip(runs, stated, strict=True):
        groups.setdefault(run.seed, []).append((run, state))
    return {seed: _group(members, needed) for seed, members in groups.items()}


def _group(members: Sequence[tuple[StatedRun, str]], needed: int) -> bool | None:
    """A group that has split already can't converge; one that has not, but lacks paraphrases, is undecided."""
    if any(state != "→" for _, state in members) or len({run.section for run, _ in members}) > 1:
        return False
    return True if len({run.paraphrase for run, _ in members}) >= needed else None
