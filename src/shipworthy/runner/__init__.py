"""The runner: ask a live system and write traces.

gold ─ make_plan ─▶ Ask      one question, asked once: qid, seed, jitter, paraphrase, arm
     ─ Target ────▶ fields   http, chat, command, python, replay, demo
     ─ Execution ─▶ record   retries, budget, pace, deadline
     ─ Journal ───▶ line     one write, resumable

load asks at a fixed rate, mirror asks two retrieval endpoints, reasoner asks the cases of a reasoning fixture.
"""

from __future__ import annotations

from .jitter import JITTERS, jitter
from .journal import Journal
from .load import LoadSummary, run_load
from .plan import Arm, Ask, Plan, make_plan, read_arms
from .sweep import RunSummary, run, run_async
from .targets import Target, TargetOptions, parse_target

__all__ = [
    "JITTERS",
    "Arm",
    "Ask",
    "Journal",
    "LoadSummary",
    "Plan",
    "RunSummary",
    "Target",
    "TargetOptions",
    "jitter",
    "make_plan",
    "parse_target",
    "read_arms",
    "run",
    "run_async",
    "run_load",
]
