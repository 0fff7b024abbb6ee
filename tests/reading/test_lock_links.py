"""Locks and symbolic links, and what can't be written as UTF-8."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from conftest import Cli, gold, trace, write_lines
from shipworthy.errors import DataError, EnvironmentFailure, ShipworthyError
from shipworthy.reading import lock as goldlock

ITEMS = [gold("A1"), gold("A2"), gold("A3")]


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    (tmp_path / "real").mkdir()
    path = write_lines(tmp_path / "real" / "gold.jsonl", ITEMS)
    goldlock.freeze(path, "R1", "Ada")
    return path


def changed(path: Path) -> None:
    write_lines(path, ITEMS[:1])


@pytest.mark.parametrize("name", ["gold.jsonl", "other.jsonl", "no-ending", "sub/gold.jsonl"])
@pytest.mark.parametrize("relative", [True, False])
def test_a_change_is_noticed_through_a_link(frozen: Path, name: str, relative: bool, tmp_path: Path, cli: Cli) -> None:
    link = tmp_path / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(os.path.relpath(frozen, link.parent) if relative else frozen)
    traces = write_lines(tmp_path / "t.jsonl", [trace(f"A{n}") for n in (1, 2, 3)])
    assert goldlock.lock_problems(link) == []
    assert not goldlock.verify(link)
    changed(frozen)
    assert "2 items removed" in goldlock.lock_problems(link)[0]
    assert goldlock.verify(link).removed == ["A2", "A3"]
    for more in ((), ("--profile", "reference")):
        assert cli("score", "--gold", link, "--trace", traces, *more).code == 3


def test_a_chain_of_links_is_followed_and_a_ring_ends(frozen: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").symlink_to(frozen)
    (tmp_path / "two.jsonl").symlink_to("one.jsonl")
    changed(frozen)
    assert goldlock.lock_problems(tmp_path / "two.jsonl")
    (tmp_path / "a.jsonl").symlink_to("b.jsonl")
    (tmp_path / "b.jsonl").symlink_to("a.jsonl")
    assert goldlock.locks_of(tmp_path / "a.jsonl") == []


def test_the_lock_may_lie_beside_the_link_and_both_count(frozen: Path, tmp_path: Path) -> None:
    link = tmp_path / "gold.jsonl"
    link.symlink_to(frozen)
    goldlock.freeze(link, "R2", "Ben")
    assert len(goldlock.locks_of(link)) == 2
    changed(frozen)
    sentences = goldlock.lock_problems(link)
    assert any("Ben for R2" in sentence for sentence in sentences)
    assert any("Ada for R1" in sentence for sentence in sentences)
    frozen.with_name("gold.lock").unlink()
    assert any("Ben for R2" in sentence for sentence in goldlock.lock_problems(link))


def test_a_link_to_an_archive_finds_its_lock(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "set.jsonl.gz"
    real.write_bytes(gzip.compress(b"".join(json.dumps(item).encode() + b"\n" for item in ITEMS)))
    goldlock.freeze(real, "R1", "Ada")
    assert (tmp_path / "real" / "set.lock").exists()
    link = tmp_path / "gold.jsonl.gz"
    link.symlink_to(real)
    real.write_bytes(gzip.compress(json.dumps(ITEMS[0]).encode()))
    assert goldlock.lock_problems(link)


def test_a_lock_that_leads_nowhere_is_not_taken_for_none(frozen: Path) -> None:
    frozen.with_name("gold.lock").unlink()
    frozen.with_name("gold.lock").symlink_to("gone.lock")
    with pytest.raises(EnvironmentFailure, match="can't be read"):
        goldlock.lock_problems(frozen)


def test_a_lock_is_not_written_through_a_link(frozen: Path, tmp_path: Path, cli: Cli) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    for target in (victim, Path("/dev/full"), tmp_path / "absent"):
        frozen.with_name("gold.lock").unlink(missing_ok=True)
        frozen.with_name("gold.lock").symlink_to(target)
        ran = cli("gold", "freeze", frozen, "--release", "R", "--signed-off-by", "A")
        assert ran.code in (3, 4) and "Traceback" not in ran.err
        with pytest.raises(EnvironmentFailure, match="symbolic link") as caught:
            goldlock.freeze(frozen, "R", "Ada")
        assert caught.value.code == "lock-link"
    assert victim.read_text() == "precious"
    assert not (tmp_path / "absent").exists()


def test_lone_surrogates_are_frozen_and_noticed(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "gold.jsonl"
    rows = [gold("A\ud800", ["right \udfff answer"]), gold("B")]
    write_lines(path, rows)
    ran = cli("gold", "freeze", path, "--release", "R", "--signed-off-by", "Ada")
    assert ran.code == 0 and "Traceback" not in ran.err
    assert goldlock.lock_problems(path) == []
    assert set(goldlock.read_lock(tmp_path / "gold.lock").items) == {"A\ud800", "B"}
    (tmp_path / "gold.lock").read_bytes().decode("utf-8")
    write_lines(path, [gold("A\ud801", ["right \udfff answer"]), gold("B")])
    assert goldlock.lock_problems(path)
    write_lines(path, [gold("A\\ud800", ["right \udfff answer"]), gold("B")])
    assert goldlock.lock_problems(path), "a backslash and its letters are not the surrogate"


def test_surrogates_of_a_signature_are_kept(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "gold.jsonl", ITEMS)
    goldlock.freeze(path, "R\udcff", "Ada \ud800")
    assert goldlock.read_lock(tmp_path / "gold.lock").release == "R\udcff"
    assert goldlock.lock_problems(path) == []


def test_a_repeated_key_in_a_lock_is_damage(frozen: Path) -> None:
    path = frozen.with_name("gold.lock")
    text = path.read_text()
    path.write_text(text.replace('"count": 3', '"count": 3, "count": 3'))
    with pytest.raises(DataError, match="occurs twice") as caught:
        goldlock.lock_problems(frozen)
    assert caught.value.code == "lock-damaged"
    path.write_text(text.replace('"A1":', '"A1": "0", "A1":'))
    with pytest.raises(ShipworthyError):
        goldlock.read_lock(path)
