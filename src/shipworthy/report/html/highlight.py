"""Highlight: where the gold substrings stand in a text, by the rule that the judge compares with."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...text import fold
from ..views import legible


class Piece(NamedTuple):
    """A stretch of text, found or not."""

    text: str
    found: bool


def pieces(text: str, wanted: Iterable[str], limit: int) -> list[Piece]:
    """The text in stretches, those that match a wanted substring marked; cut at `limit` characters, and said so."""
    shown, rest = text[:limit], len(text) - limit
    spans = _merged(span for want in wanted for span in _find(shown, fold(want)))
    found, place = [], 0
    for start, end in spans:
        found += [Piece(legible(shown[place:start]), False), Piece(legible(shown[start:end]), True)]
        place = end
    found.append(Piece(legible(shown[place:]), False))
    if rest > 0:
        found.append(Piece(f"… ({rest:,} more characters)", False))
    return [piece for piece in found if piece.text]


def _find(text: str, want: str) -> Iterator[tuple[int, int]]:
    if not want or want not in fold(text):  # most texts: looking is far quicker than finding out where
        return
    folded, places = _folded(text)
    start = folded.find(want)
    while start >= 0:
        end = start + len(want)
        yield places[start][0], places[end - 1][1]
        start = folded.find(want, end)


def _folded(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text as `fold` makes it, and for each of its characters the stretch of the original that it came from."""
    out: list[str] = []
    places: list[tuple[int, int]] = []
    for start, end in _clusters(text):
        part = unicodedata.normalize("NFC", text[start:end]).casefold()
        if part.isspace():
            if out and out[-1] == " ":
                continue
            part = " "
        out.extend(part)
        places.extend([(start, end)] * len(part))
    return "".join(out), places


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """A character with the combining marks that follow it: what NFC may join."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not unicodedata.combining(text[place]):
            yield start, place
            start = place


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
