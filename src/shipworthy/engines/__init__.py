"""Engines: how evidence is gathered, never what it means. Each engine is one file here."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import UsageError

if TYPE_CHECKING:
    from ..core.suite import Engine

ENGINES = {
    "auto": "all cores where there is enough to read, else one process",
    "inline": "one process, one case after the other",
    "processes": "all cores of this machine",
    "dask": "an existing Dask cluster (extra: dask)",
}
SETTINGS = {
    "jobs": "Number of processes.  [default: all cores]",
    "scheduler": "With --engine dask: the cluster, as tcp://HOST:8786.",
    "memory_limit": "Memory to work in, such as 512MB or 2GB; the rest goes to a temporary folder.",
}
_TAKES = {
    "auto": ("jobs", "memory_limit"),
    "inline": ("memory_limit",),
    "processes": ("jobs", "memory_limit"),
    "dask": ("scheduler",),
}


def engine(name: str = "inline", **settings: Any) -> Engine:
    """An engine by name, imported only now; `settings` are those that were given, such as `jobs`."""
    if name not in ENGINES:
        raise UsageError(
            f"there is no engine {name!r}", hint=f"Use one of {', '.join(ENGINES)}.", code="engine-unknown"
        )
    given = {key: value for key, value in settings.items() if value is not None}
    for key in given:
        if key not in _TAKES.get(name, ()):
            raise UsageError(
                f"the engine {name} takes no {key}",
                where=f"--{key.replace('_', '-')}",
                hint="Leave it out, or choose another --engine.",
                code="engine-setting",
            )
    given.pop("memory_limit", None)  # the limit was applied before: large inputs are on disk by now
    run: Engine = import_module(f".{name}", __name__).run
    return partial(run, **given) if given else run


def workers(name: str, jobs: int | None) -> int:
    """How many processes an engine would use on this machine; 0 if the work is done elsewhere."""
    if name == "dask":
        return 0
    if name == "inline":
        return 1
    return jobs or cores()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
