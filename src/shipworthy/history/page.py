"""The history page: eval/report.md with the last runs as a table and each metric's trend as a picture."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any
from xml.sax.saxutils import escape

from ..reading.files import write_whole
from ..text import inert, visible
from . import SHORT, History, RecordedRun, TrendPoint

WIDTH, HEIGHT = 360, 112
LEFT, RIGHT, TOP, BOTTOM = (
    60,
    306,
    20,
    76,
)  # where the line is; gates are named on its left, the last value on its right
LINE = 13  # height of a number
_STYLE = (
    "<style>text{font:12px system-ui,sans-serif;fill:#57606a}.middle{text-anchor:middle}.end{text-anchor:end}"
    ".line{fill:none;stroke:#2563eb;stroke-width:2}.value{fill:#2563eb}.last{font-weight:600}"
    ".bound{fill:none;stroke:#57606a;stroke-dasharray:5 3}"
    "@media(prefers-color-scheme:dark){text{fill:#9da7b3}.line{stroke:#6ea8fe}.value{fill:#6ea8fe}"
    ".bound{stroke:#9da7b3}}</style>"
)
Bounds = Sequence[tuple[str, float]]  # gates: ≥ or ≤, and the number
_BLOCKS = "▁▂▃▄▅▆▇█"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+!|~@-])")


def write_page(history: History, path: str, *, suite: str = "", branch: str = "", limit: int = 20) -> list[str]:
    """Write the page and its pictures; the paths that were written, the page first."""
    runs = history.runs(suite=suite, branch=branch, limit=limit)
    folder = os.path.splitext(path)[0] + ".trends"
    sections, pictures = [], []
    for name in dict.fromkeys(run.suite for run in runs):
        own = [run for run in runs if run.suite == name]
        bounds = _bounds(history.report(own[-1].id))
        trends = _trends(history, own, name, branch, bounds)
        for metric, points in trends.items():
            picture = os.path.join(folder, _file_name(f"{name}.{metric}"))
            values, dates = [point.value for point in points], [point.run.recorded_at for point in points]
            drawn = trend_svg(f"{name} {metric}", values, dates, bounds.get(metric, ()), _STYLE)
            write_whole(picture, drawn.encode() + b"\n")
            pictures.append(picture)
        sections.append(_section(name, own, trends, os.path.basename(folder)))
    head = "# Evaluation history\n\nNewest last. A metric that was undefined in a run has a gap. "
    head += "The dashed line is the newest run's gate.\n"
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


def trend_svg(
    title: str,
    values: Sequence[Fraction | float | None],
    dates: Sequence[str],
    bounds: Bounds = (),
    style: str = "",
) -> str:
    """A trend as a picture: each run a dot, some values written, the first and last date, and the gates as lines.

    `style` makes a file of its own out of what else is part of a page.
    """
    known = [(place, float(value)) for place, value in enumerate(values) if value is not None]
    heights = [*(value for _, value in known), *(bound for _, bound in bounds)] or [0.0]
    low, high = min(heights), max(heights)

    def at(place: float, value: float) -> tuple[float, float]:
        across = place / (len(values) - 1) if len(values) > 1 else 0.5
        up = (value - low) / (high - low) if high > low else 0.5
        return LEFT + across * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)

    dots = [None if value is None else at(place, float(value)) for place, value in enumerate(values)]
    lines = "".join(f'<polyline class="line" points="{part}"/>' for part in _strokes(dots))
    marks = "".join(
        f'<circle class="value accent" cx="{dot[0]:.1f}" cy="{dot[1]:.1f}" r="2.5"/>' for dot in dots if dot
    )
    gates = "".join(f'<path class="bound" d="M{LEFT} {at(0, bound)[1]:.1f}H{RIGHT}"/>' for _, bound in bounds)
    named, free = "", -float(LINE)
    for sign, bound in sorted(bounds, key=lambda one: -one[1]):  # from above, each below the one before
        free = max(free + LINE, at(0, bound)[1] + 4)
        named += f'<text class="limit end" x="{LEFT - 8}" y="{free:.1f}">{escape(sign)} {short(bound)}</text>'
    told = _values_told(known, at)
    first, last = _days(dates)
    days = f'<text class="tick" x="{LEFT}" y="{HEIGHT - 4}">{escape(first)}</text>'
    days += f'<text class="tick end" x="{RIGHT}" y="{HEIGHT - 4}">{escape(last)}</text>' if last else ""
    words = inert(escape(visible(_told(title, known, len(values), (first, last), bounds), 300)), "&#58;", "&#35;")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="trend" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{words}</title>{style}'
        f"{gates}{lines}{marks}{named}{told}{days}</svg>"
    )


def _values_told(known: Sequence[tuple[int, float]], at: Callable[[float, float], tuple[float, float]]) -> str:
    """The last value beside its dot; the highest above and the lowest below theirs, where they are others."""
    if not known:
        return ""
    (right, y), last = at(*known[-1]), known[-1][1]
    told = f'<text class="last" x="{right + 8:.1f}" y="{y + 4:.1f}">{short(last)}</text>'
    highest, lowest = max(known, key=lambda one: one[1]), min(known, key=lambda one: one[1])
    for (place, value), down in ((highest, -7), (lowest, LINE + 3)):
        x, y = at(place, value)
        if value != last:
            side = "" if x < LEFT + 20 else " middle"
            told += f'<text class="tick{side}" x="{x:.1f}" y="{y + down:.1f}">{short(value)}</text>'
    return told


def _days(dates: Sequence[str]) -> tuple[str, str]:
    """The first and the last day; on one day the times too."""
    if not dates:
        return "", ""
    first, last = dates[0], dates[-1] if len(dates) > 1 else ""
    if last and first[:10] == last[:10]:
        return first[:16].replace("T", " "), last[11:16]
    return first[:10], last[:10]


def _told(
    title: str,
    known: Sequence[tuple[int, float]],
    runs: int,
    days: tuple[str, str],
    bounds: Iterable[tuple[str, float]],
) -> str:
    """The picture in words, for readers who don't see it."""
    if not known:
        return f"{title}: no value"
    gates = "".join(f", gate {sign} {short(bound)}" for sign, bound in bounds)
    when = " to ".join(day for day in days if day)
    return (
        f"{title}: {short(known[0][1])} to {short(known[-1][1])} over {runs} runs{f', {when}' if when else ''}{gates}"
    )


def short(value: float) -> str:
    """Three places below a hundred, and none that say nothing."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3f}".rstrip("0").rstrip(".")


def _strokes(dots: Iterable[tuple[float, float] | None]) -> list[str]:
    """The points of each unbroken stretch."""
    stretches: list[list[str]] = [[]]
    for dot in dots:
        if dot is None:
            stretches.append([])
        else:
            stretches[-1].append(f"{dot[0]:.1f},{dot[1]:.1f}")
    return [" ".join(stretch) for stretch in stretches if stretch]


def _bounds(report: Mapping[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """The gates of a report by metric, with the bounds that are numbers."""
    found: dict[str, list[tuple[str, float]]] = {}
    for outcome in report.get("outcomes", []):
        key = f"{outcome['metric']}[{outcome['slice']}]" if outcome["slice"] else outcome["metric"]
        known = found.setdefault(key, [])
        if isinstance(bound := outcome.get("bound"), (int, float)):
            known.append(("≥" if ">=" in str(outcome.get("gate", "")).removeprefix(key) else "≤", float(bound)))
    return found


def _trends(
    history: History, runs: Sequence[RecordedRun], suite: str, branch: str, metrics: Iterable[str]
) -> dict[str, list[TrendPoint]]:
    """Each metric over the runs that are shown."""
    shown = {run.id for run in runs}
    found = {}
    for name in metrics:
        points = history.trend(name, suite=suite, branch=branch, limit=len(runs))  # those of these runs are the newest
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
