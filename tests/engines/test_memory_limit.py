"""--memory-limit: the same report from a few questions at a time, nothing left behind, clear words when it fails."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import gold, refusal, trace, unanswerable
from shipworthy import evaluate
from shipworthy.core import rows, spill
from shipworthy.core.decision import digest_of, report
from shipworthy.core.names import Names
from shipworthy.errors import DataError, EnvironmentFailure, ShipworthyError, UsageError
from shipworthy.jobs.check import check
from shipworthy.suites.ranking import divided, trec

GOLD = [gold(f"q{number:03}") for number in range(60)] + [unanswerable(f"u{number:03}") for number in range(20)]
TRACES = [trace(item["qid"]) if item["answerable"] else refusal(item["qid"]) for item in GOLD]
LIMIT = "32MB"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Temporary files go to a folder of the test, in buckets and pieces that are far too small."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(spill, "GROWTH", 600)
    yield folder


def file(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def both(**given: Any) -> tuple[dict[str, Any] | str, dict[str, Any] | str]:
    """The report, or the error in words, in memory and within the limit."""

    def told(**more: Any) -> dict[str, Any] | str:
        try:
            found = report(evaluate(**given, **more))
        except ShipworthyError as error:
            return str(error)
        return {name: value for name, value in found.items() if name != "run"}

    suite = given.pop("suite", "answers")

    def evaluate(**all_given: Any) -> Any:
        from shipworthy import evaluate as door

        return door(suite, **all_given)

    return told(), told(memory_limit=LIMIT)


@pytest.mark.parametrize("duplicates", ["last", "first", "worst", "error"])
@pytest.mark.parametrize("closed", [False, True])
def test_repeated_and_unknown_questions_are_told_alike(tmp_path: Path, duplicates: str, closed: bool) -> None:
    more = [trace("q003", "wrong"), trace("x2"), trace("q001", "wrong"), trace("x1"), trace("x2")]
    rows = [row for row in TRACES if row["qid"] != "q007"] + more
    random.Random(3).shuffle(rows)
    given = {"gold": file(tmp_path / "g.jsonl", GOLD), "trace": file(tmp_path / "t.jsonl", rows)}
    whole, limited = both(**given, on_duplicate=duplicates, closed=closed)
    assert limited == whole
    assert isinstance(whole, str) == (closed or duplicates == "error")


@pytest.mark.parametrize("lenient", [False, True])
def test_bad_lines_repeated_and_blank_gold_are_named_in_the_order_of_the_file(tmp_path: Path, lenient: bool) -> None:
    rows = [*GOLD, GOLD[3], gold("blank", gold_claim_substr=[" "]), *GOLD[20:50]]
    path = tmp_path / "g.jsonl"
    file(path, rows)
    path.write_text(path.read_text() + '{"qid": []}\nnot json\n' + json.dumps(gold("late")) + "\n")
    whole, limited = both(gold=str(path), trace=file(tmp_path / "t.jsonl", TRACES), lenient=lenient)
    assert limited == whole and isinstance(whole, dict) == lenient
    assert isinstance(whole, dict) or whole.count("gold-repeated") > 5


def test_gold_of_odd_names_has_the_same_digest(tmp_path: Path) -> None:
    for odd in ("naïve", "\u2028", "lone \ud800", 'quo"te\n'):
        golds = [gold(f"{odd}{number}", match="any") for number in range(9)]
        traces = [trace(item["qid"]) for item in golds]
        whole, limited = both(gold=golds, trace=traces)
        assert limited == whole and isinstance(whole, dict) and whole["inputs"]["gold"]["content"]


SOME: list[dict[str, Any]] = [{"where": ["type=table"]}, {"quarantine": ("q001", "q002")}, {"profile": "reference"}]


@pytest.mark.parametrize("given", SOME)
def test_subsets_quarantine_and_the_reference_profile(given: dict[str, Any]) -> None:
    golds = [item | {"type": "table" if number % 3 else "text"} for number, item in enumerate(GOLD)]
    whole, limited = both(gold=golds, trace=TRACES, **given)
    assert limited == whole and isinstance(whole, dict)


def runs(**more: Any) -> list[dict[str, Any]]:
    return [row | {"seed": seed, "jitter": "none", **more} for row in TRACES for seed in range(3)]


@pytest.mark.parametrize("profile", ["strict", "reference"])
def test_stability_needs_all_runs_of_a_question_and_has_them(profile: str) -> None:
    rows = [row for number, row in enumerate(runs()) if number % 50]
    random.Random(1).shuffle(rows)
    whole, limited = both(suite="stability", gold=GOLD, runs=rows, profile=profile)
    assert limited == whole and isinstance(whole, dict) and whole["counts"].get("holes", 5) > 0


def test_runs_that_do_not_say_which_they_are() -> None:
    rows = [row for row in TRACES for _ in range(3)][4:]
    whole, limited = both(suite="stability", gold=GOLD, runs=rows)
    assert limited == whole and isinstance(whole, dict) and whole["counts"]["holes"] == 1


def test_latency_retrieval_and_agreement() -> None:
    timed = [row | {"e2e_ms": 100 + number, "arm": f"a{number % 2}"} for number, row in enumerate(TRACES * 2)]
    cases: list[dict[str, Any]] = [
        {"suite": "latency", "gold": GOLD, "trace": timed},
        {"suite": "retrieval", "gold": GOLD[:60], "run": TRACES[:60]},
        {"suite": "retrieval", "gold": GOLD[:60], "run": TRACES[:40] + TRACES[50:60], "missing_query": "error"},
        {"suite": "agreement", "gold": GOLD, "trace": TRACES[5:]},
    ]
    for given in cases:
        whole, limited = both(**given)
        assert limited == whole, given["suite"]


def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of small files in several buckets."""
    monkeypatch.setattr(divided, "GROWTH_OF_LISTS", 10**9)
    monkeypatch.setattr(spill, "GROWTH", 10**5)


@pytest.mark.parametrize("end", ["", "q1 Q0\n"])
@pytest.mark.parametrize("wrong", ["qrels", "run"])
def test_of_several_errors_in_lists_the_first_of_the_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, end: str
) -> None:
    """Whichever bucket its query is in, and whatever can't be read behind it."""
    on_disk(monkeypatch)
    monkeypatch.setattr(trec, "PIECE", 50)
    names = [f"q{number}" for number in range(40)]
    random.Random(7).shuffle(names)
    texts = {
        "qrels": [f"{name} 0 a 1\n{name} 0 b 1\n" for name in names],
        "run": [f"{name} Q0 a 1 2.5 x\n{name} Q0 c 2 1.5 x\n" for name in names],
    }
    again = {"qrels": "{} 0 b 2\n", "run": "{} Q0 a 3 0.5 x\n"}
    texts[wrong][10:] = [text + again[wrong].format(name) for text, name in zip(texts[wrong], names, strict=True)][10:]
    files = {kind: tmp_path / kind for kind in texts}
    for kind, text in texts.items():
        files[kind].write_text("".join(text) + (end if kind == wrong else ""))
    inside, within = both(suite="retrieval", **files, duplicates="error")
    assert inside == within and isinstance(inside, str) and repr(names[10]) in inside


def test_what_there_is_to_find_is_on_disk_and_a_bucket_of_it_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [{"qid": f"q{number}", "relevant": ["a"]} for number in range(50)]
    logs = tmp_path / "logs"
    logs.mkdir()
    for part in (0, 1):
        rows = [{"qid": item["qid"], "retrieved_ids": ["b", "a"][: part + 1]} for item in items[part::2]]
        file(logs / f"{part}.jsonl", rows)
    alive: list[int] = []
    read = divided.DividedSlots.slots

    def slots(self: divided.DividedSlots, bucket: int) -> Any:
        alive.append(len(found := read(self, bucket)))
        return found

    monkeypatch.setattr(divided.DividedSlots, "slots", slots)
    on_disk(monkeypatch)
    given = {"suite": "retrieval", "gold": file(tmp_path / "gold.jsonl", items), "run": logs, "metrics": "MAP"}
    inside, within = both(**given)
    assert inside == within and isinstance(inside, dict)
    assert 0 < max(alive) < 50


def test_rows_of_a_comparison_stay_on_disk_and_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MEMORY", 2_000)
    blocks: list[int] = []
    read = rows._Part._read

    def counted(self: Any, block: int) -> Any:
        blocks.append(block)
        return read(self, block)

    names = [f"q{number:03}" for number in range(300)]
    items = [{"qid": name, "relevant": ["a"]} for name in names]
    shadow = [{"qid": name, "retrieved_ids": ["a", "b"]} for name in names]
    live = [{"qid": name, "retrieved_ids": ["b", "a"][number % 2 :]} for number, name in enumerate(names)]
    given = {
        "gold": file(tmp_path / "gold.jsonl", items),
        "shadow": file(tmp_path / "shadow.jsonl", shadow),
        "live": file(tmp_path / "live.jsonl", live),
    }
    inside, within = both(suite="retrieval", **given)
    assert inside == within and isinstance(inside, dict) and len(inside["items"]) == 300
    monkeypatch.setattr(rows._Part, "_read", counted)
    decision = evaluate("retrieval", **given)
    assert isinstance(decision.items, rows.Rows) and len(decision.items) == 300
    before = len(blocks)
    assert [row["qid"] for row in decision.items] == names
    assert [row["qid"] for row in decision.items[10:290:3]] == names[10:290:3]
    assert [row["qid"] for row in decision.items[::-1]] == names[::-1]
    assert decision.items[-1]["qid"] == names[-1]
    assert len(blocks) - before < 300  # not one for each row


def test_a_failing_run_keeps_its_cards_and_hints() -> None:
    wrong = [trace(item["qid"], "wrong", ("other/d9",), retrieved_ids=["other/d1"]) for item in GOLD]
    whole, limited = evaluate(GOLD, wrong), evaluate(GOLD, wrong, memory_limit=LIMIT)
    assert list(limited.cards) == list(whole.cards) and len(whole.cards) == len(GOLD)
    assert limited.diagnosis == whole.diagnosis
    assert digest_of(limited) == digest_of(whole) == report(whole)["digest"]


def test_no_more_than_a_bucket_of_gold_is_alive_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted where gold is made ready: as many at once as the largest bucket has, not as many as there are."""
    from shipworthy.core import shelved

    sizes: list[int] = []
    bucket = shelved.ShelvedReady.bucket

    def counted(self: Any, number: int) -> dict[str, Any]:
        found = bucket(self, number)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(shelved.ShelvedReady, "bucket", counted)
    assert evaluate(GOLD, TRACES, memory_limit=LIMIT).ships
    assert sum(sizes) >= len(GOLD) and max(sizes) < len(GOLD) / 3


def test_nothing_is_left_behind_however_it_ends(own_folder: Path) -> None:
    evaluate(GOLD, TRACES, memory_limit=LIMIT)
    with pytest.raises(DataError):
        evaluate(GOLD, [*TRACES, trace("x")], closed=True, memory_limit=LIMIT)

    def interrupted() -> Iterator[dict[str, Any]]:
        yield from TRACES
        assert len(list(own_folder.iterdir())) == 1  # a folder of its own, which nobody else may read
        assert next(own_folder.iterdir()).stat().st_mode & 0o077 == 0
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(GOLD, interrupted(), memory_limit=LIMIT)
    assert list(own_folder.iterdir()) == []


def test_a_folder_that_is_not_there_is_an_error_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    with pytest.raises(EnvironmentFailure, match=r"can't be written.*TMPDIR.*\[spill-disk\]"):
        evaluate(GOLD, TRACES, memory_limit=LIMIT)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_is_an_error_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    made_by = spill.Store.file

    def full(store: spill.Store, *given: Any) -> spill.Spill:
        made = made_by(store, *given)
        made._file.close()
        made._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 — closed by the spill
        return made

    monkeypatch.setattr(spill.Store, "file", full)
    with pytest.raises(EnvironmentFailure, match=r"No space left.*\[spill-disk\]"):
        evaluate(GOLD, TRACES, memory_limit=LIMIT)


@pytest.mark.parametrize("size", ["", "much", "12", "16MB", "128 apples", "-1GB", "1.2.3GB"])
def test_a_limit_that_is_none_or_too_small_is_told(size: str) -> None:
    with pytest.raises(UsageError, match=r"\[memory-limit\]"):
        spill.parse_size(size)


def test_sizes() -> None:
    assert [spill.parse_size(size) for size in ("128MB", "2gb", "1.5 GB", "64MiB", 10**9)] == [
        128_000_000,
        2_000_000_000,
        1_500_000_000,
        64_000_000,
        10**9,
    ]


def test_a_cluster_has_memory_of_its_own() -> None:
    with pytest.raises(UsageError, match=r"takes no memory_limit.*\[engine-setting\]"):
        evaluate(GOLD, TRACES, engine="dask", memory_limit=LIMIT)


def test_the_flag_and_the_config_key(tmp_path: Path) -> None:
    golds, traces = file(tmp_path / "gold.jsonl", GOLD), file(tmp_path / "t.jsonl", TRACES)
    (tmp_path / "shipworthy.toml").write_text(
        '[engine]\nmemory_limit = "64MB"\n[suites.answers]\ngold = "gold.jsonl"\ntrace = "t.jsonl"\n'
    )
    assert check(tmp_path / "shipworthy.toml", record=False).verdict == "SHIP"
    with pytest.raises(UsageError, match="memory-limit"):
        check(tmp_path / "shipworthy.toml", record=False, memory_limit="1MB")
    call = [sys.executable, "-m", "shipworthy", "score", "--gold", golds, "--trace", traces, "--memory-limit"]
    small = subprocess.run([*call, "8MB"], check=False, capture_output=True, text=True)
    assert small.returncode == 2 and "at least 32MB" in small.stderr
    assert subprocess.run([*call, "32MB"], check=False, capture_output=True).returncode == 0


def test_many_names_go_to_disk_and_stay_a_set() -> None:
    with spill.limited(LIMIT, ()):
        store = spill.active()
        assert store is not None
        store.limit = 20_000
        one, other = Names(), Names()
        for number in range(500):
            one.update([f"n{number}", f"n{number % 7}"])
            other.update([f"n{number + 400}"])
        plain = Names(["n450"])
    assert len(one) == 500 and set(one) == {f"n{number}" for number in range(500)}
    assert one.shared_with(other) == 100 and one.shared_with(plain) == 1 and plain.shared_with(one) == 1
