"""The inline engine: one process, one case after the other."""

from __future__ import annotations

from ..core.evaluate import gather, judged
from ..core.suite import Judged, Material, Suite
from .inputs import needs_disk


def run(suite: Suite, material: Material) -> Judged:
    if needs_disk(material):
        from . import spilled  # a small run does without its imports

        return spilled.run(suite, material)
    return judged(suite, material, gather(suite, material, material.streams))
