"""Retrieval: neither the order of lines nor how they are dealt out changes a byte."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieval_helpers import RANGED, line, question, score
from scattered import scattered

from conftest import EFFORT
from shipworthy.core.decision import encode, report
from shipworthy.core.evaluate import evaluate
from shipworthy.core.options import make_options
from shipworthy.engines.memory import run
from shipworthy.errors import DataError
from shipworthy.suites import suite_for
from shipworthy.suites.retrieval.suite import SUITE


def drawn(seed: int = 5) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Questions of two types, and two runs of each."""
    draw = random.Random(seed)
    gold = [
        question(f"q{number}", relevant=draw.sample("abcdef", 2), type=draw.choice(("prose", "table")))
        for number in range(12)
    ]
    log = [
        line(item["qid"], found=draw.sample("abcdefgh", 5), cites=draw.sample("abc", 1), seed=seed)
        for item in gold
        for seed in (0, 1)
    ]
    return gold, log


@settings(max_examples=10 * EFFORT, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(shuffled: random.Random) -> None:
    gold, log = drawn()
    other = list(log)
    shuffled.shuffle(other)
    assert report(score(gold, other, log)) == report(score(gold, log, other))


def mixed() -> dict[str, list[dict[str, Any]]]:
    """Failed, repeated, refused and unknown lines, ranges, texts, sections, negatives; a live log with a hole."""
    gold = [
        question("q3", [RANGED, "b"], anchor_section="1", negatives=["x"], lang="de", paraphrases=["?", "??"]),
        question("q1", [{"id": "a", "text": "three kilograms"}], anchor_section="4.2", lang="en", type="table"),
        question("q2", [], answerable=False),
        question("q4", ["a"], lang="en"),
    ]
    shadow = [
        line("q3", ["x", RANGED, "b"], [RANGED], seed=seed, paraphrase=number, index_hash=f"h{seed}")
        for seed in (0, 1)
        for number in (0, 1, 2)
    ]
    shadow += [
        line(
            "q1", [{"id": "a", "text": "three kilograms", "score": 0.5}, {"id": "y", "score": 0.7}], ["a"], q="weight?"
        ),
        line("q1", ["y", "z", "unknown"], ["y"], paraphrase=1),
        line("q1", ["y"], ["y"], paraphrase=1),
        {"qid": "q2", "topk": [], "answer_json": {"claim": "not in context"}},
        {"qid": "q4", "error": "timeout"},
        line("q9"),
    ]
    live = [line("q3", [RANGED], [RANGED], index_hash="h1"), line("q1", ["z"]), line("q4", ["a"]), line("q8")]
    return {"gold": gold, "shadow": shadow, "live": live}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"by": "lang", "gates": "recall@5[lang=en]>=baseline-0.02", "offenders": 1},
        {"match": "offsets", "only_gates": True, "gates": "coverage=0.5"},
        {"match": "text", "missing_query": "skip", "no_relevant": "zero"},
        {"embedder": "precomputed", "k": [2], "recall": "any"},
        {"profile": "reference"},
    ],
    ids=str,
)
def test_however_the_work_is_dealt_out_the_report_is_the_same(options: dict[str, Any]) -> None:
    sources, chosen = mixed() | {"texts": {"b": "some text"}}, make_options(SUITE.options, options)
    for inputs in (sources, {name: source for name, source in sources.items() if name != "live"}):
        if "baseline" in str(options) and "live" not in inputs:
            continue
        whole = encode(report(evaluate(SUITE, inputs, chosen, run)))
        for seed in range(20):
            assert encode(report(evaluate(SUITE, inputs, chosen, scattered(seed)))) == whole


@pytest.mark.parametrize("options", [{"metrics": "P@3,R@5,nDCG@3,MRR,MAP"}, {"metrics": "R@1", "no_relevant": "zero"}])
def test_however_lists_are_dealt_out_the_report_is_the_same(options: dict[str, Any]) -> None:
    sources = {name: source for name, source in mixed().items() if name != "live"}
    chosen = make_options(SUITE.options, options)
    suite = suite_for(SUITE, chosen, sources)
    whole = encode(report(evaluate(suite, sources, chosen, run)))
    for seed in range(20):
        assert encode(report(evaluate(suite, sources, chosen, scattered(seed)))) == whole


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"missing_query": "error"}, "retrieval-missing"),
        ({"no_relevant": "error"}, "retrieval-no-relevant"),
        ({"order": "score"}, "retrieval-no-score"),
        ({"duplicates": "error"}, "retrieval-duplicate"),
        ({"metrics": "P@1", "missing_query": "error"}, "retrieval-missing"),
    ],
    ids=str,
)
def test_however_the_work_is_dealt_out_the_error_is_the_same(options: dict[str, Any], code: str) -> None:
    gold = [question(name, relevant) for name, relevant in (("q3", "a"), ("q1", "b"), ("q5", ""), ("q4", ""))]
    log = [line("q4", ("a", "a")), line("q5", ("a",)), line("q6", ("a",))]
    if code != "retrieval-missing":
        log += [line("q1", ("x", "x")), line("q3", ("y", "y"))]
    sources, chosen = {"gold": gold, "shadow": log}, make_options(SUITE.options, options)
    errors = set()
    for engine in (run, *map(scattered, range(6))):
        with pytest.raises(DataError, match=code) as error:
            evaluate(suite_for(SUITE, chosen, sources), sources, chosen, engine)
        errors.add(str(error.value))
    assert len(errors) == 1
