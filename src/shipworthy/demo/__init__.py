"""The demo: a guarded question-answering pipeline over a small corpus of its own, with faults to switch on."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from .pipeline import FAULTS, Knobs, answer, retrieve
from .retrieval import INDEXES

__all__ = ["FAULTS", "INDEXES", "Knobs", "answer", "gold_path", "retrieve"]


def gold_path(fresh: bool = False) -> Path:
    """Where the demo's gold set lies; `fresh` is the small one that the pipeline was not developed on."""
    return Path(str(files(__package__) / ("gold-fresh.jsonl" if fresh else "gold.jsonl")))
