"""Sentences: one splitter for prose, bullets, headings and rows."""

from __future__ import annotations

import re
from typing import NamedTuple

from .tables import word_set

_LINE = re.compile(r"[^\n\r\u2028\u2029]+")
_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?=\s)|[。！？]+")
_WORD_BEFORE = re.compile(r"[\w.]+\Z")
_OWN_LINE = re.compile(r"\s*(?:[-*+•>|#]|\d{1,3}[.)]\s|\(?[a-zA-Z][.)]\s)")
_LIST_NUMBER = re.compile(r"\s*(?:[-*+•]\s*)?(?:\d{1,3}|[a-zA-Z])\Z")
LONGEST_WORD = 24  # how far back the word before a full stop may begin


class Span(NamedTuple):
    """A sentence and where it stands."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[Span]:
    """The sentences of a text, in order; a bullet, a heading and a row of a table are sentences of their own."""
    spans = (span for start, end in _paragraphs(text) for span in _cut(text, start, end))
    return [span for span in spans if span.text]


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Lines, joined where one breaks in the middle of a sentence: the next goes on in lower case."""
    joined: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        start, end = line.span()
        if joined and _goes_on(text, joined[-1], line):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _goes_on(text: str, before: tuple[int, int], line: re.Match[str]) -> bool:
    first = line[0][:1]
    gap = text[before[1] : line.start()]
    if not first.islower() or gap.count("\n") > 1 or _OWN_LINE.match(line[0]):
        return False
    tail = text[max(before[0], before[1] - 3) : before[1]].rstrip()
    return bool(tail) and tail[-1] not in ".!?:;…" and not text.startswith(("#", "|"), before[0])


def _cut(text: str, start: int, end: int) -> list[Span]:
    spans, begin = [], start
    for stop in _END.finditer(text, start, end):
        if stop[0][0] == "." and len(stop[0]) == 1 and _abbreviated(text, begin, stop.start()):
            continue
        spans.append(_span(text, begin, stop.end()))
        begin = stop.end()
    spans.append(_span(text, begin, end))
    return spans


def _abbreviated(text: str, begin: int, dot: int) -> bool:
    """Whether the full stop belongs to the word before it: an abbreviation, an initial or the number of a list."""
    before = text[max(begin, dot - LONGEST_WORD) : dot]
    word = _WORD_BEFORE.search(before)
    if word is None:
        return False
    if dot - begin <= LONGEST_WORD and _LIST_NUMBER.match(before):
        return True
    initial = len(word[0]) == 1 and word[0].isupper() and word[0] != "I"
    return initial or word[0].casefold() in word_set("sentences", "abbreviations")


def _span(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    lead = len(part) - len(part.lstrip())
    part = part.strip()
    return Span(part, start + lead, start + lead + len(part))
