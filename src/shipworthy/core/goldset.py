"""Gold sets: items by question, each kept as the line that it was read from until somebody asks for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol, Self, runtime_checkable

import msgspec
from msgspec import UNSET

from ..errors import DataError
from ..reading.jsonl import Problem, Problems
from ..reading.lock import item_digest, set_digest
from ..reading.quick import is_checked
from .cases import Kept, record_of
from .contracts import Gold, Place
from .inputs import Batch, Input

Ready = Callable[[Gold, int, int], Any]  # (item, its number in the file, its line) → the item made ready
Placed = tuple[Kept, Gold]  # an item as it is kept, and as a record


class Watch(Protocol):
    """Told of every item that is accepted, with its line, while the set is read; and to forget all, should some go."""

    def meet(self, item: Gold, line: int) -> None: ...
    def forget(self) -> None: ...
    def __iadd__(self, other: Any) -> Any:
        """Add what another was told of items that follow."""


class GoldSet(msgspec.Struct):
    """The gold items by qid, in file order, and what was noticed while reading them."""

    items: Mapping[str, Gold]
    lines: Mapping[str, int]
    source: Input

    def ready(self, ready: Ready) -> Mapping[str, Any]:
        """Each item made ready by `ready(item, its number, its line)`; on disk where there is a limit of memory."""
        if isinstance(self.items, OnDisk):
            return self.items.made_ready(ready)
        placed = enumerate(self.placed())
        return {item.qid: ready(item, number, line) for number, (item, line) in placed}

    def ready_when_asked(self, ready: Ready) -> Mapping[str, Any]:
        """The same, each made when it is asked for: for a suite that judges a question once."""
        return ReadyItems(self.items, ready) if isinstance(self.items, KeptItems) else self.ready(ready)

    def placed(self) -> Iterator[tuple[Gold, int]]:
        """The items with their lines."""
        if isinstance(self.items, OnDisk):
            return ((item, line) for line, item in self.items.found())
        return ((item, self.lines[qid]) for qid, item in self.items.items())


@runtime_checkable
class OnDisk(Protocol):
    """A set that is not in memory."""

    def found(self) -> Iterator[tuple[int, Gold]]: ...
    def made_ready(self, ready: Ready) -> Mapping[str, Any]: ...


class KeptItems(Mapping[str, Gold]):
    """Gold items in memory. A line takes a fifth of the room of its record, and judging asks for each item once."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}

    def lean(self, qid: str) -> tuple[Any, int]:
        """What looks like the item, made in the shortest way, and its line."""
        kept = self.kept[qid]
        return record_of(kept), kept[0]

    def __getitem__(self, qid: str) -> Gold:
        kept = self.kept[qid]
        return kept[1] if len(kept) == 2 else _DECODE(kept[1])

    def __contains__(self, qid: object) -> bool:
        return qid in self.kept

    def __iter__(self) -> Iterator[str]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)


_DECODE = msgspec.json.Decoder(Gold).decode  # of lines that were checked before


class KeptLines(Mapping[str, int]):
    """The line of each gold item."""

    def __init__(self, items: KeptItems) -> None:
        self._items = items

    def __getitem__(self, qid: str) -> int:
        return self._items.kept[qid][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class ReadyItems(Mapping[str, Any]):
    """Gold items, each made ready when it is asked for; its line stands for its number, as it does on disk."""

    def __init__(self, items: KeptItems, ready: Ready) -> None:
        self._items, self._ready = items, ready

    def __getitem__(self, qid: str) -> object:
        item, line = self._items.lean(qid)
        return self._ready(item, line, line)

    def __contains__(self, qid: object) -> bool:
        return qid in self._items.kept

    def __iter__(self) -> Iterator[str]:
        return iter(self._items.kept)

    def __len__(self) -> int:
        return len(self._items.kept)

    @property
    def names(self) -> Collection[str]:
        """The qids."""
        return self._items.kept

    def golds(self) -> Iterable[Gold]:
        """The items as they are."""
        return (self._items.lean(qid)[0] for qid in self._items.kept)


# --- reading ---


def keep(
    batches: Iterable[Batch], read: Input, problems: Problems, *, last_wins: bool, watch: Watch | None
) -> tuple[Mapping[str, Gold], Mapping[str, int]]:
    """Items and their lines by qid, in memory; what is wrong with one is a problem."""
    items, digests = KeptItems(), dict[str, str]()
    known, replaced = items.kept, False
    for batch in batches:
        for kept, gold in placed_in(batch):
            qid = gold.qid
            if qid in known or not shows(gold):
                if what := wrong(gold, known[qid][0] if qid in known else None, last_wins):
                    problems.add(Problem(read.path, kept[0], *what))
                    continue
                replaced |= known.pop(qid, None) is not None
            known[qid] = kept
            digests[qid] = item_digest(gold)
            if watch is not None:
                watch.meet(gold, kept[0])
    read.content = set_digest(digests)
    if replaced and watch is not None:
        tell_again(watch, ((items[qid], kept[0]) for qid, kept in known.items()))
    return items, KeptLines(items)


def tell_again(watch: Watch, placed: Iterable[tuple[Gold, int]]) -> None:
    """Some of what the watch was told of is no part of the set."""
    watch.forget()
    for item, line in placed:
        watch.meet(item, line)


def placed_in(batch: Batch) -> Iterable[Placed]:
    """Items with what is kept of them: their line where it was checked, else the record itself."""
    if is_checked(batch):
        return zip(batch.packed(), batch.records, strict=True)
    return ((numbered, numbered[1]) for numbered in batch)


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


class Answerable:
    """Whether every item says whether it is answerable, found out while they go by."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._some = False
        self._first: tuple[str, int] | None = None  # qid and line of one that does not say

    def meet(self, item: Gold, line: int) -> None:
        if item.answerable is None:
            self._first = self._first or (item.qid, line)
        else:
            self._some = True

    def __iadd__(self, other: Self) -> Self:
        self._some |= other._some
        self._first = self._first or other._first
        return self

    def require(self, gold: GoldSet) -> None:
        """An item that does not say can't be judged, and nobody guesses."""
        if self._first is None:
            return
        if not self._some and os.path.isfile(gold.source.path):
            from ..reading.misfit import misfit

            error = misfit(gold.source.path, "gold", "no question says whether it is answerable")
            if error is not None:
                raise error
        qid, line = self._first
        raise DataError(
            f"qid {qid!r} does not say whether it is answerable",
            where=f"{gold.source.path}:{line}",
            hint='Add "answerable": true or false.',
            code="gold-answerable",
        )


def require_answerable(gold: GoldSet) -> None:
    """The same of a set that was read."""
    noticed = Answerable()
    for item, line in gold.placed():
        noticed.meet(item, line)
    noticed.require(gold)


def require_expected(gold: GoldSet, none: bool | None = None) -> None:
    """Expected texts under another name are no lack of them: say how to read them. `none`: no answerable item has any.

    Called for sets in which some answerable items lack them.
    """
    from ..reading.misfit import renamed

    if none is None:
        asked = [item.gold_claim_substr for item, _ in gold.placed() if item.answerable]
        if UNSET not in asked:
            return
        none = all(texts is UNSET for texts in asked)
    given: Collection[str] = ()
    if gold.source.mapped is not None:
        from ..reading.mapping import FieldMap

        given = FieldMap.parse(gold.source.mapped.pairs, "gold").sources
    if error := renamed(gold.source.path, given, none):
        raise error
