"""Gold sets: what is wrong with an item, and what suites ask of every item."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol, Self

import msgspec
from msgspec import UNSET

from ..errors import DataError
from .contracts import Gold, Place
from .inputs import Input


class Watch(Protocol):
    """Told of every item with its line, in any order; what two of them were told adds up."""

    def meet(self, item: Gold, line: int) -> object:
        """False where the item can't be judged: `require` then says why."""

    def __iadd__(self, other: Any) -> Any: ...
    def require(self, source: Input) -> None:
        """Raise what is wrong with the set as a whole."""

    def warnings(self) -> list[str]: ...


class GoldSet(msgspec.Struct):
    """The gold items by qid, in file order, and what was noticed while reading them."""

    items: dict[str, Gold]
    lines: Mapping[str, int]
    source: Input

    def placed(self) -> Iterator[tuple[Gold, int]]:
        """The items with their lines."""
        return ((item, self.lines[qid]) for qid, item in self.items.items())


def shows(gold: Gold) -> bool:
    """A quick look at whether all that the item expects can be seen: each text begins with a letter or a digit."""
    for texts in (gold.gold_claim_substr, gold.gold_citations, gold.constraints):
        for text in texts or ():
            if not isinstance(text, str) or not text[:1].isalnum():
                return False
    return True


def wrong(gold: Gold, before: int | None, last_wins: bool) -> tuple[str, str, str] | None:
    """What is wrong with a gold item, the hint and the code; `before` is the line of one with the same qid."""
    if before is not None and not last_wins:
        what = f"duplicate qid {gold.qid!r} (first on line {before})"
        return what, "Give each question its own qid.", "gold-repeated"
    if blank := _blank_field(gold):
        what = f"{blank} has a blank entry, which every answer would meet or none"
        return what, "Write it, or remove it.", "gold-blank"
    return None


def _blank_field(gold: Gold) -> str:
    """The field of a gold item that expects nothing visible: blanks, or characters that print as nothing."""
    for name in ("gold_claim_substr", "gold_citations", "constraints"):
        for entry in getattr(gold, name) or ():
            text = entry.id if isinstance(entry, Place) else entry
            if not text or not (text[0].isalnum() or any(map(str.isprintable, "".join(text.split())))):
                return name
    return ""


# --- what suites ask of every item ---


PLACEHOLDER = "replace this: the shortest text that every correct answer contains"


class Answerable:
    """Whether every item says whether it is answerable, found out while they go by."""

    def __init__(self) -> None:
        self._starter: tuple[int, str] | None = None  # the first whose expected text nobody has written yet
        self._some = False
        self._first: tuple[int, str] | None = None  # line and qid of the first that does not say

    def meet(self, item: Gold, line: int) -> object:
        if item.answerable is None:
            self._first = min(self._first or (line, item.qid), (line, item.qid))
        else:
            self._some = True
            if item.gold_claim_substr == [PLACEHOLDER]:
                self._starter = min(self._starter or (line, item.qid), (line, item.qid))
        return True

    def __iadd__(self, other: Self) -> Self:
        self._some |= other._some
        self._first = min(filter(None, (self._first, other._first)), default=None)
        self._starter = min(filter(None, (self._starter, other._starter)), default=None)
        return self

    def require(self, source: Input) -> None:
        """An item that does not say can't be judged, and nobody guesses."""
        if self._starter is not None:
            line, qid = self._starter
            raise DataError(
                f"the expected text of qid {qid!r} is still the placeholder that `init` wrote",
                where=f"{source.path}:{line}",
                hint="Write the shortest text that every correct answer contains.",
                code="gold-placeholder",
            )
        if self._first is None:
            return
        if not self._some and os.path.isfile(source.path):
            from ..reading.misfit import misfit

            error = misfit(source.path, "gold", "no question says whether it is answerable")
            if error is not None:
                raise error
        line, qid = self._first
        raise DataError(
            f"qid {qid!r} does not say whether it is answerable",
            where=f"{source.path}:{line}",
            hint='Add "answerable": true or false.',
            code="gold-answerable",
        )

    def warnings(self) -> list[str]:
        return []


def require_answerable(gold: GoldSet) -> None:
    """The same of a set that was read."""
    noticed = Answerable()
    for item, line in gold.placed():
        noticed.meet(item, line)
    noticed.require(gold.source)


class ExpectedTexts(Answerable):
    """Whether answerable items name expected texts, too: under another name they are no lack of them."""

    def __init__(self) -> None:
        super().__init__()
        self._expects = False  # some answerable item does
        self._lacks = False  # … and some does not

    def meet(self, item: Gold, line: int) -> object:
        if item.answerable:
            self._lacks |= item.gold_claim_substr is UNSET
            self._expects |= item.gold_claim_substr is not UNSET
        return super().meet(item, line)

    def __iadd__(self, other: Self) -> Self:
        super().__iadd__(other)
        self._expects |= other._expects
        self._lacks |= other._lacks
        return self

    def require(self, source: Input) -> None:
        super().require(source)
        if self._lacks:
            require_expected(source, none=not self._expects)


def require_expected(source: Input, none: bool) -> None:
    """Say how to read expected texts that the set has under another name. `none`: no answerable item has any.

    Called for sets in which some answerable items lack them.
    """
    from ..reading.misfit import renamed

    given: Collection[str] = ()
    if source.mapped is not None:
        from ..reading.mapping import FieldMap

        given = FieldMap.parse(source.mapped.pairs, "gold").sources
    if error := renamed(source.path, given, none):
        raise error
