"""Latency against accuracy: how long a validated answer takes, on each arm, and what that time buys."""

from .arms import ONLY, Choice, Point, arm_of, choose, frontier
from .baseline import baseline_gates, read_baseline
from .facts import ACCURACY, ALIASES, gates, metrics, run_facts
from .summary import compare_arms, counts, diagnose, items, points, sections, slowest
from .times import in_ms, length_of, problem_of, times_of
from .verdict import Options, Run, Verdict, judge

NAME = "latency"

__all__ = [
    "ACCURACY", "ALIASES", "NAME", "ONLY", "Choice", "Options", "Point", "Run", "Verdict", "arm_of", "baseline_gates",
    "choose", "compare_arms", "counts", "diagnose", "frontier", "gates", "in_ms", "items", "judge", "length_of", "metrics", "points", "problem_of",
    "read_baseline", "run_facts", "sections", "slowest", "times_of",
]  # fmt: skip
