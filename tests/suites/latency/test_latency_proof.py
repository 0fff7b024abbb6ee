"""What proves a percentile: questions, each of which weighs the same, and never how often one was asked."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latency_runs import score

from conftest import EFFORT, gold, trace
from engines.scattered import scattered
from shipworthy.core import evaluate as core
from shipworthy.core.decision import Decision
from shipworthy.core.options import make_options
from shipworthy.suites.latency.suite import SUITE

Rows = list[dict[str, Any]]


def runs(times: list[list[float]], **more: Any) -> Rows:
    """The runs of each question by their times."""
    return [trace(f"q{n:03}") | {"e2e_ms": ms} | more for n, several in enumerate(times) for ms in several]


def timed(rows: Rows, gate: str = "p95<=2000", **options: Any) -> Decision:
    golds = [gold(qid) for qid in sorted({row["qid"] for row in rows})]
    return score(golds, rows, gates=gate, only_gates=True, **options)


def state(rows: Rows, gate: str = "p95<=2000", **options: Any) -> str:
    return next(o.state for o in timed(rows, gate, **options).outcomes if str(o.gate).replace(" ", "") == gate)


@pytest.mark.parametrize(("questions", "repeats"), [(20, 3), (12, 5), (6, 10), (58, 1), (58, 7)])
def test_fewer_than_59_questions_never_prove_a_p95(questions: int, repeats: int) -> None:
    rows = runs([[100.0] * repeats] * questions)
    assert state(rows) == "PASS-BUT-UNPROVEN"
    noted = f"p95 has no upper confidence bound: {questions} questions, at least 59 needed"
    assert noted in timed(rows).diagnosis


@pytest.mark.parametrize("repeats", [1, 2, 3, 10, 17])
def test_59_questions_prove_a_p95_however_often_each_was_asked(repeats: int) -> None:
    # 17 runs don't divide the weight of a question evenly: what is lost counts against the proof, so it takes one more
    assert state(runs([[100.0] * repeats] * (60 if repeats == 17 else 59))) == "PASS"


def test_the_same_lines_twice_prove_nothing_more() -> None:
    forty = runs([[100.0]] * 40)
    assert state(forty) == state(forty + forty) == "PASS-BUT-UNPROVEN"


def test_a_question_that_is_always_slow_is_one_question() -> None:
    """One of 93 may be slow; of 92 that is not certain, and 10 fast runs of each change nothing about it."""
    for repeats in (1, 10):
        fast, slow = [100.0] * repeats, [9000.0] * repeats
        assert state(runs([fast] * 91 + [slow])) == "PASS-BUT-UNPROVEN"
    assert state(runs([[100.0]] * 92 + [[9000.0]])) == "PASS"
    assert state(runs([[100.0] * 10] * 119 + [[9000.0] * 10])) == "PASS"


def test_a_miss_is_certain_by_questions_too() -> None:
    slow = [[9000.0], [100.0], [100.0], [100.0]]
    assert state(runs([several * 10 for several in slow])) == state(runs(slow)) == "FAIL-BUT-CLOSE"
    assert state(runs([several * 3 for several in slow * 4])) == "FAIL"


def test_slices_and_stages_count_their_own_questions() -> None:
    quick = runs([[100.0]] * 59, load_rps=1.0) + runs([[100.0] * 2] * 20, load_rps=5.0)
    assert state(quick, "p95[load=1]<=2000") == "PASS"
    assert state(quick, "p95[load=5]<=2000") == "PASS-BUT-UNPROVEN"
    staged = [row | {"stage_ms": {"llm": row["e2e_ms"]}} for row in runs([[100.0] * 4] * 20)]
    assert state(staged, "llm_p95<=2000") == "PASS-BUT-UNPROVEN"
    more = [row | {"stage_ms": {"llm": row["e2e_ms"]}} for row in runs([[100.0] * 4] * 59)]
    assert state(more, "llm_p95<=2000") == "PASS"


def test_runs_that_fail_are_proven_rare_by_questions() -> None:
    good = runs([[100.0] * 10] * 20)
    assert state(good, "failed_runs<=0.05", allow_missing=20) == "PASS-BUT-UNPROVEN"  # 0 of 200 runs
    assert state(runs([[100.0]] * 59), "failed_runs<=0.05") == "PASS"
    assert state(runs([[100.0] * 3] * 80), "failed_runs<=0.05") == "PASS"


@settings(max_examples=30 * EFFORT, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([100.0, 2000.0, 2100.0]), min_size=1, max_size=3), min_size=1, max_size=4),
    st.integers(1, 40),
    st.sampled_from(["p50<=2000", "p90<=2000", "p95<=2000", "failed_runs<=0.2"]),
)
def test_doubling_every_line_never_makes_anything_certain(times: list[list[float]], often: int, gate: str) -> None:
    rows = runs(times * often)
    once, twice = (state(given, gate) for given in (rows, rows + rows))
    assert not (twice in ("PASS", "FAIL") and once not in ("PASS", "FAIL"))


@settings(max_examples=10 * EFFORT, deadline=None)
@given(st.integers(0, 2**30))
def test_scattered_over_units_the_bounds_are_the_same(seed: int) -> None:
    rng = random.Random(seed)
    times = [[rng.choice([100.0, 250.5, 2000.0]) for _ in range(rng.randint(1, 4))] for _ in range(40)]
    sources = {"gold": [gold(f"q{n:03}") for n in range(40)], "trace": runs(times, load_rps=rng.choice([1.0, 5.0]))}
    options = make_options(SUITE.options, {"gates": ["p50<=2000"], "only_gates": True})
    whole = score(sources["gold"], sources["trace"], gates="p50<=2000", only_gates=True)
    assert core.evaluate(SUITE, sources, options, scattered(seed)).report()["digest"] == whole.report()["digest"]


def test_a_p90_at_its_bound_is_proven_in_at_most_5_percent_of_draws() -> None:
    """The runs of a question take the same time, and nine of ten questions are fast: the bound lies on the edge."""
    rng, draws, wrong = random.Random(7), 400, {"PASS": 0, "FAIL": 0}
    for _ in range(draws):
        times = [[100.0 if rng.random() < 0.9 else 3000.0] * 3 for _ in range(60)]
        found = state(runs(times), "p90<=2000")
        if found in wrong:
            wrong[found] += 1
    # 5 % and 3 standard errors
    assert all(Fraction(count, draws) <= Fraction(83, 1000) for count in wrong.values()), wrong
