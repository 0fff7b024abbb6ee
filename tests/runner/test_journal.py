"""The journal: whole after kill -9 at any point, refused to a second writer, intact on a full disk."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shipworthy.core.sources import Input, stream_traces
from shipworthy.errors import DataError, EnvironmentFailure, UsageError
from shipworthy.runner import run
from shipworthy.runner.journal import Header, Journal
from waiting import FOREVER

HERE = os.pathsep.join(str(folder) for folder in Path(__file__).parents[:2])  # for processes that import this file
HEADER = Header(config_digest="c", gold_digest="g", sweep_id="s", created="2026-01-01T00:00:00+00:00", planned=3)


def trace(number: int) -> dict[str, Any]:
    marks = {"run_id": f"q{number}#seed=0;j=none", **HEADER.marks}
    return {"qid": f"q{number}", **marks, "answer_json": {"claim": "ü" * number}}


def filled(path: Path, count: int = 5) -> bytes:
    with Journal(path, HEADER) as journal:
        for number in range(count):
            journal.append(trace(number))
    return path.read_bytes()


def beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


def test_a_file_holds_traces_only_and_the_rest_stands_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    assert [json.loads(line) for line in filled(path).splitlines()] == [trace(number) for number in range(5)]
    assert json.loads(beside(path).read_text("utf-8")) == {
        "shipworthy_journal": 2,
        "config_digest": "c",
        "gold_digest": "g",
        "sweep_id": "s",
        "created": "2026-01-01T00:00:00+00:00",
        "planned": 3,
        "target": "",
    }
    assert [line.qid for _, line in stream_traces(path, Input())] == ["q0", "q1", "q2", "q3", "q4"]
    assert sorted(os.listdir(tmp_path)) == ["t.jsonl", "t.jsonl.journal"]


def test_what_is_written_is_forced_to_disk_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fdatasync

    def noted(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real(fd)

    path = tmp_path / "t.jsonl"
    journal = Journal(path, HEADER)
    for number in range(2):
        journal.append(trace(number))
    monkeypatch.setattr(os, "fdatasync", noted)
    journal.close()
    assert synced == [str(path)]
    journal.close()
    assert synced == [str(path)], "closing twice is harmless"


def test_a_cut_at_every_byte_is_recovered(tmp_path: Path) -> None:
    """What a crash can leave: any prefix. Whole lines stay, the torn one goes, and the rest is written again."""
    path = tmp_path / "t.jsonl"
    whole = filled(path)
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        with Journal(path, HEADER, resume=True) as journal:
            assert len(journal.finished) == whole[:size].count(b"\n")
            for number in range(5):
                if trace(number)["run_id"] not in journal.finished:
                    journal.append(trace(number))
        assert path.read_bytes() == whole


def test_junk_at_the_end_is_cut_and_junk_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    whole = filled(path)
    for junk in (b"\0\0\0\0", b"\0\0\0\n", b'{"run_id": 5}\n', b"{", b"[]\n"):
        path.write_bytes(whole + junk)
        with Journal(path, HEADER, resume=True) as journal:
            assert len(journal.finished) == 5
        assert path.read_bytes() == whole
    path.write_bytes(whole + b"{]\n" + whole.splitlines()[1] + b"\n")
    with pytest.raises(DataError, match=r"t\.jsonl:6: is not a trace"):
        Journal(path, HEADER, resume=True)


@pytest.mark.parametrize("content", [b"some notes", b"some notes\n", b'{"qid": "a"}\n', b'{"sweep_id": "s"', b"\n"])
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    for foreign in (path, beside(path)):
        foreign.write_bytes(content)
        for resume in (False, True):
            with pytest.raises(UsageError, match=rf"{foreign.name}:1: .*journal-foreign"):
                Journal(path, HEADER, resume=resume)
        assert foreign.read_bytes() == content
        path.unlink()


@pytest.mark.parametrize("header", [{"shipworthy_journal": 3}, {"shipworthy_journal": 2}])
@pytest.mark.parametrize("inside", [True, False])
def test_a_header_that_says_too_little_is_not_resumed(tmp_path: Path, header: dict[str, int], inside: bool) -> None:
    path = tmp_path / "t.jsonl"
    whole = filled(path)
    text = json.dumps(header).encode() + b"\n"
    (path if inside else beside(path)).write_bytes(text + whole if inside else text)
    with pytest.raises(UsageError, match="journal-foreign"):
        Journal(path, HEADER, resume=True)
    assert path.read_bytes().endswith(whole)


@pytest.mark.parametrize("beside_it", [None, b"", b"{", b"[]", b'{"qid": "a"}\n'])
def test_without_its_header_a_file_is_not_resumed_and_keeps_its_runs(tmp_path: Path, beside_it: bytes | None) -> None:
    path = tmp_path / "t.jsonl"
    whole = filled(path)
    beside(path).unlink() if beside_it is None else beside(path).write_bytes(beside_it)
    with pytest.raises(UsageError, match=r"t\.jsonl\.journal, .*is missing or damaged.*--overwrite.*\[journal-lost\]"):
        Journal(path, HEADER, resume=True)
    with pytest.raises(UsageError, match="holds 5 finished runs already"):
        Journal(path, HEADER)
    assert path.read_bytes() == whole
    assert [line.planned_runs for _, line in stream_traces(path, Input())] == [3] * 5


def test_runs_of_another_sweep_are_not_gone_on_with(tmp_path: Path) -> None:
    """As where the file was replaced by another one, and its header was not."""
    path = tmp_path / "t.jsonl"
    whole = filled(path)
    path.write_bytes(whole + json.dumps({**trace(7), "sweep_id": "other"}).encode() + b"\n")
    with pytest.raises(UsageError, match=r"of another sweep.*journal-mismatch"):
        Journal(path, HEADER, resume=True)
    assert path.read_bytes().startswith(whole)


def test_an_older_file_with_its_header_inside_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    whole = filled(path, 2)
    beside(path).unlink()
    header = {**{name: getattr(HEADER, name) for name in HEADER.__struct_fields__}, "shipworthy_journal": 1}
    old = json.dumps(header).encode() + b"\n" + whole.replace(b',"planned_runs":3', b"")
    path.write_bytes(old)
    with Journal(path, HEADER, resume=True) as journal:
        assert len(journal.finished) == 2
        journal.append(trace(2))
    assert path.read_bytes().startswith(old)
    read = Input()
    assert len(list(stream_traces(path, read))) == 3
    assert (read.plans["s"].planned, read.plans["s"].held) == (3, 3)


@pytest.mark.parametrize(
    "content", [b'{"qid": "A", "question": "What?"}\n', b"a,b\n1,2\n", b"[1]\n", b"no newline", b"\n\n", b"\x00\xff"]
)
def test_overwrite_drops_runs_and_not_a_strangers_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="journal-foreign"):
        Journal(path, HEADER, overwrite=True)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"shipworthy_journal":99}\n',
        b'{"shipworthy_journal":1}\nbroken\n{}\n',
        b'{"qid":"a","run_id":"a#","sweep_id":"s"}\n',
    ],
)
def test_overwrite_drops_runs_of_any_journal(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    with Journal(path, HEADER, overwrite=True) as journal:
        assert journal.finished == set()
    assert path.read_bytes() == b"" and beside(path).exists()


def test_finished_runs_are_not_overwritten_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    whole = filled(path)
    with pytest.raises(UsageError, match="holds 5 finished runs already"):
        Journal(path, HEADER)
    assert path.read_bytes() == whole
    with Journal(path, HEADER, overwrite=True) as journal:
        assert journal.finished == set()
    filled(path, 2)  # nothing finished in it: begun anew without asking
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    ("field", "message"), [("gold_digest", "the gold set"), ("config_digest", "the plan or the target")]
)
def test_a_resume_must_fit(tmp_path: Path, field: str, message: str) -> None:
    path = tmp_path / "t.jsonl"
    whole = filled(path)
    other = Header(**{**{name: getattr(HEADER, name) for name in HEADER.__struct_fields__}, field: "other"})
    with pytest.raises(UsageError, match=message):
        Journal(path, other, resume=True)
    assert path.read_bytes() == whole


def test_resume_keeps_the_first_sweep(tmp_path: Path) -> None:
    gold = [SimpleNamespace(qid=name, question=f"{name}?", paraphrases=()) for name in "abc"]
    source = tmp_path / "source.jsonl"
    source.write_text(
        "".join(json.dumps({"qid": name, "answer_json": {"claim": name}}) + "\n" for name in "abc"), "utf-8"
    )
    first = run(gold, f"replay:{source}", tmp_path / "t.jsonl", max_requests=1)
    again = run(gold, f"replay:{source}", tmp_path / "t.jsonl", resume=True)
    assert first.sweep_id == again.sweep_id and again.complete
    assert {line.sweep_id for _, line in stream_traces(tmp_path / "t.jsonl", Input())} == {first.sweep_id}
    with pytest.raises(UsageError, match="journal-mismatch"):
        run(gold[:2], f"replay:{source}", tmp_path / "t.jsonl", resume=True)
    with pytest.raises(UsageError, match="journal-mismatch"):
        run(gold, f"replay:{source}", tmp_path / "t.jsonl", resume=True, seeds=(0, 1))


# Two writers


def test_a_second_writer_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with Journal(path, HEADER) as journal:
        journal.append(trace(0))
        for resume in (False, True):
            with pytest.raises(EnvironmentFailure, match=rf"pid {os.getpid()} on ") as caught:
                Journal(path, HEADER, resume=resume)
            assert (caught.value.code, caught.value.exit_code) == ("journal-locked", 4)
        journal.append(trace(1))
    assert path.read_bytes().count(b"\n") == 2


def test_four_processes_at_once_give_one_journal_and_three_refusals(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    code = f"""
import sys
sys.path[:0] = {HERE!r}.split(":")
from test_journal import HEADER, trace
from shipworthy.errors import ShipworthyError
from shipworthy.runner.journal import Journal
print("ready", flush=True)
sys.stdin.readline()
try:
    with Journal({str(path)!r}, HEADER, resume=True) as journal:
        for number in range(300):
            journal.append(trace(number))
        print("wrote", flush=True)
        sys.stdin.readline()
except ShipworthyError as error:
    print("refused", error, flush=True)
"""
    pipe = subprocess.PIPE
    processes = [subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdout and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.stdout.readline() for process in processes if process.stdout]
    for process in processes:
        process.communicate("\n", timeout=FOREVER)
    assert sorted(line.split()[0] for line in said) == ["refused"] * 3 + ["wrote"]
    assert [line.qid for _, line in stream_traces(path, Input())] == [f"q{number}" for number in range(300)]


def test_the_lock_of_a_dead_process_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    filled(path)
    (tmp_path / "t.jsonl.lock").write_text('{"pid": 999999, "host": "gone"}\n', "utf-8")
    with Journal(path, HEADER, resume=True) as journal:
        assert len(journal.finished) == 5
    assert not (tmp_path / "t.jsonl.lock").exists()


# Disk


FULL_DISK = """
import resource, sys
sys.path[:0] = sys.argv[1].split(":")
from test_journal import HEADER, trace
from shipworthy.errors import EnvironmentFailure
from shipworthy.runner.journal import Journal
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
with Journal(sys.argv[2], HEADER) as journal:
    number = 0
    try:
        while True:
            journal.append(trace(number))
            number += 1
    except EnvironmentFailure as error:
        print(number, error.exit_code, error)
"""


def test_a_full_disk_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, HERE, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    number, code, said = done.stdout.split(maxsplit=2)
    assert code == "4" and "the disk is full" in said and "[disk-full]" in said
    traces = [line.qid for _, line in stream_traces(path, Input())]
    assert traces == [f"q{count}" for count in range(int(number))] and len(traces) > 10
    with Journal(path, HEADER, resume=True) as journal:
        assert len(journal.finished) == int(number)
        journal.append(trace(int(number)))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_full_file_system_stops_the_run_cleanly(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a tmpfs can't be mounted here")
    try:
        gold = [SimpleNamespace(qid=f"q{number}", question="?", paraphrases=()) for number in range(2000)]
        with pytest.raises(EnvironmentFailure, match="disk is full"):
            run(gold, "py:json:dumps", small / "t.jsonl")
        traces = [line.run_id for _, line in stream_traces(small / "t.jsonl", Input())]
        assert len(set(traces)) == len(traces) > 50
        assert (small / "t.jsonl").read_bytes().endswith(b"\n")
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_places_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("", "utf-8")
    for path in (tmp_path / "folder", tmp_path / "link", tmp_path / "file" / "t.jsonl", Path("/dev/null")):
        with pytest.raises(EnvironmentFailure, match="write-failed"):
            Journal(path, HEADER)
    assert not (tmp_path / "elsewhere").exists()


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    with Journal(tmp_path / "t.jsonl", HEADER) as journal:
        journal.append({"qid": "a", "answer_json": {"claim": "\ud800 ü"}})
    (line,) = [line for _, line in stream_traces(tmp_path / "t.jsonl", Input())]
    assert line.answer.claim == "\ud800 ü"


# kill -9

RUNS = 120
NURSERY = """
import asyncio, os, signal, sys
from types import SimpleNamespace
from shipworthy.runner import run

class Noted:
    name, replays = "noted", False
    def __init__(self, note): self.note = note
    async def ask(self, ask):
        os.write(self.note, b".")
        await asyncio.sleep(0)
        return {"answer_json": {"claim": "x" * 3000, "citations": []}, "retrieved_ids": []}
    async def close(self): pass

gold = [SimpleNamespace(qid=f"q{number}", question="?", paraphrases=()) for number in range(int(sys.argv[1]))]
# One import, many lives: each runner is forked, and killed by its parent when it has asked so many questions.
for line in sys.stdin:
    out, questions = line.split()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        run(gold, Noted(write), out, resume=True, concurrency=4)
        os._exit(0)
    os.close(write)
    if all(os.read(read, 1) for _ in range(int(questions))):  # nothing comes once it has ended
        os.kill(child, signal.SIGKILL)
    os.close(read)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def test_kill_9_at_50_random_points_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Kill and resume until complete, one journal after the other, until 50 runners have been killed."""
    chance = random.Random(20)
    kills = complete = 0
    before: set[str] = set()
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", NURSERY, str(RUNS)], stdin=pipe, stdout=pipe, text=True) as nursery:
        assert nursery.stdin and nursery.stdout
        while kills < 50 or before:
            path = tmp_path / f"{complete}.jsonl"
            nursery.stdin.write(f"{path} {chance.randrange(RUNS // 2) if kills < 50 else RUNS + 1}\n")
            nursery.stdin.flush()
            killed = int(nursery.stdout.readline()) == signal.SIGKILL
            now = _finished(path.read_bytes() if path.exists() else b"")
            assert before <= now, "a finished run was lost"
            kills, before = kills + killed, now
            if not killed:
                assert len(now) == RUNS
                assert len([line for _, line in stream_traces(path, Input())]) == RUNS
                complete, before = complete + 1, set()
    assert kills == 50 and complete >= 2


def _finished(content: bytes) -> set[str]:
    """The run_ids of whole lines; each stands once, whatever was killed."""
    whole = content[: content.rfind(b"\n") + 1].splitlines()
    ids = [json.loads(line)["run_id"] for line in whole]
    assert len(set(ids)) == len(ids), "a run was written twice"
    return set(ids)


def test_the_note_of_who_holds_it_follows_no_link(tmp_path: Path) -> None:
    """Somebody who may write to the folder can't make us overwrite a file elsewhere."""
    precious, note = tmp_path / "precious", tmp_path / "t.jsonl.lock"
    precious.write_text("kept")
    note.symlink_to(precious)
    with pytest.raises(EnvironmentFailure, match="write-failed"):
        Journal(tmp_path / "t.jsonl", HEADER)
    assert precious.read_text() == "kept"


def test_the_note_of_who_holds_it_is_data(tmp_path: Path) -> None:
    note = tmp_path / "t.jsonl.lock"
    with Journal(tmp_path / "t.jsonl", HEADER):
        for text, shown in (('{"pid": "1\\n::error::x", "host": "h"}', r"pid 1\n::error::x on h"), ("[]", "not known")):
            note.write_text(text)
            with pytest.raises(EnvironmentFailure, match="journal-locked") as refusal:
                Journal(tmp_path / "t.jsonl", HEADER)
            assert shown in str(refusal.value) and "\n" not in str(refusal.value)
