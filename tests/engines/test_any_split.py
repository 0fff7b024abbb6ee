"""Any split, order and engine gives the same bytes, for every suite and every pinned case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from scattered import scattered

from golden.runner import Case, load_cases, produce
from shipworthy.core import spill
from shipworthy.engines import processes, spilled
from shipworthy.jobs import evaluate as door

SCORING = ("score", "stability", "latency", "retrieval", "agreement", "reason", "outcomes", "check")
CASES = [case for case in load_cases() if case.run.split()[0] in SCORING and not case.plain]
ENGINES = {
    "scattered-1": scattered(1),
    "scattered-2": scattered(2),
    "spilled": spilled.run,
    "processes": partial(processes.run, jobs=2, part=700),  # a few lines each
}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every evaluation by the engine, whoever asks for it."""
    if request.param == "spilled":
        monkeypatch.setattr(door, "limited", in_buckets)
    monkeypatch.setattr(door, "engine_named", lambda name, **settings: ENGINES[request.param])
    yield


@contextmanager
def in_buckets(limit: object, sources: Iterable[object]) -> Iterator[None]:
    """As within a limit, with buckets of a few questions, pieces of two records, and next to no memory for rows."""
    with spill.limited("32MB", sources):
        store = spill.active()
        assert store is not None
        store.buckets, store.together, store.limit = 7, 2, 20_000
        yield


_whole: dict[str, dict[str, str]] = {}


@pytest.fixture
def whole(case: Case) -> dict[str, str]:
    """What one process makes of a case."""
    if case.name not in _whole:
        _whole[case.name] = produce(case)
    return _whole[case.name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reports_do_not_depend_on_the_engine(case: Case, whole: dict[str, str], engine: None) -> None:
    assert produce(case) == whole
