"""The demo: a guarded question-answering pipeline over a small corpus of its own, with faults to switch on."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from shipworthy.demo.blocks import INDEXES
from shipworthy.demo.faults import FAULTS
from shipworthy.demo.pipeline import Knobs, answer, retrieve

__all__ = ["FAULTS", "INDEXES", "Knobs", "answer", "gold_path", "retrieve"]


def gold_path() -> Path:
    """Where the demo's gold set lies in the installed package."""
    return Path(str(files(__package__) / "gold.jsonl"))
