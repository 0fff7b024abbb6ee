"""Controls: runs with known truth, made from the user's own gold set, held against the gates in force.

    gold → material → answers, stability, latency, retrieval, agreement, reasoning → run → results

A configuration that lets a known-bad run ship, or stops a known-good one, is broken.
"""

from __future__ import annotations

from ...core.control import Control
from .results import SKIPPED, ControlResult, Results, report, sound, summary
from .run import run_controls

__all__ = ["SKIPPED", "Control", "ControlResult", "Results", "report", "run_controls", "sound", "summary"]
