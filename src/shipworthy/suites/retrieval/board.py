"""What a person reads about retrieval below the gates: the settings, each type, short lists, what changed against live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...decision import Decision
from ...metrics import Measure, decimal
from ...text import plural, visible

SHOWN = 10


def details(decision: Decision) -> list[str]:
    """Lines of text, from nothing but the decision; empty ones part its tables."""
    depth = 5 if 5 in decision.options["k"] else max(decision.options["k"])
    lines = ["", f"Settings: {decision.headline['settings']}"] if "settings" in decision.headline else []
    return [
        *lines,
        *_slices(decision, depth),
        *_states(decision),
        *_short(decision),
        *_comparison(decision.sections.get("comparison")),
    ]


def _slices(decision: Decision, depth: int) -> Iterator[str]:
    names = (f"precision@{depth}", f"recall@{depth}", f"ndcg@{depth}", "coverage", "citation_accuracy")
    if not decision.slices:
        return
    yield ""
    yield "By slice".ljust(26) + "".join(name.rjust(19) for name in names)
    for slice_name, measures in decision.slices.items():
        yield "  " + visible(slice_name, 24).ljust(24) + "".join(_cell(measures, name).rjust(19) for name in names)


def _cell(measures: Mapping[str, Measure], name: str) -> str:
    measure = measures.get(name)
    return "–" if measure is None or measure.value is None else f"{decimal(measure.value)} n={measure.n}"


def _states(decision: Decision) -> Iterator[str]:
    found = decision.sections.get("lambda")
    if not found or not any(found["states"].values()):
        return
    states = "  ".join(f"{state} {count}" for state, count in found["states"].items())
    yield ""
    yield f"λ: {states}  ({found['read']} read, {found['derived']} derived)"
    distance = decision.sections["delta_s"]
    if not any(distance["bands"].values()):
        return
    bands = ", ".join(f"{name} {count}" for name, count in distance["bands"].items())
    yield f"ΔS by {visible(distance['embedder'])}: {bands}"


def _short(decision: Decision) -> Iterator[str]:
    short = decision.sections.get("short_lists") or {}
    if short:
        yield ""
        yield "Lists shorter than k"
    for qid, text in list(short.items())[:SHOWN]:
        yield f"  {visible(qid, 40)}  {text}"


def _comparison(found: Mapping[str, Any] | None) -> Iterator[str]:
    if not found:
        return
    metric = found["metric"]
    yield ""
    yield (f"Against live, {plural(found['pairs'], 'question')}: {metric} {_signed(found['difference'])}; hits lost {len(found['hits_lost'])}, "
           f"gained {len(found['hits_gained'])} (exact McNemar p = {found['mcnemar_two_sided_p']:.3g}); "
           f"permutation p = {_p(found['permutation_p'])}")  # fmt: skip
    for name in ("worse", "better"):
        rows = found[name]
        for row in rows[:SHOWN]:
            types = f" ({visible(', '.join(row['type']), 40)})" if row["type"] else ""
            yield f"  {name}  {visible(row['qid'], 40)}{types}  {row['live']:.3f} → {row['shadow']:.3f}"
        if len(rows) > SHOWN:
            yield f"  … and {len(rows) - SHOWN} more that are {name}; all of them are in the JSON report"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
