"""Files that nobody names, and files that are written: locks, folders, truncated archives, durable writing."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from conftest import gold, trace
from conftest import write_lines as write
from shipworthy.errors import DataError, EnvironmentFailure
from shipworthy.jobs.evaluate import evaluate
from shipworthy.reading import lock as goldlock
from shipworthy.reading.files import Files, expanded, write_whole
from shipworthy.report.tsv import cell


def test_a_pipe_in_place_of_a_lock_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path / "gold.jsonl", [gold("A1")])
    os.mkfifo(tmp_path / "gold.lock")
    calls = (goldlock.verify, goldlock.lock_problems, lambda gold: goldlock.freeze(gold, "1.0", "Ada"))
    for call in (*calls, lambda gold: evaluate(gold, [trace("A1")])):
        with pytest.raises(EnvironmentFailure, match=r"gold\.lock: is not a regular file"):
            call(path)


def test_a_lock_that_leads_to_a_device_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "gold.jsonl", [gold("A1")])
    (tmp_path / "gold.lock").symlink_to("/dev/zero")
    with pytest.raises(EnvironmentFailure, match="is not a regular file"):
        goldlock.verify(path)


def test_every_lock_of_a_link_counts_and_not_the_first_alone(tmp_path: Path) -> None:
    """The link's own lock matches, that of the file it leads to does not."""
    (tmp_path / "signed").mkdir()
    target = write(tmp_path / "signed" / "gold.jsonl", [gold("A1"), gold("A2")])
    goldlock.freeze(target, "1.0", "Ada")
    write(target, [gold("A1")])
    link = tmp_path / "gold.jsonl"
    link.symlink_to(target)
    goldlock.freeze(link, "1.1", "Ben")
    assert goldlock.verify(link).removed == ["A2"]
    assert "A2" in " ".join(goldlock.lock_problems(link))


def test_two_stars_find_files_at_every_depth(tmp_path: Path) -> None:
    for place in ("a.jsonl", "x/b.jsonl", "x/y/c.jsonl"):
        (tmp_path / place).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / place).write_text("{}\n", "utf-8")
    found = expanded(str(tmp_path / "**" / "*.jsonl"))
    assert isinstance(found, Files)
    assert [os.path.basename(path) for path in found.paths] == ["a.jsonl", "b.jsonl", "c.jsonl"]


def test_a_file_is_on_disk_before_it_takes_the_others_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, _do=original, _name=name: calls.append(_name) or _do(*given))
    write_whole(tmp_path / "report.json", b"{}")
    assert calls == ["fsync", "replace"]
    assert (tmp_path / "report.json").read_bytes() == b"{}"


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("files", ["pairs", "two files"])
def test_a_truncated_archive_of_labels_is_an_error_even_when_lenient(files: str, again: bool, tmp_path: Path) -> None:
    """How much is missing behind an unreadable end nobody knows."""
    names = ["scholar", "auditor"] if files == "two files" else ["pairs"]
    given: dict[str, Any] = {}
    for name in names:
        label = {"label": "VALID", "reason": os.urandom(20).hex()}
        rows = [
            {"qid": f"Q{n or int(again)}", **(label if name != "pairs" else {"scholar": label, "auditor": label})}
            for n in range(3000)
        ]
        data = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
        given[name] = tmp_path / f"{name}.jsonl.gz"
        given[name].write_bytes(data[: len(data) * 3 // 5])
    with pytest.raises(DataError) as caught:
        evaluate("agreement", **given, lenient=True)
    assert "the rest of the file can't be read: the archive is cut off" in str(caught.value)


@pytest.mark.parametrize("sign", [*"=+-@", *"＝＋－＠"])
def test_a_cell_that_a_spreadsheet_takes_for_a_formula_is_quoted(sign: str) -> None:
    assert cell(f"{sign}1") == f"'{sign}1"
    assert cell(f"1{sign}") == f"1{sign}"


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("old", [True, False], ids=["header", "records"])
def test_a_last_line_that_repeats_a_run_does_not_make_up_for_a_missing_one(end: str, old: bool, tmp_path: Path) -> None:
    """Three runs were planned and two were made; the last line is the one before once more, with its newline or not."""
    plan: dict[str, Any] = {"sweep_id": "s1"} | ({} if old else {"planned_runs": 3})
    runs = [trace("A1") | plan | {"run_id": f"A1#{number}"} for number in (1, 2)]
    header = [json.dumps({"shipworthy_journal": 1, "sweep_id": "s1", "planned": 3})] if old else []
    lines = [*header, *map(json.dumps, runs), json.dumps(runs[-1])]
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines) + end, "utf-8")
    decision = evaluate([gold("A1")], path, only_gates=True, gates=["precision >= 0.1"])
    assert decision.verdict == "NO VERDICT"
    assert "2 of 3 planned runs" in " ".join(decision.reasons)
