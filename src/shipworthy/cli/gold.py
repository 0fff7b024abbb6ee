"""`shipworthy gold`: look after a gold set."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from . import _gold
from ._flags import many, switch, text, whole
from ._output import show_findings
from ._say import say, say_json
from ._scoring import gate_arguments
from ._target import map_flag

if TYPE_CHECKING:
    from ..reading.lock import Changes


@click.group("gold")
def command() -> None:
    """Make a gold set from documents or traces, review it, and keep it true."""


for _verb in ("build", "review", "anchor", "refresh", "coverage", "next"):
    command.add_command(getattr(_gold, f"{_verb}_command"))


@command.command("lint")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@many("--gates", "NAME=VALUE,…", "Gates that the gold set should be large enough to prove.")
@whole("--min-substr", 1, "Shorter expected text may be in the question.", default=5)
@text("--chunks", "FILE", "Chunk file: cited ids must be in it.")
@map_flag
@switch("--strict", "Warnings count as errors.")
@switch("--json as_json", "Print the findings as JSON.")
def lint_command(
    files: tuple[str, ...],
    gates: tuple[str, ...],
    min_substr: int,
    chunks: str | None,
    mapping: tuple[str, ...],
    strict: bool,
    as_json: bool,
) -> int:
    """Find questions that can never pass or always pass, and gates that the set is too small to prove.

    \b
    shipworthy gold lint eval/gold.jsonl --gates precision=0.85

    Exits 1 when there are errors (with --strict, warnings too), else 0.
    """
    from ..suites.answers.lint import lint

    chosen = gate_arguments(gates, ())
    findings = [
        one for gold in files for one in lint(gold, gates=chosen, min_substr=min_substr, chunks=chunks, map=mapping)
    ]
    return show_findings(findings, strict, as_json)


@command.command("freeze")
@click.argument("gold", metavar="FILE")
@text("--release", "NAME", "Release of this gold set.", required=True)
@text("--signed-off-by", "WHO", "Who signs it off.", required=True)
@text("--reason", "WHY", "Why it changed.", default="")
@map_flag
def freeze_command(gold: str, release: str, signed_off_by: str, reason: str, mapping: tuple[str, ...]) -> None:
    """Write a lock beside the gold set. Scoring then fails if the gold set was changed since.

    \b
    shipworthy gold freeze eval/gold.jsonl --release 2026.11 --signed-off-by Ada --reason "first frozen set"
    """
    from ..core.sources import read_gold
    from ..reading.lock import changes, freeze, item_digests, lock_path, read_lock
    from ..text import plural

    read_gold(gold, mapping)  # what can't be scored can't be signed off
    path = lock_path(gold)
    before = read_lock(path).items if os.path.exists(path) else {}
    freeze(gold, release, signed_off_by, reason, map=mapping)
    lock = read_lock(path)
    found = changes(before, item_digests(gold, mapping))
    say(f"{path}: {plural(lock.count, 'item')} frozen for {release}, signed off by {signed_off_by}")
    if before:
        say(f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed since the last lock")


@command.command("verify")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@map_flag
@switch("--json as_json", "Print the changes as JSON.")
def verify_command(files: tuple[str, ...], mapping: tuple[str, ...], as_json: bool) -> int:
    """Show what changed since the gold set was frozen. Exits 3 when anything did."""
    return max(_verify(gold, mapping, as_json) for gold in files)


def _verify(gold: str, mapping: tuple[str, ...], as_json: bool) -> int:
    from ..reading.lock import lock_path, locks_of, read_lock, verify
    from ..text import plural

    found = verify(gold, mapping)
    if not as_json and not found:
        lock = read_lock(lock_path(gold))
        say(f"{plural(lock.count, 'item')} as signed off by {lock.signed_off_by} for {lock.release}")
        return 0
    fields = {} if as_json else _frozen_fields(gold, locks_of(gold)[0], mapping, set(found.changed))
    return _show_changes(found, as_json, fields, True)


@command.command("diff")
@click.argument("old")
@click.argument("new")
@map_flag
@switch("--json as_json", "Print the changes as JSON.")
def diff_command(old: str, new: str, mapping: tuple[str, ...], as_json: bool) -> int:
    """Show the differences between two gold sets; either may be a lock. Exits 1 when there are any.

    \b
    shipworthy gold diff eval/gold.lock eval/gold.jsonl
    """
    from ..reading.lock import diff

    found, locks = diff(old, new, mapping), [path for path in (old, new) if path.endswith(".lock")]
    if len(locks) == 2:
        return min(_show_changes(found, as_json), 1)
    names = set(found.changed)
    gold = new if old in locks else old
    fields = _frozen_fields(gold, locks[0], mapping, names) if locks else _fields_changed(old, new, mapping, names)
    return min(_show_changes(found, as_json, fields, bool(locks)), 1)


def _frozen_fields(gold: str, lock: str, mapping: tuple[str, ...], names: set[str]) -> dict[str, list[str]]:
    """What changed in each item since it was frozen: the lock has digests, so git is asked for the items that fit."""
    import tempfile

    from ..errors import ShipworthyError
    from ..jobs.commit import earlier_versions
    from ..reading.lock import item_digests, read_lock

    digests, found = read_lock(lock).items, dict[str, list[str]]()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, os.path.basename(gold))
        for content in earlier_versions(gold) if names else ():
            with open(path, "wb") as file:
                file.write(content)
            try:
                then = item_digests(path, mapping)
                fitting = {qid for qid in names - found.keys() if then.get(qid) == digests.get(qid)}
                found |= _fields_changed(path, gold, mapping, fitting)
            except ShipworthyError:
                continue  # a version that can't be read tells nothing
            if found.keys() == names:
                break
    return found


def _fields_changed(old: str, new: str, mapping: tuple[str, ...], names: set[str]) -> dict[str, list[str]]:
    """What changed in each item, field by field."""
    import msgspec

    from ..core.sources import read_gold
    from ..text import visible

    if not names:
        return {}
    before, after = (
        {item.qid: msgspec.to_builtins(item) for item in read_gold(path, mapping) if item.qid in names}
        for path in (old, new)
    )
    return {
        qid: [
            f"{field}: {visible(str(before[qid].get(field)), 100)} → {visible(str(after[qid].get(field)), 100)}"
            for field in dict.fromkeys((*before[qid], *after[qid]))
            if before[qid].get(field) != after[qid].get(field)
        ]
        for qid in names
        if qid in before and qid in after
    }


def _show_changes(
    found: Changes, as_json: bool, fields: Mapping[str, Sequence[str]] | None = None, locked: bool = False
) -> int:
    import msgspec

    if as_json:
        say_json(msgspec.to_builtins(found))
        return 3 if found else 0
    for kind in ("added", "removed", "changed"):
        for qid in getattr(found, kind):
            say(f"{kind:<8} {qid}")
            for line in (fields or {}).get(qid, ()) if kind == "changed" else ():
                say(f"         {line}")
    if locked and set(found.changed) - set(fields or {}):
        say("A lock holds digests only. What changed in an item is shown where git has the frozen version of the file.")
    if not found:
        say("no differences")
    return 3 if found else 0
