"""The inline engine: one process, one case after the other."""

from __future__ import annotations

from ..core.evaluate import gather, judged
from ..core.suite import Judged, Material, Suite


def run(suite: Suite, material: Material) -> Judged:
    return judged(suite, material, gather(suite, material, material.streams))
