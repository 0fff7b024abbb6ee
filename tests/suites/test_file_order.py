"""Several files as one input: what they are called never decides, whichever run, cell or sweep is the last."""

from __future__ import annotations

import json
import os
import tempfile
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shipworthy import DataError
from shipworthy.jobs.evaluate import evaluate

Record = dict[str, Any]
NAMES = ["a.jsonl", "b.jsonl"]
QIDS = ("A", "B")
GOLD = [
    {
        "qid": qid,
        "question": f"{qid}?",
        "answerable": True,
        "gold_claim_substr": ["right answer"],
        "gold_citations": ["d1"],
        "relevant": ["d1"],
    }
    for qid in QIDS
]
INPUT = {"answers": "trace", "retrieval": "run", "stability": "runs", "latency": "trace"}
OPTIONS: dict[str, dict[str, Any]] = {
    "answers": {},
    "retrieval": {"gates": ("recall@1>=1",), "k": (1,)},
    "stability": {"gates": ("acr>=0.95",), "only_gates": True},
    "latency": {"budget_ms": "100"},
}


def run(qid: str, good: bool = True, **fields: Any) -> Record:
    """A run that every suite passes, or fails."""
    claim, found = ("The right answer.", "d1") if good else ("Something else.", "d2")
    record = {
        "qid": qid,
        "answer_json": {"claim": claim, "citations": ["d1"]},
        "retrieved_ids": ["d1", "d2"] if good else [found],
        "e2e_ms": 10.0 if good else 900.0,
    }
    return record | fields


def decided(suite: str, files: dict[str, list[Record]], **options: Any) -> Any:
    """What is decided about the files, without their names; or the code of the error."""
    with tempfile.TemporaryDirectory() as folder:
        for name, records in files.items():
            Path(folder, name).write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
        try:
            decision = evaluate(suite, gold=GOLD, **{INPUT[suite]: folder}, **(OPTIONS[suite] | options))
        except DataError as error:
            return error
    report = decision.report()
    return {name: value for name, value in report.items() if name not in ("inputs", "digest", "run")}


def verdict(suite: str, files: dict[str, list[Record]], **options: Any) -> str:
    found = decided(suite, files, **options)
    if isinstance(found, DataError):
        raise found
    return str(found["decision"])


# What makes two records one run of a question, or one sweep.
ONE = {
    "answers": {},
    "retrieval": {"paraphrase": 1, "seed": 2},
    "stability": {"seed": 2, "jitter": "ws"},
}
SUITES = list(ONE)


@pytest.mark.parametrize("names", list(permutations(NAMES)))
@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize(("times", "expected"), [((1, 2), "NO-SHIP"), ((2, 1), "SHIP")])
def test_the_later_one_counts(suite: str, names: tuple[str, str], times: tuple[int, int], expected: str) -> None:
    files = [
        [run(qid, good, ts=ts, **ONE[suite]) for qid in QIDS] for good, ts in zip((True, False), times, strict=True)
    ]
    assert verdict(suite, dict(zip(names, files, strict=True))) == expected


@pytest.mark.parametrize("names", list(permutations(NAMES)))
@pytest.mark.parametrize("suite", SUITES)
def test_within_a_file_the_line_counts_whatever_its_time(suite: str, names: tuple[str, str]) -> None:
    old = [run("A", False, ts=9, **ONE[suite]), run("A", False, ts=1, **ONE[suite]), run("B", **ONE[suite])]
    new = [run("A", False, ts=8, **ONE[suite]), run("A", ts=2, **ONE[suite])]
    assert verdict(suite, dict(zip(names, (old, new), strict=True))) == "SHIP"


@pytest.mark.parametrize("names", list(permutations(NAMES)))
@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("times", [(None, None), (5, None), (5, 5), (5, "soon"), (5, "nan")])
def test_where_nothing_tells_it_is_an_error_that_names_both(
    suite: str, names: tuple[str, str], times: tuple[object, object]
) -> None:
    files = [
        [run("B", **ONE[suite]), run("A", ts=times[0], **ONE[suite])],
        [run("A", False, ts=times[1], **ONE[suite])],
    ]
    found = decided(suite, dict(zip(names, files, strict=True)))
    assert isinstance(found, DataError) and found.code == "trace-order" and found.exit_code == 3
    assert f"{names[0]}:2" in found.what and f"{names[1]}:1" in found.what and "'A'" in found.what


@pytest.mark.parametrize("names", list(permutations([*NAMES, "c.jsonl"])))
@pytest.mark.parametrize("suite", SUITES)
def test_duplicates_that_say_the_same_need_no_time(suite: str, names: tuple[str, str, str]) -> None:
    files = [
        [run("A", **ONE[suite]), run("B", **ONE[suite])],
        [run("A", ts=7, **ONE[suite])],
        [run("A", False, ts=6, **ONE[suite])],  # older than one that says the same as the undated
    ]
    assert verdict(suite, dict(zip(names, files, strict=True))) == "SHIP"


@pytest.mark.parametrize("suite", SUITES)
def test_different_runs_are_no_duplicates(suite: str) -> None:
    """A question that is asked under several seeds, a file each, has no trace too many."""
    if suite == "answers":
        pytest.skip("one trace a question counts, whatever its seed")
    one, other = ({**ONE[suite], "seed": seed} for seed in (2, 10))
    files = {"a": [run(qid, **one) for qid in QIDS], "b": [run(qid, **other) for qid in QIDS]}
    assert verdict(suite, {f"{name}.jsonl": runs for name, runs in files.items()}) == "SHIP"


def test_only_cells_that_are_judged_have_to_be_told_apart() -> None:
    cell = {"jitter": "none", "seed": 1}
    good = [run(qid, **cell, sweep_id="new", arm="x", ts=9) for qid in QIDS]
    bad = [
        run("A", False, **cell, sweep_id="old", arm="x", ts=1),
        run("A", False, seed=3, jitter="none", sweep_id="new", arm="x", ts=2),
        run("A", False, **cell, sweep_id="new", arm="y", ts=3),
    ]
    files = {"a.jsonl": [*bad, *good], "b.jsonl": [*({**one, "e2e_ms": 1.0} for one in bad)]}
    assert verdict("stability", files, sweep="new", arm="x", seeds=(1,)) == "SHIP"
    mixed = decided("stability", files, sweep="all", arm="x", seeds=(1,))
    assert mixed["decision"] == "SHIP"  # the last of the cell in any sweep


def test_runs_that_do_not_say_which_they_are_are_all_counted() -> None:
    files = {name: [run(qid) for qid in QIDS] for name in NAMES}
    assert decided("stability", files)["details"]["A"]["runs"] == 2


@pytest.mark.parametrize("names", list(permutations(NAMES)))
@pytest.mark.parametrize("suite", ["stability", "latency"])
@pytest.mark.parametrize(("times", "expected"), [((1, 2), "NO-SHIP"), ((2, 1), "SHIP")])
def test_the_sweep_of_the_latest_line_is_judged(
    suite: str, names: tuple[str, str], times: tuple[int, int], expected: str
) -> None:
    files = [
        [run(qid, good, sweep_id=sweep, seed=1, ts=ts) for qid in QIDS]
        for sweep, good, ts in zip(("mon", "tue"), (True, False), times, strict=True)
    ]
    assert verdict(suite, dict(zip(names, files, strict=True))) == expected


@pytest.mark.parametrize("names", list(permutations(NAMES)))
@pytest.mark.parametrize("suite", ["stability", "latency"])
def test_where_nothing_tells_the_last_sweep_one_has_to_be_chosen(suite: str, names: tuple[str, str]) -> None:
    files = [
        [run(qid, good, sweep_id=sweep, seed=1) for qid in QIDS] for sweep, good in (("mon", True), ("tue", False))
    ]
    named = dict(zip(names, files, strict=True))
    found = decided(suite, named)
    assert isinstance(found, DataError) and found.code == "trace-order"
    assert all(f"{name}:2" in found.what for name in names) and "mon" in found.what and "tue" in found.what
    assert "--sweep" in str(found.hint)
    assert verdict(suite, named, sweep="mon") == "SHIP" and verdict(suite, named, sweep="tue") == "NO-SHIP"
    files[0] += files[1]  # both files end with one sweep
    same = decided(suite, dict(zip(names, (files[0], files[1]), strict=True)))
    assert same["decision"] == "NO-SHIP"


records = st.builds(
    run,
    st.sampled_from(QIDS),
    st.booleans(),
    ts=st.sampled_from([None, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    seed=st.sampled_from([None, 1, 2, 10]),
    paraphrase=st.sampled_from([None, 1, "01"]),
    sweep_id=st.sampled_from([None, None, "x"]),
)


@pytest.mark.parametrize("suite", list(INPUT))
@given(st.lists(st.lists(records, min_size=1, max_size=5), min_size=2, max_size=3), st.randoms(use_true_random=False))
@settings(
    deadline=None,
    max_examples=4 if os.environ.get("SHIPWORTHY_ENGINE") else 25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_renaming_files_changes_nothing(suite: str, files: list[list[Record]], random: Any) -> None:
    names = [f"{number}.jsonl" for number in range(len(files))]
    found = [
        decided(suite, dict(zip(order, files, strict=True))) for order in (names, random.sample(names, len(names)))
    ]
    if any(isinstance(one, DataError) for one in found):
        assert found[0].code == found[1].code
    else:
        assert found[0] == found[1]
