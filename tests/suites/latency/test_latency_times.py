"""What a trace says about time, read exactly; percentiles over counted values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EFFORT
from shipworthy.core.contracts import Trace
from shipworthy.core.metrics import Percentile, Words
from shipworthy.core.tally import Tally
from shipworthy.suites.latency.metrics import metrics
from shipworthy.suites.latency.options import Options
from shipworthy.suites.latency.times import in_ms, in_ticks, length_of, ticks, times_of


def test_percentiles_are_interpolated_on_unrounded_milliseconds() -> None:
    tally = Tally()
    tally.count([("e2e", times_of(Trace(qid="a", e2e_ms=ms)).total or 0) for ms in (1, 2, 3, 4)])
    known = metrics(Options())
    shown = {name: known[name].measure(tally).value for name in ("p50", "p90", "p95")}
    assert shown == {"p50": Fraction(5, 2), "p90": Fraction(37, 10), "p95": Fraction(385, 100)}


@settings(max_examples=17 * EFFORT, deadline=None)
@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=80), st.sampled_from([50, 90, 95, 99]))
def test_a_percentile_lies_between_its_neighbours_and_below_its_bound(values: list[int], p: int) -> None:
    tally = Tally()
    tally.count([("e2e", number) for number in values])
    found = Percentile("p", Words(), of="e2e", p=Fraction(p)).measure(tally)
    ordered, rank = sorted(values), Fraction(p, 100) * (len(values) - 1)
    assert ordered[int(rank)] <= (found.value or 0) <= ordered[min(int(rank) + 1, len(values) - 1)]
    if found.bounds[1] is not None:
        assert found.value <= found.bounds[1]  # type: ignore[operator]


def took(**fields: Any) -> Fraction | None:
    total = times_of(Trace(qid="a", **fields)).total
    return None if total is None else in_ms(total)


@pytest.mark.parametrize("written", ["81.234", "0.1", "2000.0000000000002", "1e-300", "1.7976931348623157e308", "0.0"])
def test_a_time_is_what_was_written_and_not_its_binary_neighbour(written: str) -> None:
    assert took(e2e_ms=float(written)) == Fraction(written)


def test_other_names_of_latency_and_sums_of_stages() -> None:
    assert took(latency_ms=7.0) == 7
    assert took(latency_total_ms=8.0) == 8
    both = frozenset(("retrieval", "llm"))
    for named in ("latency_ms", "stage_ms"):
        summed = times_of(Trace(qid="a", **{named: {"retrieval": 1.5, "llm": 2.0}}), both)
        assert summed.total == ticks(3.5) and summed.summed
    assert times_of(Trace(qid="a", stage_ms={"llm": 2.0}), both).total is None  # a part is no sum
    assert took(stage_ms={"llm": 2.0}) is None and took() is None


@pytest.mark.parametrize(
    ("words", "length"), [(0, "short"), (49, "short"), (50, "medium"), (200, "medium"), (201, "long")]
)
def test_buckets_of_question_length(words: int, length: str) -> None:
    assert length_of("word " * words) == length


@pytest.mark.parametrize("written", ["2000", "0.5", "1500.25", "1/3"])
def test_a_budget_is_counted_in_the_unit_of_times(written: str) -> None:
    assert in_ms(in_ticks(Fraction(written))) == Fraction(written)
    assert in_ticks(Fraction("81.234")) == ticks(81.234)
