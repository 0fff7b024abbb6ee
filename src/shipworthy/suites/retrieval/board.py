"""What a person reads about retrieval below the gates: settings, each type, short lists, what changed against live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...core.evidence import Row
from ...core.metrics import Measure, decimal
from ...text import plural, visible

SHOWN = 10
_HEADS = {"citation_accuracy": "cited place"}  # so that the table fits 80 columns


def details(settings: str, depth: int, slices: Mapping[str, Mapping[str, Measure]], sections: Row) -> list[str]:
    """Lines of text, from nothing but what the report says; empty ones part its tables."""
    return [
        "",
        f"Settings: {settings}",
        *_slices(slices, depth),
        *_states(sections["lambda"], sections["delta_s"]),
        *_short(sections["short_lists"]),
        *_comparison(sections.get("comparison")),
    ]


def _slices(slices: Mapping[str, Mapping[str, Measure]], depth: int) -> Iterator[str]:
    names = (f"precision@{depth}", f"recall@{depth}", f"ndcg@{depth}", "coverage", "citation_accuracy")
    if not slices:
        return
    yield ""
    yield "By slice".ljust(18) + "".join(_HEADS.get(name, name).rjust(12) for name in names)
    for slice_name, measures in slices.items():
        yield "  " + visible(slice_name, 16).ljust(16) + "".join(_cell(measures, name).rjust(12) for name in names)


def _cell(measures: Mapping[str, Measure], name: str) -> str:
    measure = measures.get(name)
    return "–" if measure is None or measure.value is None else f"{decimal(measure.value)} n={measure.n}"


def _states(converging: Row, distance: Row) -> Iterator[str]:
    if not any(converging["states"].values()):
        return
    states = "  ".join(f"{state} {count}" for state, count in converging["states"].items())
    yield ""
    yield f"Convergence (λ): {states}  ({converging['read']} read from the log, {converging['derived']} derived)"
    if any(distance["bands"].values()):
        bands = ", ".join(f"{name} {count}" for name, count in distance["bands"].items())
        yield f"Semantic distance (ΔS) by {visible(distance['embedder'])}: {bands}"


def _short(short: Mapping[str, str]) -> Iterator[str]:
    if short:
        yield ""
        yield "Result lists shorter than k"
    for qid, text in list(short.items())[:SHOWN]:
        yield f"  {visible(qid, 40)}  {text}"


def _comparison(compared: Row | None) -> Iterator[str]:
    if not compared:
        return
    lost, gained = len(compared["hits_lost"]), len(compared["hits_gained"])
    yield ""
    yield (
        f"Shadow against live on {plural(compared['pairs'], 'question')}: {compared['metric']} "
        f"{_signed(compared['difference'])} (permutation test p = {_p(compared['permutation_p'])}); hits lost {lost}, "
        f"gained {gained} (exact McNemar p = {compared['mcnemar_two_sided_p']:.3g})"
    )
    for name in ("worse", "better"):
        rows = compared[name]
        for row in rows[:SHOWN]:
            types = f" ({visible(', '.join(row['type']), 40)})" if row["type"] else ""
            yield f"  {name}  {visible(row['qid'], 40)}{types}  {row['live']:.3f} → {row['shadow']:.3f}"
        if len(rows) > SHOWN:
            yield f"  … and {len(rows) - SHOWN} more are {name}; the JSON report lists all"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
