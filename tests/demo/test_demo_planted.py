"""The planted history of the demo: its three causes are there, and the pages lead to them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from shipworthy import evaluate
from shipworthy.demo import gold_path
from shipworthy.demo.planted import BREAKS, BROKEN, COIN, NIGHTS, OUTAGE, Night, nights


@pytest.fixture(scope="module")
def planted() -> list[Night]:
    return list(nights([json.loads(line) for line in gold_path().read_text("utf-8").splitlines()]))


def failing(night: Night) -> set[str]:
    decision = evaluate("answers", gold=night.gold, trace=night.traces)
    return {item["qid"] for item in decision.items if item["reason"]}


def test_a_break_a_coin_and_an_outage_are_planted_and_nothing_else(planted: list[Night]) -> None:
    assert [night.known["label"] for night in planted] == [f"night-{number:02d}" for number in range(1, NIGHTS + 1)]
    results = {
        number: failing(planted[number - 1]) for number in (1, BREAKS - 1, BREAKS, OUTAGE[0] - 1, OUTAGE[0], NIGHTS)
    }
    always = results[1] - {COIN}
    assert BROKEN not in results[BREAKS - 1] and BROKEN in results[BREAKS] and BROKEN in results[NIGHTS]
    assert results[NIGHTS] - {COIN, BROKEN} == always
    assert len(results[OUTAGE[0]]) > 10 > len(results[OUTAGE[0] - 1])
    coin = [night.traces for night in planted]
    said = ["appendix" in next(str(row) for row in traces if row["qid"] == COIN) for traces in coin]
    assert 10 < sum(said) < NIGHTS - 10


def test_it_is_the_same_each_time(planted: list[Night]) -> None:
    again: Iterator[Night] = nights([json.loads(line) for line in gold_path().read_text("utf-8").splitlines()])
    assert [night.traces for night in again] == [night.traces for night in planted]
