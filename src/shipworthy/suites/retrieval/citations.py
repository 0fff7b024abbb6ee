"""Citations: does the answer cite what it should, at the right place, and how far off is it where it does not?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.contracts import Place
from .matching import GoldPlaces, covered, in_anchor, same_document
from .options import Choices
from .sections import Section, distance, section_of

Offsets = tuple[int, int]


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
