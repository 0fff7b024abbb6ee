"""Matching: which gold places a retrieved block covers, by its id, by its bytes, or by its text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import msgspec

from ...core.contracts import Gold, Place
from ...text import fold
from .options import Choices
from .sections import Section, document_of_id, inside, parse_section, section_of, type_of_id


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
