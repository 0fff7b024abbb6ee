"""Plans: how many runs were planned, and how many different ones of them are there.

Every record that `run` writes names its plan (`sweep_id`), its place in it (`run_id`) and how many runs the plan has
(`planned_runs`), so that whatever is left of a file, in whatever order and over however many files, tells what is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from hashlib import blake2b

import msgspec

HEADER_KEY = "shipworthy_journal"  # of line 1 in older files, which says instead of the records how many were planned
# What tells a run from the others of its plan where it has lost its run_id.
_IDENTITY = ("qid", "q_id", "seed", "jitter", "paraphrase", "temperature", "arm", "load_rps")


class Planned(msgspec.Struct):
    """The runs of one plan. What parts of an input know of it adds up."""

    planned: int = 0  # 0 where nothing says so
    runs: set[int] = set()  # hashes of those that are there; a repeated run is one

    @property
    def held(self) -> int:
        return len(self.runs)

    def __iadd__(self, other: Planned) -> Planned:
        self.planned = max(self.planned, other.planned)
        self.runs |= other.runs
        return self


Plans = dict[str, Planned]  # by the id of the plan


def note_runs(plans: Plans, records: Iterable[object]) -> None:
    """Count those records that are runs of a plan, whether objects or typed ones."""
    for record in records:
        get = record.get if isinstance(record, Mapping) else partial(_attribute, record)
        plan = get("sweep_id")
        if not plan or not isinstance(plan, str):
            continue
        known = plans.setdefault(plan, Planned())
        known.planned = max(known.planned, planned_in(get("planned_runs")))
        name = get("run_id") or repr([_same(get(field)) for field in _IDENTITY])
        digest = blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        known.runs.add(int.from_bytes(digest))


def note_header(plans: Plans, header: Mapping[str, object], planned: int) -> None:
    """Count what the header of an older file says of the records that name the same plan."""
    plan = header.get("sweep_id")
    known = plans.setdefault(plan if isinstance(plan, str) else "", Planned())
    known.planned = max(known.planned, planned)


def add_plans(plans: Plans, others: Plans) -> None:
    for plan, found in others.items():
        known = plans.setdefault(plan, Planned())
        known += found


def planned_in(size: object) -> int:
    """A number of runs; 0 where it is none."""
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 0


def _same(value: object) -> object:
    """1.0 is 1, however a number was written."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _attribute(record: object, name: str) -> object:
    value = getattr(record, name, None)
    return None if value is msgspec.UNSET else value
