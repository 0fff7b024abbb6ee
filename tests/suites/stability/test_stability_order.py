"""Stability: neither the order of lines nor how they are dealt out changes a byte."""

from __future__ import annotations

import random
from typing import Any

import pytest
from scattered import scattered
from stability_helpers import grid, score

from conftest import gold, trace, unanswerable
from shipworthy.core.decision import encode, report
from shipworthy.core.evaluate import evaluate
from shipworthy.core.options import make_options
from shipworthy.engines.memory import run
from shipworthy.errors import DataError
from shipworthy.suites.stability.suite import SUITE


def test_the_order_of_lines_changes_nothing() -> None:
    runs = grid("a", **{"0/ws": "wrong"}) + grid("b", cite=("d1", "d2")) + grid("u", "not in context")
    items = [gold("a"), gold("b"), unanswerable("u")]
    first = report(score(items, runs))["digest"]
    for number in range(5):
        shuffled = runs[:]
        random.Random(number).shuffle(shuffled)
        assert report(score(items, shuffled))["digest"] == first


def _mixed() -> list[dict[str, Any]]:
    """Two sweeps, holes, repeated places, an unknown question, refusals and constraints."""
    kept = trace("c", echo=["Keep keys sorted."])
    rows = grid("a", **{"0/ws": "wrong", "1/punct": "not in context"}) + grid("b", cite=("d1", "d2"))[:-1]
    rows += grid("c", **{"0/none": kept}) + grid("u", "not in context", **{"2/ws": "blue"}) + grid("z")
    old = [{**row, "sweep_id": "old"} for row in rows[::2]]
    new = [{**row, "sweep_id": "new"} for row in [*rows, rows[3], rows[12]]]
    return old + new


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sweep": "old"},
        {"sweep": "all", "refusal": "natural"},
        {"seeds": [0, 1, 5], "jitters": ["ws", "none"]},
        {"by": "type", "gates": "mean_acr[type=table]=0.5", "offenders": 1},
        {"profile": "reference"},
    ],
    ids=str,
)
def test_however_the_work_is_dealt_out_the_report_is_the_same(options: dict[str, Any]) -> None:
    items = [gold("c", constraints=["Keep keys sorted."]), gold("b", type="table"), unanswerable("u"), gold("a")]
    sources, chosen = {"gold": items, "runs": _mixed()}, make_options(SUITE.options, options)
    whole = encode(report(evaluate(SUITE, sources, chosen, run)))
    for seed in range(20):
        assert encode(report(evaluate(SUITE, sources, chosen, scattered(seed)))) == whole


@pytest.mark.parametrize(
    ("options", "code"),
    [({"sweep": "x"}, "sweep-unknown"), ({"arm": "x"}, "arm-without-traces"), ({"closed": True}, "trace-unknown")],
)
def test_however_the_work_is_dealt_out_the_error_is_the_same(options: dict[str, Any], code: str) -> None:
    sources, chosen = {"gold": [gold("a"), gold("b")], "runs": _mixed()}, make_options(SUITE.options, options)
    errors = set()
    for engine in (run, scattered(1), scattered(2)):
        with pytest.raises(DataError, match=code) as error:
            evaluate(SUITE, sources, chosen, engine)
        errors.add(str(error.value))
    assert len(errors) == 1
