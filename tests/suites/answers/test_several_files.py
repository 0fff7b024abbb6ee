"""Several trace files as one input: which trace of a question counts does not depend on what the files are called."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from shipworthy import DataError
from shipworthy.jobs.evaluate import evaluate

GOLD = [{"qid": qid, "question": f"{qid}?", "answerable": True, "gold_claim_substr": ["right"]} for qid in ("A", "B")]


def trace(qid: str, claim: str, ts: object = None) -> dict[str, Any]:
    return {"qid": qid, "answer_json": {"claim": claim}, **({} if ts is None else {"ts": ts})}


def items(folder: Path, files: dict[str, list[dict[str, Any]]], **options: Any) -> dict[str, str]:
    """The claim that counted, by question."""
    folder.mkdir()
    gold = folder / "gold.jsonl"
    gold.write_text("".join(json.dumps(item) + "\n" for item in GOLD), "utf-8")
    (folder / "runs").mkdir()
    for name, traces in files.items():
        (folder / "runs" / name).write_text("".join(json.dumps(one) + "\n" for one in traces), "utf-8")
    decision = evaluate(gold, folder / "runs", **options)
    assert decision.counts["superseded"] == sum(map(len, files.values())) - 2
    return {item["qid"]: item["claim"] for item in decision.report()["items"]}


MORNING, NOON, NIGHT = "2026-03-01T08:00:00+02:00", 1772355600, "2026-03-01T21:00:00"  # 06:00, 09:00 and 21:00 UTC


@pytest.mark.parametrize("names", list(permutations(["a.jsonl", "b.jsonl", "c.jsonl"])))
@pytest.mark.parametrize(("keep", "kept"), [("last", "at night, again"), ("first", "in the morning")])
def test_across_files_the_time_tells_and_within_one_the_line(
    tmp_path: Path, names: tuple[str, str, str], keep: str, kept: str
) -> None:
    files = [
        [trace("A", "in the morning", MORNING), trace("A", "in the morning, again", MORNING), trace("B", "right")],
        [trace("A", "at noon", NOON)],
        [trace("A", "at night", 5e9), trace("A", "at night, again", NIGHT)],  # the line counts, whatever its time
    ]
    if keep == "first":
        files[2].reverse()
    found = items(tmp_path / "x", dict(zip(names, files, strict=True)), on_duplicate=keep)
    assert found == {"A": kept, "B": "right"}


@pytest.mark.parametrize("names", list(permutations(["a.jsonl", "b.jsonl"])))
@pytest.mark.parametrize("times", [(None, None), (NOON, None), (NOON, NOON), (NOON, "yesterday"), (NOON, str(NOON))])
@pytest.mark.parametrize("keep", ["last", "first"])
def test_where_nothing_tells_it_is_an_error_that_names_both(
    tmp_path: Path, names: tuple[str, str], times: tuple[object, object], keep: str
) -> None:
    files = [[trace("B", "right"), trace("A", "right", times[0])], [trace("A", "wrong", times[1])]]
    with pytest.raises(DataError) as caught:
        items(tmp_path / "x", dict(zip(names, files, strict=True)), on_duplicate=keep)
    assert caught.value.code == "trace-order"
    assert f"{names[0]}:2" in caught.value.what and f"{names[1]}:1" in caught.value.what
    assert "'A'" in caught.value.what and "--on-duplicate" in str(caught.value.hint)


def test_records_that_say_the_same_need_no_time(tmp_path: Path) -> None:
    """A last line without its end is read in another way than those before it."""
    same = json.dumps(trace("A", "right", 0) | {"q": "A?", "retrieved_ids": ["d1", "d2"]})
    (tmp_path / "a.jsonl").write_text(same, "utf-8")
    (tmp_path / "b.jsonl").write_text(f"{same}\n{same}", "utf-8")
    decision = evaluate(GOLD[:1], str(tmp_path / "*.jsonl"))
    assert decision.counts["superseded"] == 2
    assert decision.report()["items"][0]["claim"] == "right"


@pytest.mark.parametrize("names", list(permutations(["a.jsonl", "b.jsonl"])))
def test_the_worst_needs_no_time(tmp_path: Path, names: tuple[str, str]) -> None:
    files = [[trace("B", "right"), trace("A", "right")], [trace("A", "wrong")]]
    found = items(tmp_path / "x", dict(zip(names, files, strict=True)), on_duplicate="worst")
    assert found == {"A": "wrong", "B": "right"}


@pytest.mark.parametrize("names", list(permutations(["a.jsonl", "b.jsonl"])))
def test_many_questions_over_two_files(tmp_path: Path, names: tuple[str, str]) -> None:
    """Long enough for lines to be taken a block at a time, in parts and from disk."""
    qids = [f"Q{number}" for number in range(3000)]
    gold = [{"qid": qid, "answerable": True, "gold_claim_substr": ["new"]} for qid in qids]
    old = [trace(qid, "old", 1.0) for qid in qids] + [trace(qid, "old again", 2.0) for qid in qids]
    new = [trace(qid, "newer", 3.0) for qid in qids[:1500]] + [trace(qid, "new", 2.5) for qid in qids]
    for name, traces in zip(names, (old, new), strict=True):
        (tmp_path / name).write_text("".join(json.dumps(one) + "\n" for one in traces), "utf-8")
    decision = evaluate(gold, str(tmp_path / "*.jsonl"))
    assert decision.measures["precision"].value == 1
    assert decision.counts["superseded"] == len(old) + len(new) - len(qids)


def test_a_replaced_line_must_be_json_with_one_qid(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    good = json.dumps(trace("A", "right"))
    for bad in ('{"qid": "A", "answer', '{"qid": "A", "q_id": "B", "answer_json": {"claim": "x"}}', '{"claim": "x"}'):
        path.write_text(f"{bad}\n{good}\n", "utf-8")
        with pytest.raises(DataError):
            evaluate(GOLD[:1], path)
