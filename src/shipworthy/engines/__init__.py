"""Engines: how lines come together and who works on them, never what is right. Each engine is one file here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..reading.files import is_remote

if TYPE_CHECKING:
    from ..core.inputs import Stream
    from ..core.join import Engine, Joined, Keep

ENGINES = {
    "auto": "memory or disk, whichever suits the size of the files, on all cores",
    "memory": "everything in memory",
    "disk": "a temporary folder, for files that are larger than memory",
    "dask": "an existing Dask cluster (extra: dask)",
}
SETTINGS = {
    "jobs": "Number of processes.  [default: all cores]",
    "scheduler": "With --engine dask: the cluster, as tcp://HOST:8786.",
    "memory_limit": "Memory to work in, such as 512MB or 2GB; the rest goes to a temporary folder.",
}
_TAKES = {
    "auto": ("jobs", "memory_limit"),
    "memory": ("jobs", "memory_limit"),
    "disk": ("jobs", "memory_limit"),
    "dask": ("scheduler",),
}
BEFORE = {"inline": "memory", "processes": "auto", "spilled": "disk"}  # what engines were called
LARGE = 64_000_000  # bytes of files above which they are judged from disk …
ROOM = 3  # … if the disk has so many times as much free
PACKED = 8  # bytes that one byte of an archive may stand for


def engine(name: str = "memory", **settings: Any) -> Engine:
    """An engine by name, imported only now; `settings` are those that were given, such as `jobs`.

    A memory limit is worked within on disk.
    """
    if name not in ENGINES:
        raise unknown_engine(name)
    given = {key: value for key, value in settings.items() if value is not None}
    for key in given:
        if key not in _TAKES.get(name, ()):
            raise UsageError(
                f"the engine {name} takes no {key}",
                where=f"--{key.replace('_', '-')}",
                hint="Leave it out, or choose another --engine.",
                code="engine-setting",
            )
    if name in ("auto", "disk"):
        given.setdefault("jobs", cores())
    if given.get("memory_limit"):
        from ..core.temporary import parse_size

        name, given["memory_limit"] = "disk", parse_size(given["memory_limit"])
    run: Engine = auto if name == "auto" else import_module(f".{name}", __name__).run
    return partial(run, **given) if given else run


def auto(
    streams: Mapping[str, Stream], keep: Mapping[str, Keep], tick: Callable[[int], None] | None, **given: Any
) -> AbstractContextManager[Joined]:
    """The disk engine for large files, else the memory engine."""
    run: Engine = import_module(".disk" if _is_large(streams.values()) else ".memory", __name__).run
    return partial(run, **given)(streams, keep, tick)


def unknown_engine(name: str) -> UsageError:
    now = f"It is {BEFORE[name]} now: use" if name in BEFORE else "Use"
    hint = f"{now} one of {', '.join(ENGINES)}."
    return UsageError(f"there is no engine {name!r}", hint=hint, code="engine-unknown")


def _is_large(streams: Iterable[Stream]) -> bool:
    """Whether files are large that can be read in parts, and the temporary folder has room for them.

    Of those that are read whole, such as TREC runs, only what is made of them is kept: a folder would save nothing.
    """
    size = sum(size_of(path) for stream in streams if not stream.whole for path in stream.paths)
    if size < LARGE:
        return False
    from ..core.temporary import has_room

    return has_room(ROOM * size)


def size_of(path: str) -> int:
    """Bytes of a file; an archive counts for what it may unpack to, and what is no file for nothing."""
    if is_remote(path) and not os.path.exists(path):
        from ..reading.remote import size_of as remote_size

        size = remote_size(path) or 0
    else:
        size = os.path.getsize(path) if os.path.isfile(path) else 0
    return size * (PACKED if path.lower().endswith((".gz", ".zst", ".parquet")) else 1)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
