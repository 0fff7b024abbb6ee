"""Every evaluation of a test by a chosen engine, whoever asks for it: what comes out must be what one process gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import pytest
from scattered import scattered

from shipworthy.core import spill
from shipworthy.core.suite import Judged, Material, Suite
from shipworthy.engines import processes, spilled
from shipworthy.engines.inputs import size_of
from shipworthy.jobs import evaluate as door

ENGINES = {
    "scattered-1": scattered(1),
    "scattered-2": scattered(2),
    "spilled": spilled.run,
    "spilled-2": partial(spilled.run, jobs=2, part=700),
    "processes": partial(processes.run, jobs=2, part=700),  # a few lines each
}
ELSEWHERE = ("spilled-2", "dask")  # every case is judged in another process


@cache
def cluster() -> Any:
    """A cluster of two worker processes, started when the first test asks for it, and gone with this process."""
    distributed = pytest.importorskip("distributed", reason="the package distributed (extra: dask) is not installed")
    return loopback_cluster(distributed, 2)


def loopback_cluster(distributed: Any, workers: int) -> Any:
    """Worker processes that nobody else can reach: without an address the dashboard listens on every interface."""
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    )


def on_cluster(suite: Suite, material: Material) -> Judged:
    from shipworthy.engines import dask

    part = max(700, size_of(material) // 20)  # a few lines each, and not thousands of parts
    return dask.run(suite, material, scheduler=cluster().scheduler_address, part=part)


def use_engine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "dask":
        cluster()
    if name.startswith("spilled"):
        over = spilled.Workers(2).over if name == "spilled-2" else None
        monkeypatch.setattr(door, "limited", partial(in_buckets, over))
    engine = on_cluster if name == "dask" else ENGINES[name]
    monkeypatch.setattr(door, "engine_named", lambda _name, **settings: engine)


@contextmanager
def in_buckets(over: spill.Over | None, limit: object, sources: Iterable[object], *given: object) -> Iterator[None]:
    """As within a limit, with buckets of a few questions, pieces of two records, and next to no memory for rows."""
    with spill.limited("32MB", sources):
        store = spill.active()
        assert store is not None
        store.buckets, store.together, store.limit = 7, 2, 20_000
        store.over, store.part = over, 400
        yield
