"""The automatic engine: all cores for large inputs, one process where starting workers would cost more."""

from __future__ import annotations

from ..core.suite import Judged, Material, Suite
from . import inline
from .inputs import is_light, size_of, splits

WORTH_STARTING = 64_000_000  # bytes of input; break-even on two free cores


def run(suite: Suite, material: Material, *, jobs: int | None = None) -> Judged:
    if jobs == 1 or not splits(material) or is_light(material) or size_of(material) < WORTH_STARTING:
        return inline.run(suite, material)
    from . import processes  # small runs start faster without its imports

    return processes.run(suite, material, jobs=jobs)
