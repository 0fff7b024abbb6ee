"""Every evaluation of a test by a chosen engine, whoever asks for it: what comes out must be what one process gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from scattered import scattered

from shipworthy.core import spill
from shipworthy.engines import processes, spilled
from shipworthy.jobs import evaluate as door

ENGINES = {
    "scattered-1": scattered(1),
    "scattered-2": scattered(2),
    "spilled": spilled.run,
    "spilled-2": partial(spilled.run, jobs=2, part=700),
    "processes": partial(processes.run, jobs=2, part=700),  # a few lines each
}


def use_engine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("spilled"):
        monkeypatch.setattr(door, "limited", in_buckets)
    monkeypatch.setattr(door, "engine_named", lambda _name, **settings: ENGINES[name])


@contextmanager
def in_buckets(limit: object, sources: Iterable[object], *given: object) -> Iterator[None]:
    """As within a limit, with buckets of a few questions, pieces of two records, and next to no memory for rows."""
    with spill.limited("32MB", sources):
        store = spill.active()
        assert store is not None
        store.buckets, store.together, store.limit = 7, 2, 20_000
        yield
