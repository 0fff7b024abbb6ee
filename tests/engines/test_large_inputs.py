"""Large inputs: limited in memory without being asked, shared by processes, and the same report all the while."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import EFFORT, gold, refusal, trace, unanswerable, write_lines
from shipworthy import evaluate
from shipworthy.core import shelving, spill
from shipworthy.core.contracts import Gold
from shipworthy.core.decision import report
from shipworthy.core.rows import Rows, failing_count, failing_rows
from shipworthy.core.sources import Answerable, load_gold
from shipworthy.engines import spilled
from shipworthy.errors import EnvironmentFailure, ShipworthyError
from shipworthy.jobs import evaluate as door
from shipworthy.reading.cutting import parts_between, scanned, scans_of
from shipworthy.reading.reports import Passing
from shipworthy.suites.answers.explain import ItemRow

GOLD = [gold(f"q{number:03}") for number in range(90)] + [unanswerable(f"u{number:03}") for number in range(20)]


def traces() -> list[dict[str, Any]]:
    rows = [trace(item["qid"]) if item["answerable"] else refusal(item["qid"]) for item in GOLD]
    wrong = [trace(item["qid"], "something else") for item in GOLD[::9]]
    return [*rows, *wrong, trace("unknown")]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Files of a few kilobytes are large, and a bucket has a few questions."""
    monkeypatch.setattr(spill, "LARGE", 1000)
    monkeypatch.setattr(spill, "ENOUGH", 4000)
    monkeypatch.setattr(spill, "GROWTH", 60_000)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.parametrize("order", ["in order", "shuffled", "backwards"])
@pytest.mark.parametrize("engine", [{}, {"engine": "processes", "jobs": 2}, {"engine": "auto"}])
def test_large_files_are_judged_from_disk_without_being_asked(
    tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch, order: str, engine: dict[str, Any]
) -> None:
    golds, rows = [*GOLD], traces()
    if order == "shuffled":
        random.Random(1).shuffle(golds)
        random.Random(2).shuffle(rows)
    elif order == "backwards":
        golds, rows = golds[::-1], rows[::-1]
    inputs = write_lines(tmp_path / "gold.jsonl", golds), write_lines(tmp_path / "trace.jsonl", rows)
    used: list[int] = []
    put = spilled.SpilledGathered.put

    def watched(self: Any, *given: Any) -> None:
        used.append(len(list(large.iterdir())))
        put(self, *given)

    monkeypatch.setattr(spilled.SpilledGathered, "put", watched)
    from_disk = report(evaluate(*inputs, **engine))
    assert used == [1] and list(large.iterdir()) == []  # a folder while it lasted, and nothing left
    monkeypatch.setattr(spill, "LARGE", 1 << 40)
    monkeypatch.setattr(spill, "ENOUGH", 1 << 40)
    in_memory = report(evaluate(*inputs))
    assert used == [1]
    assert {**from_disk, "run": None} == {**in_memory, "run": None}


def test_a_small_gold_set_stays_in_memory_however_many_traces_there_are(
    tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, "GROWTH", 1)
    monkeypatch.setattr(spilled, "run", lambda *given, **more: pytest.fail("nothing has to go to disk"))
    inputs = write_lines(tmp_path / "gold.jsonl", GOLD), write_lines(tmp_path / "trace.jsonl", traces() * 20)
    assert evaluate(*inputs).counts["superseded"] > 0


def test_how_large_is_large_depends_on_what_records_take_in_memory() -> None:
    taken = {
        (jobs, growth): [size for size in (50, 100, 200, 300) if spill._worth_limiting(size * 10**6, jobs, growth)]
        for jobs in (1, 2)
        for growth in (3, 4, 10, 17)
    }
    assert taken[1, 3] == taken[2, 3] == [300]
    assert taken[1, 4] == [200, 300] and taken[1, 10] == [100, 200, 300]
    assert taken[2, 4] == taken[2, 10] == [100, 200, 300]
    assert taken[1, 17] == taken[2, 17] == [50, 100, 200, 300]


@pytest.mark.parametrize("metrics, goes", [({}, True), ({"metrics": "MAP"}, False)])
def test_logs_of_blocks_go_to_disk_sooner_than_lists_of_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metrics: dict[str, str], goes: bool
) -> None:
    """A block takes room for its section, place and text, whatever the log says of it."""
    names = [f"q{number}" for number in range(40)]
    items = [{"qid": name, "question": "Why?", "relevant": ["a"]} for name in names]
    inputs = {
        "gold": write_lines(tmp_path / "gold.jsonl", items),
        "run": write_lines(tmp_path / "log.jsonl", [{"qid": name, "retrieved_ids": ["b", "a"]} for name in names]),
    }
    size = sum(path.stat().st_size for path in inputs.values())
    monkeypatch.setattr(spill, "ENOUGH", 10 * size)
    used: list[object] = []
    put = spilled.SpilledGathered.put
    monkeypatch.setattr(spilled.SpilledGathered, "put", lambda *given: used.append(given) or put(*given))
    evaluate("retrieval", **inputs, **metrics)
    assert bool(used) == goes


@pytest.mark.parametrize("fault", ["no folder", "no room"])
def test_without_room_on_the_disk_large_files_are_judged_in_memory(
    tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Nobody asked for a limit, so that a full disk is no reason to stop."""
    inputs = write_lines(tmp_path / "gold.jsonl", GOLD), write_lines(tmp_path / "trace.jsonl", traces())
    whole = report(evaluate(*inputs))
    monkeypatch.setattr(spilled, "run", lambda *given, **more: pytest.fail("there is no disk"))
    if fault == "no folder":
        monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    else:
        monkeypatch.setattr(spill, "ROOM", 1 << 60)
    assert report(evaluate(*inputs)) == whole


def test_items_that_are_kept_as_lines_are_gold_items_with_their_lines(tmp_path: Path) -> None:
    """The first block of a file is read in the ordinary way, and the following ones are kept as lines."""
    rows = [gold(f"q{number:05}", question="x" * 200, constraints=[f"c{number}"]) for number in range(600)]
    found = load_gold(write_lines(tmp_path / "gold.jsonl", rows))
    again = load_gold(rows)
    assert all(type(item) is Gold for item in found.items.values())
    assert dict(found.items) == dict(again.items) and found.source.content == again.source.content
    assert dict(found.lines) == {row["qid"]: line for line, row in enumerate(rows, 1)}
    odd = [*rows[:-1], rows[-1] | {"qid": " "}]
    with pytest.raises(Exception, match=r"gold\.jsonl:600: qid"):
        load_gold(write_lines(tmp_path / "gold.jsonl", odd))


@pytest.mark.parametrize("place", [1, 550])
@pytest.mark.parametrize("more", [{"notes": ""}, {"match": "any"}, {"type": None}, {"forbidden": []}])
def test_spelling_out_a_default_does_not_change_what_a_gold_set_means(
    tmp_path: Path, place: int, more: dict[str, Any]
) -> None:
    rows = [gold(f"q{number:05}", question="x" * 200) for number in range(600)]
    plain = load_gold(rows).source.content
    told = [row | more if number >= place else row for number, row in enumerate(rows)]
    assert load_gold(write_lines(tmp_path / "gold.jsonl", told)).source.content == plain
    assert load_gold(write_lines(tmp_path / "gold.jsonl", [row | more for row in rows])).source.content == plain


@settings(max_examples=60 * EFFORT)
@given(st.lists(st.sampled_from([b"", b"a", b"bb", b"c" * 9, b"\r"]), max_size=30), st.booleans(), st.integers(1, 40))
def test_ranges_that_are_looked_at_apart_give_whole_lines_with_their_numbers(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ends: bool, size: int
) -> None:
    text = b"\n".join(lines) + (b"\n" if ends else b"")
    path = tmp_path_factory.mktemp("scan") / "lines"
    path.write_bytes(text)
    parts = parts_between(str(path), len(text), [scanned(scan) for scan in scans_of(str(path), len(text), size)])
    assert b"".join(text[part.start : part.end] for part in parts) == text
    for part in parts:
        assert part.first == text[: part.start].count(b"\n") + 1
        assert part.start == 0 or text[part.start - 1 : part.start] == b"\n"


@pytest.mark.parametrize("claim", ["plain", '"reason":""', "lone \ud800"])
def test_rows_that_fail_are_found_whatever_their_texts_hold(claim: str) -> None:
    def row(qid: str, reason: str) -> ItemRow:
        return ItemRow(qid, "shipped", not reason, True, True, "", 1, reason, True, 1, claim, claim)

    rows = Rows([(("a",), row("a", "")), (("b",), row("b", "leak")), (("c",), row("c", ""))])
    assert [found["qid"] for found in failing_rows(rows, Passing())] == ["b"]
    assert failing_count(rows, Passing()) == 1
    plain = list(rows)
    assert [found["qid"] for found in failing_rows(plain, Passing())] == ["b"] and failing_count(plain, Passing()) == 1
    assert json.loads(json.dumps(plain[0]))["claim"] == claim


@settings(max_examples=40 * EFFORT)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), max_size=80), st.booleans(), st.integers(1, 400))
def test_rows_come_out_in_order_however_many_parts_they_are_kept_in(
    entries: list[tuple[int, int]], ordered: bool, most: int
) -> None:
    rows = Rows()
    rows._most = most * 10
    listed = sorted(entries) if ordered else entries
    for number, (name, other) in enumerate(listed):
        rows.append((name,), {"qid": f"{name:03}", "n": number, "other": other})
    expected = sorted(((name, number) for number, (name, _) in enumerate(listed)), key=lambda pair: pair[0])
    assert [int(row["qid"]) for row in rows] == [name for name, _ in expected]
    assert len(rows) == len(listed) and list(rows[1:5]) == list(rows)[1:5]
    assert not listed or [rows[0], rows[-1]] == [next(iter(rows)), [*rows][-1]]
    more = Rows([((30,), {"qid": "030", "n": -1})])
    more += rows
    assert sorted(map(str, more)) == sorted(map(str, [*rows, {"qid": "030", "n": -1}]))


def test_only_so_many_failing_items_are_kept_in_detail_and_they_are_the_worst(
    tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others have found to be worse already is not made into cards by a worker, and no card is lost by that."""
    from shipworthy.core import evidence

    monkeypatch.setattr(evidence, "CARDS", 15)
    rows = [
        trace(item["qid"], "something else", ["other"] if number % 4 else ["d1"]) for number, item in enumerate(GOLD)
    ]
    inputs = write_lines(tmp_path / "gold.jsonl", GOLD), write_lines(tmp_path / "trace.jsonl", rows)
    shared = evaluate(*inputs, engine="processes", jobs=2)
    monkeypatch.setattr(spill, "LARGE", 1 << 40)
    monkeypatch.setattr(spill, "ENOUGH", 1 << 40)
    whole = evaluate(*inputs)
    assert list(shared.cards) == list(whole.cards) and len(whole.cards) == 15
    assert report(shared)["digest"] == report(whole)["digest"]


GOLD_LINES = st.one_of(
    st.builds(gold, st.sampled_from([f"q{n:02}" for n in range(40)])),
    st.builds(unanswerable, st.sampled_from([f"u{n}" for n in range(9)])),
    st.sampled_from(
        [
            gold("q05", substr=["not in context"]),
            gold("q06", substr=[" "]),
            {"qid": "q07", "question": "?", "answerable": True},
            {"qid": "q08", "question": "?"},
            {"qid": 9, "question": "?", "answerable": False},
            gold("q\ud800"),
            gold("q10", match="number", substr=["no number"]),
            gold("q11", notes=""),
            {"shipworthy_journal": 1, "planned": 3},
            "not json",
            "",
            " " * 2000,
        ]
    ),
)


TWO_HEADERS = [{"shipworthy_journal": 1, "planned": 3}] * 2 + [gold("q01")]


@settings(max_examples=60 * EFFORT)
@example(lines=TWO_HEADERS, ordered=False, part=1, lenient=False)
@given(lines=st.lists(GOLD_LINES, max_size=40), ordered=st.booleans(), part=st.integers(1, 2000), lenient=st.booleans())
def test_a_gold_set_that_is_read_in_parts_is_the_one_that_is_read_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Any], ordered: bool, part: int, lenient: bool
) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path = tmp_path_factory.mktemp("gold") / "gold.jsonl"
    path.write_text("\n".join(sorted(set(texts)) if ordered else texts), "utf-8")
    rows = [trace(line["qid"]) for line in lines if isinstance(line, dict) and isinstance(line.get("qid"), str)]
    told = []
    for over in (None, _elsewhere):
        with pytest.MonkeyPatch.context() as patch:
            if over is not None:
                patch.setattr(door, "limited", partial(_in_parts, part))
            try:
                found = report(evaluate(path, rows, lenient=lenient))
                told.append({**found, "run": None})
            except ShipworthyError as error:
                told.append(str(error))
    assert told[0] == told[1]


def _elsewhere(work: Any, shared: tuple[Any, ...], tasks: Any) -> Any:
    """Each task as if it were done in another process."""
    for task in tasks:
        yield pickle.loads(pickle.dumps(work(*pickle.loads(pickle.dumps(shared)), task)))


@contextmanager
def _in_parts(part: int, limit: object, sources: Any, *given: object) -> Any:
    with spill.limited("32MB", sources):
        store = spill.active()
        assert store is not None
        store.over, store.part, store.together, store.limit = _elsewhere, part, 2, 1000
        yield


def test_several_processes_read_a_gold_set_in_order_and_none_of_them_one_that_is_not(
    tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[bool] = []
    in_parts = shelving.shelve_in_parts

    def watched(*given: Any) -> Any:
        found = in_parts(*given)
        kept.append(found is not None)
        return found

    monkeypatch.setattr(shelving, "shelve_in_parts", watched)
    monkeypatch.setattr(spill, "PART", 1000)
    path = write_lines(tmp_path / "gold.jsonl", GOLD)
    rows = write_lines(tmp_path / "trace.jsonl", traces())
    evaluate(path, rows, engine="processes", jobs=2)
    evaluate(write_lines(path, GOLD[::-1]), rows, engine="processes", jobs=2)
    evaluate(path, rows, memory_limit="32MB")
    assert kept == [True, False, False]


class Killing(Answerable):
    """Kills the worker that meets a certain item, once or always."""

    def __init__(self, marker: Path, here: int, always: bool) -> None:
        super().__init__()
        self._marker, self._here, self._always = marker, here, always

    def meet(self, item: Gold, line: int) -> None:
        if item.qid == "q070" and os.getpid() != self._here and (self._always or not self._marker.exists()):
            self._marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("always", [False, True])
def test_a_worker_that_is_killed_at_a_part_of_gold_is_replaced_once(tmp_path: Path, always: bool) -> None:
    path, marker = write_lines(tmp_path / "gold.jsonl", GOLD), tmp_path / "killed"
    whole = load_gold(path)
    with spill.limited("32MB", [path]):
        store = spill.active()
        assert store is not None
        store.over, store.part, store.limit = spilled.Workers(2).over, 3000, 1000
        watch = Killing(marker, os.getpid(), always)
        if always:
            with pytest.raises(EnvironmentFailure, match=r"gold\.jsonl:\d+.*\[worker-died\]"):
                load_gold(path, watch=watch)
        else:
            found = load_gold(path, watch=watch)
            assert dict(found.items) == dict(whole.items) and dict(found.lines) == dict(whole.lines)
            assert found.source.content == whole.source.content and found.source.digest == whole.source.digest
    assert marker.exists()
