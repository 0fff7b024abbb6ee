"""Gold locks: who signed off which questions, and what changed since."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Any

import msgspec

from ..errors import DataError, EnvironmentFailure, UsageError
from ..text import plural, visible
from .files import is_remote
from .jsonl import Problems
from .limits import MAX_LOCK
from .strict import Refused, as_record, strict_json

VERSION = 1  # 1: the first published lock format
MAX_LINKS = 40  # symbolic links that are followed, as many as the system follows
NAMED = 20  # how many changed items a sentence names

_ALIASES = ("q_id", "id")


class Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A gold set as it was signed off."""

    version: int
    release: str
    signed_off_by: str
    reason: str
    frozen_at: str
    count: int
    digest: str
    items: dict[str, str]  # qid → digest of the item


class Changes(msgspec.Struct, frozen=True):
    """What differs between two gold sets, by qid."""

    added: list[str] = []
    removed: list[str] = []
    changed: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def sentences(self) -> list[str]:
        """One sentence for each kind of change, with the items named."""
        kinds = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        return [
            f"{plural(len(qids), 'item')} {kind} since the gold set was frozen: {_listed(qids)}"
            for kind, qids in kinds
            if qids
        ]


def freeze(
    gold: str | os.PathLike[str],
    release: str,
    signed_off_by: str,
    reason: str = "",
    *,
    frozen_at: str | None = None,
    map: Iterable[str] = (),
) -> str:
    """Write `gold.lock` beside the gold file (`NAME.lock` beside `NAME.jsonl`) and return its path."""
    for name, value in (("--release", release), ("--signed-off-by", signed_off_by)):
        if not value.strip():
            raise UsageError(
                "is blank",
                where=name,
                hint="A lock says which release it is for and who answers for it.",
                code="lock-blank",
            )
    import json  # here, as below: scoring reads locks and starts sooner without them
    from datetime import UTC, datetime

    from .files import write_whole

    path = lock_path(gold)
    if os.path.islink(path):
        raise EnvironmentFailure(
            "is a symbolic link, and a lock is not written through one",
            where=visible(path),
            hint="Remove the link, or freeze the file beside the lock that it points to.",
            code="lock-link",
        )
    _refuse_special(path)
    digests = item_digests(gold, map)
    now = frozen_at or datetime.now(UTC).isoformat(timespec="seconds")
    lock = Lock(VERSION, release, signed_off_by, reason, now, len(digests), set_digest(digests), digests)
    text = json.dumps(msgspec.to_builtins(lock), ensure_ascii=False, indent=1, sort_keys=True)
    write_whole(path, text.encode("utf-8", "backslashreplace") + b"\n")  # a lone surrogate as its JSON escape
    return path


def verify(gold: str | os.PathLike[str], map: Iterable[str] = ()) -> Changes:
    """What changed since the gold set was frozen; an error where there is no lock."""
    locks = locks_of(gold)
    if not locks:
        raise UsageError(
            "there is no lock beside the gold set",
            where=visible(lock_path(gold)),
            hint="Write one: shipworthy gold freeze FILE --release R --signed-off-by NAME.",
            code="lock-absent",
        )
    digests = item_digests(gold, map)
    found = [changes(read_lock(path).items, digests) for path in locks]
    return next(filter(None, found), found[0])


def diff(old: str | os.PathLike[str], new: str | os.PathLike[str], map: Iterable[str] = ()) -> Changes:
    """What differs between two gold files; either may be a lock."""
    return changes(_digests_of(old, map), _digests_of(new, map))


def lock_problems(gold: object, map: Iterable[str] = ()) -> list[str]:
    """Sentences that make scoring NO VERDICT: a lock beside the gold set does not match it. Without a lock, none.

    `gold` is whatever the caller scores by; only a path can have a lock beside it.
    """
    locks = locks_of(gold) if isinstance(gold, (str, os.PathLike)) else []
    if not locks:
        return []
    assert isinstance(gold, (str, os.PathLike))
    digests = item_digests(gold, map)
    return list(dict.fromkeys(sentence for path in locks for sentence in _mismatch(read_lock(path), digests)))


def _mismatch(lock: Lock, digests: dict[str, str]) -> list[str]:
    found = changes(lock.items, digests)
    if not found:
        return []
    signed = f"{visible(lock.signed_off_by, 60)} for {visible(lock.release, 60)}"
    return [
        *found.sentences(),
        f"the gold set is not the one that was signed off by {signed}: sign the change off with "
        f"`shipworthy gold freeze`, or undo it",
    ]


def changes(old: dict[str, str], new: dict[str, str]) -> Changes:
    return Changes(
        sorted(new.keys() - old.keys()),
        sorted(old.keys() - new.keys()),
        sorted(qid for qid in old.keys() & new.keys() if old[qid] != new[qid]),
    )


def item_digests(gold: str | os.PathLike[str], map: Iterable[str] = ()) -> dict[str, str]:
    """sha256 of each item as an object: order of keys and lines and white space between them don't matter.

    Of a mapping only the qid counts: what was signed off is the item as it stands in the file.
    """
    from .mapping import FieldMap

    mapped = FieldMap.parse(map, "gold").sources.get("qid")
    found: dict[str, str] = {}
    for line, item in rows_of(gold):
        # As the items are read: under the mapped name first, then under their own. The mapping may be the traces'.
        names = [mapped.of(item, "text") if mapped else None, *(item.get(name) for name in ("qid", *_ALIASES))]
        qid = next((str(name) for name in names if name not in (None, "")), "")
        if not qid or qid in found:
            what = f"duplicate qid {qid!r}" if qid else "there is no qid"
            where = f"{visible(os.fspath(gold))}:{line}"
            raise DataError(what, where=where, hint="Give each question its own qid.", code="gold-repeated")
        meaning = {key: value for key, value in item.items() if key not in _ALIASES} | {"qid": qid}
        found[qid] = hashlib.sha256(_canonical(meaning)).hexdigest()
    return found


def rows_of(gold: str | os.PathLike[str]) -> Iterable[tuple[int, dict[str, object]]]:
    """The items of a gold file as they stand in it, with their lines."""
    from .formats import raw_rows  # scoring JSON lines starts sooner without it

    problems = Problems()
    yield from raw_rows(gold, problems)
    problems.raise_any()


def item_digest(item: object) -> str:
    """sha256 of what scoring reads of an item."""
    return hashlib.sha256(_encoded(item)).hexdigest()


_encode = msgspec.json.Encoder().encode  # once for all items of a large set


def _encoded(item: Any) -> bytes:
    """An item as scoring reads it: without the fields that are there to slice by.

    Its language is one of those: reports that were made before it was read otherwise stay comparable. Where it came
    from and where its evidence stands change no expectation either.
    """
    if item.fields or item.lang or item.reviewed_by or item.provenance or item.anchor is not None:
        item = msgspec.structs.replace(item, fields={}, lang="", reviewed_by="", provenance="", anchor=None)
    try:
        return _encode(item)
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8; the slower canonical form spells it out
        return _canonical(msgspec.to_builtins(item))


def set_digest(items: dict[str, str]) -> str:
    """sha256 of the set of items, whatever their order."""
    try:
        text = msgspec.json.encode(items, order="sorted")
    except UnicodeEncodeError:
        text = _canonical(items)
    return hashlib.sha256(text).hexdigest()


def lock_path(gold: str | os.PathLike[str]) -> str:
    """`gold.lock` for `gold.jsonl`, `gold.jsonl.gz` and `gold.jsonl.zst`."""
    name = os.fspath(gold).removesuffix(".gz").removesuffix(".zst")
    for ending in (".jsonl", ".json", ".csv", ".tsv"):
        name = name.removesuffix(ending)
    return name + ".lock"


def locks_of(gold: str | os.PathLike[str]) -> list[str]:
    """The locks beside the gold set, and where it is a link, beside each file that the link leads to."""
    names, name = [os.fspath(gold)], os.fspath(gold)
    if "://" in name and not os.path.lexists(name):
        return _lock_elsewhere(name)
    while os.path.islink(name) and len(names) <= MAX_LINKS:
        name = os.path.join(os.path.dirname(name), os.readlink(name))
        names.append(name)
    locks = {os.path.realpath(lock): lock for lock in map(lock_path, reversed(names)) if os.path.lexists(lock)}
    return list(reversed(locks.values()))


def _lock_elsewhere(gold: str) -> list[str]:
    if not is_remote(gold):
        return []
    from .remote import exists

    return [lock_path(gold)] if exists(lock_path(gold)) else []


def read_lock(path: str | os.PathLike[str]) -> Lock:
    """A lock file, whole and of a version that is known; a damaged one never passes for a signature."""
    where = visible(os.fspath(path))
    _refuse_special(path)
    try:
        with _opened(path) as stream:
            lock = as_record(strict_json(stream.read(MAX_LOCK)), Lock)
    except OSError as error:
        raise EnvironmentFailure(f"can't be read: {error.strerror}", where=where, code="unreadable") from None
    except Refused as refusal:
        raise DataError(
            f"is not a gold lock: {refusal.what}",
            where=where,
            hint="Restore it, or freeze the gold set again.",
            code="lock-damaged",
        ) from None
    if lock.version != VERSION:
        raise DataError(
            f"is a lock of version {lock.version}, this program reads version {VERSION}",
            where=where,
            hint="Use the program that wrote it, or freeze the gold set again.",
            code="lock-version",
        )
    if lock.digest != set_digest(lock.items) or lock.count != len(lock.items):
        raise DataError(
            "the lock was edited: its digest does not match its items",
            where=where,
            hint="Restore it, or freeze the gold set again.",
            code="lock-damaged",
        )
    return lock


def _refuse_special(path: str | os.PathLike[str]) -> None:
    """Nobody names the lock: a pipe or a device in its place would be waited for, or read, for ever."""
    if not is_remote(path) and os.path.exists(path) and not os.path.isfile(path):
        hint = "Remove it, and freeze the gold set again."
        raise EnvironmentFailure("is not a regular file", where=visible(os.fspath(path)), hint=hint, code="unreadable")


def _opened(path: str | os.PathLike[str]) -> Any:
    if not is_remote(path):
        return open(path, "rb")
    from .remote import open_remote

    return open_remote(os.fspath(path))


def _digests_of(path: str | os.PathLike[str], map: Iterable[str]) -> dict[str, str]:
    return read_lock(path).items if os.fspath(path).endswith(".lock") else item_digests(path, map)


def _canonical(value: object) -> bytes:
    """Sorted keys, no blanks, numbers as the standard library writes them, lone surrogates as escapes."""
    import json

    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return text.encode("utf-8", "backslashreplace")


def _listed(qids: Iterable[str]) -> str:
    names = [visible(qid, 60) for qid in qids]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
