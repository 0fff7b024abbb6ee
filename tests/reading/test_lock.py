"""Gold locks: what counts as a change, and what scoring does about it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli, gold, trace
from conftest import write_lines as write
from shipworthy.core.sources import load_gold
from shipworthy.errors import DataError, UsageError
from shipworthy.reading import lock as goldlock

ITEMS = [gold("A1"), gold("A2", notes="for people"), gold("Ü3", ("größe 7",))]


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    path = write(tmp_path / "gold.jsonl", ITEMS)
    goldlock.freeze(path, "2026.11", "Ada", "first")
    return path


def test_a_lock_says_who_when_why_and_how_many(frozen: Path) -> None:
    lock = goldlock.read_lock(frozen.with_name("gold.lock"))
    assert (lock.release, lock.signed_off_by, lock.reason, lock.count) == ("2026.11", "Ada", "first", 3)
    assert set(lock.items) == {"A1", "A2", "Ü3"}
    assert lock.frozen_at.endswith("+00:00")


def test_nothing_changed(frozen: Path) -> None:
    assert not goldlock.verify(frozen)
    assert goldlock.lock_problems(frozen) == []


def test_order_of_lines_and_keys_and_white_space_do_not_matter(frozen: Path) -> None:
    shuffled = [dict(reversed(item.items())) for item in reversed(ITEMS)]
    lines = [json.dumps(item, indent=None, separators=(" , ", " : "), ensure_ascii=True) for item in shuffled]
    frozen.write_text("\r\n\r\n".join(lines) + "\r\n", encoding="utf-8-sig")
    assert not goldlock.verify(frozen)


def test_every_kind_of_change_is_named(frozen: Path) -> None:
    write(frozen, [gold("A1"), gold("A2", notes="edited"), gold("A4")])
    changes = goldlock.verify(frozen)
    assert (changes.added, changes.removed, changes.changed) == (["A4"], ["Ü3"], ["A2"])
    problems = goldlock.lock_problems(frozen)
    assert any("A4" in problem for problem in problems) and any("Ü3" in problem for problem in problems)
    assert "Ada for 2026.11" in problems[-1]


@given(st.lists(st.text(min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=6, unique=True), st.randoms())
def test_the_set_digest_knows_no_order(qids: list[str], random: object) -> None:
    digests = {qid: f"{index:064x}" for index, qid in enumerate(qids)}
    names = list(digests)
    random.shuffle(names)  # type: ignore[attr-defined]
    assert goldlock.set_digest({name: digests[name] for name in names}) == goldlock.set_digest(digests)


def test_content_digest_is_what_scoring_reads(tmp_path: Path) -> None:
    one = load_gold(write(tmp_path / "a.jsonl", ITEMS))
    other = load_gold(write(tmp_path / "b.jsonl", ITEMS[::-1]), by=["team"])
    changed = load_gold(write(tmp_path / "c.jsonl", [*ITEMS[:2], gold("Ü3", ("größe 8",))]))
    assert one.source.content == other.source.content != changed.source.content


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda lock: b"", "lock-damaged"),
        (lambda lock: b"\xff\xfe", "lock-damaged"),
        (lambda lock: json.dumps(lock | {"version": 9}).encode(), "lock-version"),
        (lambda lock: json.dumps(lock | {"count": 2}).encode(), "lock-damaged"),
        (lambda lock: json.dumps(lock | {"items": {}}).encode(), "lock-damaged"),
        (lambda lock: json.dumps(lock | {"more": 1}).encode(), "lock-damaged"),
    ],
)
def test_a_damaged_lock_is_no_signature(frozen: Path, damage: object, code: str) -> None:
    path = frozen.with_name("gold.lock")
    path.write_bytes(damage(json.loads(path.read_bytes())))  # type: ignore[operator]
    with pytest.raises(DataError) as caught:
        goldlock.verify(frozen)
    assert caught.value.code == code
    with pytest.raises(DataError):
        goldlock.lock_problems(frozen)


def test_a_lock_can_not_be_blank_or_absent(tmp_path: Path) -> None:
    path = write(tmp_path / "gold.jsonl", ITEMS)
    with pytest.raises(UsageError, match="lock-blank"):
        goldlock.freeze(path, "1", "  ")
    with pytest.raises(UsageError, match="lock-absent"):
        goldlock.verify(path)
    assert goldlock.lock_problems(path) == [] == goldlock.lock_problems(ITEMS)


def test_a_bad_gold_set_can_not_be_signed_off(tmp_path: Path) -> None:
    path = write(tmp_path / "gold.jsonl", [gold("A1"), gold("A1")])
    with pytest.raises(DataError):
        goldlock.freeze(path, "1", "Ada")
    assert not os.path.exists(goldlock.lock_path(path))


@pytest.mark.parametrize("name", ["gold.jsonl", "gold.jsonl.gz", "gold.json", "gold"])
def test_where_the_lock_is(name: str) -> None:
    assert goldlock.lock_path(f"eval/{name}") == "eval/gold.lock"


def test_diff_takes_gold_sets_and_locks(frozen: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "new.jsonl", [gold("A1"), gold("A9")])
    changes = goldlock.diff(frozen.with_name("gold.lock"), other)
    assert (changes.added, changes.removed, changes.changed) == (["A9"], ["A2", "Ü3"], [])
    assert not goldlock.diff(frozen, frozen.with_name("gold.lock"))


def test_scoring_by_a_changed_gold_set_gives_no_verdict(frozen: Path, tmp_path: Path, cli: Cli) -> None:
    traces = write(tmp_path / "trace.jsonl", [trace("A1"), trace("A2"), trace("Ü3", "Größe 7 passt.")])
    assert cli("score", "--gold", frozen, "--trace", traces).code == 0
    write(frozen, [ITEMS[0], gold("A2", notes="edited quietly"), ITEMS[2]])
    ran = cli("score", "--gold", frozen, "--trace", traces)
    assert ran.code == 3
    assert "A2" in ran.out and "signed off" in ran.out


def test_the_command_line(frozen: Path, cli: Cli) -> None:
    assert cli("gold", "verify", frozen).code == 0
    write(frozen, ITEMS[:2])
    ran = cli("gold", "verify", frozen)
    assert (ran.code, ran.out) == (3, "removed  Ü3\n")
    assert cli("gold", "verify", frozen, "--json").json == {"added": [], "removed": ["Ü3"], "changed": []}
    assert cli("gold", "diff", frozen, frozen.with_name("gold.lock")).code == 1
    ran = cli("gold", "freeze", frozen, "--release", "2", "--signed-off-by", "Bo", "--reason", "dropped one")
    assert ran.code == 0 and "1 removed" in ran.out
    assert cli("gold", "verify", frozen).code == 0


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


def test_what_changed_in_an_item_is_shown_where_git_has_the_frozen_version(frozen: Path, cli: Cli) -> None:
    folder = frozen.parent
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "frozen")
    write(frozen, [ITEMS[0], gold("A2", notes="draft"), ITEMS[2]])
    git(folder, "commit", "-qam", "a version that was never frozen")
    write(frozen, [ITEMS[0], gold("A2", ("42 days",), notes="edited"), ITEMS[2]])
    for words in (("verify", frozen), ("diff", frozen.with_name("gold.lock"), frozen)):
        ran = cli("gold", *words)
        assert ran.code in (1, 3) and ran.out.startswith("changed  A2\n")
        assert "notes: for people → edited" in ran.out and "42 days" in ran.out and "draft" not in ran.out


def test_without_git_a_changed_item_is_named_and_why_not_more(frozen: Path, cli: Cli) -> None:
    write(frozen, [ITEMS[0], gold("A2", notes="edited"), ITEMS[2]])
    ran = cli("gold", "verify", frozen)
    assert ran.code == 3 and "changed  A2\n" in ran.out and "A lock holds digests only" in ran.out
