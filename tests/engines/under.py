"""Every evaluation of a test by a chosen engine, whoever asks for it: what comes out must be what one process gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import pytest
from scattered import scattered

from shipworthy.core.inputs import Stream
from shipworthy.core.join import Joined, Keep
from shipworthy.engines import disk
from shipworthy.jobs import evaluate as door

ENGINES: dict[str, Any] = {
    "scattered-1": scattered(1),
    "scattered-2": scattered(2),
    "disk": partial(disk.run, piles=7, part=700),  # a few lines each
    "disk-2": partial(disk.run, piles=3, part=700, jobs=2),
}
ELSEWHERE = ("disk-2", "dask")  # every case is judged in another process


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


@contextmanager
def on_cluster(
    streams: Mapping[str, Stream], keep: Mapping[str, Keep], tick: Callable[[int], None] | None
) -> Iterator[Joined]:
    from shipworthy.engines import dask

    with dask.run(streams, keep, tick, scheduler=cluster().scheduler_address, part=3_000) as joined:
        yield joined


def use_engine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "dask":
        cluster()
    engine = on_cluster if name == "dask" else ENGINES[name]
    monkeypatch.setattr(door, "engine_named", lambda _name, **settings: engine)
