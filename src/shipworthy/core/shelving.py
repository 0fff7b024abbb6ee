"""Shelving: gold items go to disk as they are read, by this process or part by part by several.

Where their qids come in order, as most sets have them, a bucket is a run of them: nothing can be repeated, and what is
made bucket by bucket is in order too. Else they are divided by a hash of the qid.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import chain
from typing import Any

import msgspec

from ..reading.cutting import LineRanges, parts_of
from ..reading.jsonl import Problems
from ..reading.lock import item_digest
from ..reading.parts import Part
from .cases import record_of
from .goldset import Watch, placed_in, shows, tell_again
from .inputs import Batch, Batches, Input
from .shelved import Buckets, Shelved, ShelvedItems, ShelvedLines
from .spill import Store


def shelve(
    store: Store, batches: Iterable[Batch], read: Input, problems: Problems, *, last_wins: bool, watch: Watch | None
) -> tuple[ShelvedItems, ShelvedLines]:
    """Items and their lines, with the same checks as in memory."""
    written, digest = Written(store, watch), OrderedDigest()
    for batch in batches:
        digest.add(written.take(batch))
    written.close()
    tape = Tape([written])
    if written.plain and digest.spelled:
        read.content = digest.of_all()
        items = ShelvedItems(store, tape, tape.in_runs(store))
    else:
        items = ShelvedItems(store, tape, tape.divided(store))
        read.content = items.check(last_wins, read.path, problems)
        if watch is not None and items.dropped:
            tell_again(watch, ((gold, line) for line, gold in items.found()))
    return items, ShelvedLines(items)


def shelve_in_parts(
    store: Store, path: str, batches: Batches, read: Input, watch: Watch | None
) -> tuple[ShelvedItems, ShelvedLines] | None:
    """The same in several processes; None if that is impossible, or if items are out of order, duplicate or blank."""
    parts = parts_of(path, store.part)
    if store.over is None or not isinstance(parts, LineRanges) or os.path.getsize(path) <= store.part:
        return None
    digest, found, last = OrderedDigest(), list[ShelvedPart](), ""
    for part in store.over(shelve_part, (store, batches, watch), parts):
        found.append(part)
        digest.add(part.digests)
        part.digests = b""  # they take as much room as the items
        in_order = part.written.count == 0 or last < part.written.first
        last = part.written.last or last
        if not (part.written.plain and digest.spelled and in_order):
            for one in found:
                one.written.remove()
            return None
    for part in found:
        read += part.read
        if watch is not None:
            watch += part.written.watch
    read.digest, read.content = parts.digest, digest.of_all()
    tape = Tape([part.written for part in found])
    items = ShelvedItems(store, tape, tape.in_runs(store))
    return items, ShelvedLines(items)


class ShelvedPart(msgspec.Struct):
    """The result of reading one part of a gold file."""

    written: Written
    digests: bytes | None
    read: Input


def shelve_part(store: Store, batches: Batches, watch: Watch | None, part: Part) -> ShelvedPart:
    read, own = Input(), copy(watch)
    if own is not None:
        own.forget()
    written, digests = Written(store, own), list[bytes]()
    spelled: bytes | None = b""
    for batch in batches(part, read, None):
        spelled = written.take(batch)
        if spelled is None or not written.plain:
            break
        digests.append(spelled)
    written.close()
    return ShelvedPart(written, None if spelled is None else b",".join(filter(None, digests)), read)


class Written:
    """Items on disk in file order, the first qid of each piece, and what was noticed."""

    def __init__(self, store: Store, watch: Watch | None) -> None:
        self.spill, self.watch = store.file(1), watch
        self.first = self.last = ""
        self.count = 0
        self.begins: list[str] = []
        self.plain = True  # no item is out of order, duplicate or blank

    def take(self, batch: Batch) -> bytes | None:
        """Write some items. Returns their digests as JSON members; None if a qid has no UTF-8."""
        digests: dict[str, str] = {}
        for kept, gold in placed_in(batch):
            qid, own = gold.qid, item_digest(gold)
            self.plain = self.plain and self.last < qid and shows(gold)
            digests[qid] = own
            self._add(qid, (kept, own))
            if self.watch is not None:
                self.watch.meet(gold, kept[0])
        try:
            return msgspec.json.encode(digests)[1:-1] if self.plain else b""
        except UnicodeEncodeError:  # a lone surrogate has no UTF-8
            return None

    def _add(self, qid: str, shelved: Shelved) -> None:
        if self.spill.is_empty(0):
            self.begins.append(qid)
        self.spill.add(0, shelved)
        self.last = qid
        self.first = self.first or qid
        self.count += 1

    def close(self) -> None:
        self.spill.close()

    def remove(self) -> None:
        self.spill.remove()


class Tape:
    """All items in the order of their file, in one file or in several."""

    def __init__(self, written: list[Written]) -> None:
        self._written = written
        self.count = sum(one.count for one in written)

    def read(self) -> Iterator[Shelved]:
        return chain.from_iterable(one.spill.read(0) for one in self._written)

    def in_runs(self, store: Store) -> Buckets:
        """Buckets that are ranges of items; the store learns the first qid of each."""
        pieces = sum(len(one.begins) for one in self._written)
        per_bucket = max(1, -(-pieces // store.buckets))
        held = [one for one in self._written if one.count] or self._written
        store.begin_with([name for one in held for name in one.begins[::per_bucket]])
        return Runs([one.spill.in_runs(per_bucket) for one in held])

    def divided(self, store: Store) -> Buckets:
        """Copy the items into buckets by hash."""
        spill = store.file(store.buckets)
        for shelved in self.read():
            gold: Any = record_of(shelved[0])
            spill.add(store.bucket_of(gold.qid), shelved)
        spill.close()
        return spill


class Runs:
    """The buckets of several files, one after the other."""

    def __init__(self, files: Iterable[Buckets]) -> None:
        self._places = [(file, bucket) for file in files for bucket in range(file.buckets)]
        self.buckets = len(self._places)

    def read(self, bucket: int) -> Iterator[Shelved]:
        file, place = self._places[bucket]
        return file.read(place)


class OrderedDigest:
    """sha256 of the digests of items that arrive sorted by qid, so that none has to be kept."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(b"{")
        self._comma = b""
        self.spelled = True  # no qid has a lone surrogate, which has no UTF-8

    def add(self, digests: bytes | None) -> None:
        """Add the digests of some items, as JSON members."""
        if digests is None:
            self.spelled = False
        elif digests:
            self._hash.update(self._comma + digests)
            self._comma = b","

    def of_all(self) -> str:
        self._hash.update(b"}")
        return self._hash.hexdigest()
