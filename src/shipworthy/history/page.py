"""The history page: eval/report.md with the last runs as a table and each metric's trend as a picture."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from xml.sax.saxutils import escape

from ..core.metrics import decimal
from ..reading.files import write_whole
from ..text import visible
from . import SHORT, History, RecordedRun, TrendPoint

WIDTH, HEIGHT, EDGE = 220, 44, 5
_BLOCKS = "▁▂▃▄▅▆▇█"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+!|~@-])")


def write_page(history: History, path: str, *, suite: str = "", branch: str = "", limit: int = 20) -> list[str]:
    """Write the page and its pictures; the paths that were written, the page first."""
    runs = history.runs(suite=suite, branch=branch, limit=limit)
    folder = os.path.splitext(path)[0] + ".trends"
    sections, pictures = [], []
    for name in dict.fromkeys(run.suite for run in runs):
        own = [run for run in runs if run.suite == name]
        trends = _trends(history, own, name, branch)
        for metric, points in trends.items():
            picture = os.path.join(folder, _file_name(f"{name}.{metric}"))
            write_whole(picture, sparkline_svg([point.value for point in points], f"{name} {metric}").encode())
            pictures.append(picture)
        sections.append(_section(name, own, trends, os.path.basename(folder)))
    head = "# Evaluation history\n\nNewest last. A metric that was undefined in a run has a gap.\n"
    write_whole(
        path, "\n".join([head, *(sections or ["No run is recorded yet.\n"])]).encode("utf-8", "backslashreplace")
    )
    return [path, *pictures]


def sparkline(values: Sequence[Fraction | None]) -> str:
    """A trend in one line of text; a gap where the value was undefined."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=Fraction(0)), max(known, default=Fraction(0))
    step = (high - low) or Fraction(1)
    return "".join(" " if value is None else _BLOCKS[int((value - low) * 7 / step)] for value in values)


def sparkline_svg(values: Sequence[Fraction | None], title: str) -> str:
    """A trend as a picture: line, last point, first and last value in words for readers who don't see it."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=Fraction(0)), max(known, default=Fraction(1))
    step, last = (high - low) or Fraction(1), max(len(values) - 1, 1)
    dots = [
        None
        if value is None
        else (
            EDGE + (WIDTH - 2 * EDGE) * index / last,
            HEIGHT - EDGE - float((value - low) / step) * (HEIGHT - 2 * EDGE),
        )
        for index, value in enumerate(values)
    ]
    says = (
        f"{title}: {decimal(known[0])} to {decimal(known[-1])} over {len(values)} runs"
        if known
        else f"{title}: no value"
    )
    lines = "".join(
        f'<polyline fill="none" stroke="#2563eb" stroke-width="2" points="{part}"/>' for part in _strokes(dots)
    )
    end = next((dot for dot in reversed(dots) if dot), None)
    mark = f'<circle cx="{end[0]:.1f}" cy="{end[1]:.1f}" r="3" fill="#2563eb"/>' if end else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img"><title>{escape(visible(says))}</title>{lines}{mark}</svg>\n'
    )


def _strokes(dots: Iterable[tuple[float, float] | None]) -> list[str]:
    """The points of each unbroken stretch."""
    stretches: list[list[str]] = [[]]
    for dot in dots:
        if dot is None:
            stretches.append([])
        else:
            stretches[-1].append(f"{dot[0]:.1f},{dot[1]:.1f}")
    return [" ".join(stretch) for stretch in stretches if stretch]


def _trends(history: History, runs: Sequence[RecordedRun], suite: str, branch: str) -> dict[str, list[TrendPoint]]:
    """The gated metrics of the newest run, each over the runs that are shown."""
    report = history.report(runs[-1].id)
    names = list(
        dict.fromkeys(
            f"{outcome['metric']}[{outcome['slice']}]" if outcome["slice"] else outcome["metric"]
            for outcome in report.get("outcomes", [])
        )
    )
    shown = {run.id for run in runs}
    found = {}
    for name in names:
        points = history.trend(name, suite=suite, branch=branch, limit=1 << 30)
        found[name] = [point for point in points if point.run.id in shown]
    return found


def _section(suite: str, runs: Sequence[RecordedRun], trends: dict[str, list[TrendPoint]], folder: str) -> str:
    lines = [f"## {_plain(suite)}", ""]
    lines += ["| metric | trend | last |", "|---|---|---|"]
    for metric, points in trends.items():
        picture = f"![trend of {_plain(metric)}]({folder}/{_file_name(f'{suite}.{metric}')})"
        lines.append(f"| {_plain(metric)} | {picture} | {points[-1] if points else ''} |")
    lines += ["", f"| run | when | commit | branch | label | decision | {' | '.join(map(_plain, trends))} |"]
    lines.append("|" + "---|" * (6 + len(trends)))
    values = {metric: {point.run.id: str(point) for point in points} for metric, points in trends.items()}
    for run in runs:
        cells = [
            run.id[:SHORT],
            run.recorded_at[:16].replace("T", " "),
            run.commit[:SHORT],
            run.branch,
            run.label,
            run.decision,
        ]
        cells += [values[metric].get(run.id, "") for metric in trends]
        lines.append("| " + " | ".join(map(_plain, cells)) + " |")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", visible(text, 80))


def _file_name(name: str) -> str:
    """A name that no metric can use to leave the folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name.replace("@", "-at-")).strip(".-")[:80] + ".svg"
