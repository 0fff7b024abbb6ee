"""Shelved: a gold set on disk in buckets (`shelving.py` puts it there). It looks like the one in memory, read in the
order of its file."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Protocol

import msgspec

from ..reading.jsonl import Problem, Problems
from ..reading.limits import MAX_SHOWN
from .cases import Kept, record_of
from .contracts import Gold
from .goldset import Ready, wrong
from .spill import Store

Found = tuple[int, Gold]  # a gold item and its line
Shelved = tuple[Kept, str]  # as stored on disk, with the digest of the item as it was read


class Tape(Protocol):
    """Items in the order of their file."""

    count: int

    def read(self) -> Iterator[Shelved]: ...


class Buckets(Protocol):
    """Items in buckets."""

    buckets: int

    def read(self, bucket: int) -> Iterator[Shelved]: ...


class ShelvedItems(Mapping[str, Gold]):
    """Gold items by qid. One bucket at a time is in memory, so that access in bucket order reads each bucket once."""

    def __init__(self, store: Store, tape: Tape, spill: Buckets) -> None:
        self._store, self._tape, self._spill = store, tape, spill
        self.dropped: set[int] = set()  # lines that are bad, or replaced by a later one
        self._in_hand: tuple[int, dict[str, Found]] = -1, {}
        self._count = tape.count

    def check(self, last_wins: bool, path: str, problems: Problems) -> str:
        """Find problems such as duplicate qids, as if all items had been read at once.

        Gives the digest of those that are left.
        """
        total, first = problems.total, [*problems.first]
        digests = _Digests(self._store)
        self._count = 0
        for bucket in range(self._spill.buckets):
            items, listed = self._checked(bucket, last_wins, path)
            digests.add(bucket, items)
            self._count += len(items)
            total += len(listed)
            first = heapq.nsmallest(MAX_SHOWN, [*first, *listed], key=_line_of)
        problems.total, problems.first = total, first
        return digests.of_all()

    def _checked(self, bucket: int, last_wins: bool, path: str) -> tuple[dict[str, str], list[Problem]]:
        """The digests of a bucket's items by qid, and what is wrong with the others."""
        items: dict[str, tuple[int, str]] = {}
        listed: list[Problem] = []
        for kept, digest in self._spill.read(bucket):
            line, gold = kept[0], record_of(kept)
            before = items[gold.qid][0] if gold.qid in items else None
            if what := wrong(gold, before, last_wins):
                listed.append(Problem(path, line, *what))
                self.dropped.add(line)
                continue
            if before is not None:
                self.dropped.add(before)
            items[gold.qid] = line, digest
        return {qid: digest for qid, (_, digest) in items.items()}, listed

    def bucket(self, number: int) -> dict[str, Found]:
        """The items of a bucket with their lines, in the order of the file."""
        if self._in_hand[0] != number:
            self._in_hand = -1, {}  # free its memory before the next bucket is read
            self._in_hand = number, {found[1].qid: found for found in self._found(self._spill.read(number))}
        return self._in_hand[1]

    def made_ready(self, ready: Ready) -> ShelvedReady:
        return ShelvedReady(self, ready)

    def found(self) -> Iterator[Found]:
        """All items with their lines, in the order of the file."""
        return self._found(self._tape.read())

    def _found(self, shelved: Iterable[Shelved]) -> Iterator[Found]:
        found = ((kept[0], record_of(kept)) for kept, _ in shelved)
        return (pair for pair in found if pair[0] not in self.dropped) if self.dropped else found

    def bucket_of(self, qid: str) -> int:
        return self._store.bucket_of(qid)

    def line(self, qid: str) -> int:
        return self.bucket(self.bucket_of(qid))[qid][0]

    def __getitem__(self, qid: str) -> Gold:
        return self.bucket(self.bucket_of(qid))[qid][1]

    def __iter__(self) -> Iterator[str]:
        return (gold.qid for _, gold in self.found())

    def __len__(self) -> int:
        return self._count

    def items(self) -> Any:
        return ((gold.qid, gold) for _, gold in self.found())

    def values(self) -> Any:
        return (gold for _, gold in self.found())


class _Digests:
    """The digest of a set from the digests of its items, which are put in the order of their qids on disk."""

    def __init__(self, store: Store) -> None:
        self._spill = store.file(store.buckets)
        self._spelled = True  # no qid has a lone surrogate, which has no UTF-8

    def add(self, bucket: int, digests: Mapping[str, str]) -> None:
        for qid in sorted(digests):
            self._spelled = self._spelled and _has_bytes(qid)
            self._spill.add(bucket, (qid, digests[qid]))

    def of_all(self) -> str:
        self._spill.close()
        body = hashlib.sha256(b"{")
        for number, (qid, digest) in enumerate(self._spill.in_order(itemgetter(0))):
            body.update((b"," if number else b"") + _key(qid, self._spelled) + b':"' + digest.encode() + b'"')
        body.update(b"}")
        return body.hexdigest()


def _line_of(problem: Problem) -> int:
    return problem.line


def _has_bytes(qid: str) -> bool:
    try:
        qid.encode()
    except UnicodeEncodeError:
        return False
    return True


def _key(qid: str, spelled: bool) -> bytes:
    if spelled:
        return msgspec.json.encode(qid)
    import json

    return json.dumps(qid, ensure_ascii=False).encode("utf-8", "backslashreplace")


class ShelvedLines(Mapping[str, int]):
    """The line of each gold item."""

    def __init__(self, items: ShelvedItems) -> None:
        self._items = items

    def __getitem__(self, qid: str) -> int:
        return self._items.line(qid)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class ShelvedReady(Mapping[str, Any]):
    """Gold items made ready, each when its bucket is asked for. An item's line stands for its number, which it has
    to order by."""

    def __init__(self, items: ShelvedItems, ready: Ready, only: Collection[str] | None = None) -> None:
        self._items, self._ready, self._only = items, ready, only
        self._in_hand: tuple[int, dict[str, object]] = -1, {}

    def only(self, names: Collection[str]) -> ShelvedReady:
        return ShelvedReady(self._items, self._ready, names)

    def bucket(self, number: int) -> dict[str, object]:
        if self._in_hand[0] != number:
            self._in_hand = -1, {}
            found = self._items.bucket(number)
            ready, only = self._ready, self._only
            chosen = found if only is None else {qid: pair for qid, pair in found.items() if qid in only}
            self._in_hand = number, {qid: ready(item, line, line) for qid, (line, item) in chosen.items()}
        return self._in_hand[1]

    def _made(self, found: Found) -> object:
        return self._ready(found[1], found[0], found[0])

    def _has(self, qid: str) -> bool:
        return self._only is None or qid in self._only

    def items(self) -> Any:
        return ((pair[1].qid, self._made(pair)) for pair in self._items.found() if self._has(pair[1].qid))

    def values(self) -> Any:
        return (made for _, made in self.items())

    def golds(self) -> Iterator[Gold]:
        """The items as they are."""
        return (gold for gold in self._items.values() if self._has(gold.qid))

    def line(self, qid: str) -> int:
        return self._items.line(qid)

    def __getitem__(self, qid: str) -> object:
        return self.bucket(self._items.bucket_of(qid))[qid]

    def __iter__(self) -> Iterator[str]:
        return (qid for qid in self._items if self._has(qid))

    def __len__(self) -> int:
        return len(self._items) if self._only is None else len(self._only)
