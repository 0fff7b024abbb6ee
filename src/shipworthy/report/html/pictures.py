"""Pictures of what only one suite has: matrices, curves, heat maps, bars; a section without one becomes a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ...core.board import Board
from ...core.decision import Decision
from ...core.evidence import Row
from ...core.metrics import Measure
from ...history.page import trend_svg
from ...text import first_few, plural, visible
from .. import svg, views
from .tables import Block, Table, TableCell, cells, figure, generic, records, spoken

MOST_QUESTIONS = 32  # rows of the heat map
FEWEST_ERRORS = 5  # of a curve of risk by coverage …
LEAST_SPAN = 0.2  # … and how much of the coverage it must be about
REFUSALS, LABELS = "Answered or refused", "Labels against each other"
MOST_CHANGED = 60  # questions whose ranks are shown
_COLUMN = 16  # rows of it that stand below each other
Matrix = Mapping[str, Mapping[str, object]]  # gold says → answered, refused → how often
_RUN = re.compile(r"(?:^|;)j=([^;]*)")


def blocks(decision: Decision) -> list[Block]:
    """What the sections of a decision look like, pictures first."""
    found = by_slice(decision)
    for name, value in decision.sections.items():
        if name in ("turns", "details"):
            continue  # shown elsewhere on the page; laid out for the terminal
        kind = decision.display.pictures.get(name)
        drawn = _drawn(kind, value, decision) if kind and value else None
        if drawn is None and (kind or not decision.display.pictures):  # else raw keys, which the JSON has
            drawn = generic(name, value)
        found += drawn if isinstance(drawn, list) else [drawn] if drawn else []
    return sorted(found, key=lambda block: not block.svg and not any(table.heat for table in block.tables))


def _drawn(kind: str, value: object, decision: Decision) -> Block | list[Block] | None:
    """The picture; None where the section has another shape than its kind takes."""
    try:
        return KINDS[kind](value, decision)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # of another version


def explaining(drawn: Sequence[Block], decision: Decision) -> list[Block]:
    """The pictures of what fails, in the order of the gates: one for each that has one."""
    stopping = [outcome.gate.metric for outcome in views.stopping(decision)]
    found = [next((block for block in drawn if _explains(block, metric)), None) for metric in stopping or [""]]
    return [block for place, block in enumerate(found) if block and block not in found[:place]]


def _explains(block: Block, metric: str) -> bool:
    """A matrix of refusals is about these alone; any other picture of a suite is about the rest of it."""
    if "refusal" in metric or block.title == REFUSALS:
        return "refusal" in metric and block.title == REFUSALS
    return bool(block.svg) or block.title == LABELS or any(table.heat for table in block.tables)


def refusals(value: Mapping[str, Matrix], decision: Decision) -> Block | None:
    """Who was answered and who was refused, against who should have been."""
    if "exact" not in value:
        return None
    same = value.get("wider") == value["exact"]
    names = {
        "exact": "By the exact token" if not same else "Answered and refused",
        "wider": "By wordings that read like a refusal",
    }
    tables = [
        _matrix(names.get(rule, spoken(rule)), rows) for rule, rows in value.items() if not (same and rule == "wider")
    ]
    return Block(REFUSALS, "Rows: what the gold set expects. Columns: what the pipeline did.", tables=tables)


def _matrix(caption: str, rows: Matrix) -> Table:
    wanted = {"answerable": "answered", "unanswerable": "refused"}
    shown = []
    for name, row in rows.items():
        right = wanted.get(name, "")
        tones = {
            part: ("good" if part == right else "bad") if row.get(part) else "" for part in ("answered", "refused")
        }
        shown.append(
            [
                TableCell(spoken(name)),
                *(TableCell(figure(row.get(part)), tones[part]) for part in tones),
                TableCell(figure(row.get("answered_rate_interval95"))),
            ]
        )
    return Table(caption, ["", "answered", "refused", "share answered, 95 %"], shown)


def risk_coverage(points: Sequence[Mapping[str, float]], decision: Decision) -> Block | list[Block]:
    """How many answers are wrong as less confident ones are let through; of a few errors there is no curve."""
    if points[-1]["wrong"] < FEWEST_ERRORS or points[-1]["coverage"] - points[0]["coverage"] < LEAST_SPAN:
        return []
    marks = [svg.Mark(point["coverage"], point["risk"]) for point in points]
    last = points[-1]
    words = f"{last['wrong']} of {last['answered']} answers are wrong if every answer is let through."
    picture = svg.chart(marks, "Risk against coverage", words, ("coverage", "risk"))
    step = max(len(points) // 20, 1)
    kept = [*points[:-1:step], last]
    return Block("Risk against coverage", words, picture, [records("Risk against coverage", kept)])


def curve(value: Row, decision: Decision) -> Block | list[Block] | None:
    """Speed against precision and against the citation hit rate: the frontier, the budget, and the thresholds."""
    points = value.get("points") or []
    if len(points) < 2:
        return [] if points else None
    budgets = [
        svg.Guide(value[name], None, label)
        for name, label in (("budget_ms", "budget"), ("relaxed_budget_ms", "relaxed"))
        if value.get(name) is not None
    ]
    marks = _arm_marks(points, "precision")
    front = [mark for mark in marks if mark.filled]
    words = (
        f"{len(front)} of {len(marks)} arms are on the frontier: no other arm is both as fast and as precise. "
        "Each arm is at its p95; the line to its right ends at its p99."
    )
    limits = [*budgets, *_threshold(decision, "precision")]
    axes = ("p95 to p99 in ms", "precision")
    picture = svg.chart(marks, "Precision against p95", words, axes, path=front, limits=limits)
    if cited := _arm_marks(points, "chr"):
        limits = [*budgets, *_threshold(decision, "chr")]
        axes = ("p95 to p99 in ms", "cited right (chr)")
        title = "Citation hit rate (chr) against p95"
        picture += svg.chart(cited, title, words, axes, joined=False, limits=limits)
    rows = [
        {
            "": place,
            "arm": point["arm"],
            "p95 ms": point["p95_ms"],
            "p99 ms": point.get("p99_ms"),
            "precision": point["precision"],
            "cited right (chr)": point.get("chr"),
            "on the frontier": point["frontier"],
        }
        for place, point in enumerate(points, 1)
    ]
    return Block("Speed against precision", words, picture, [records("Arms by p95", rows)])


def _arm_marks(points: Sequence[Row], name: str) -> list[svg.Mark]:
    return [
        svg.Mark(point["p95_ms"], point[name], str(place), bool(point["frontier"]), point.get("p99_ms"))
        for place, point in enumerate(points, 1)
        if point.get(name) is not None
    ]


def _threshold(decision: Decision, metric: str) -> list[svg.Guide]:
    """The first gate on a metric, as a line."""
    bars = [bar for bar in decision.outcomes if bar.gate.metric == metric and bar.bound is not None]
    return [svg.Guide(None, float(bar.bound or 0), f"{metric} {bar.gate.bound.text}") for bar in bars[:1]]


def flips(value: Mapping[str, Sequence[Row]], decision: Decision) -> list[Block]:
    """Which rewording and which seed change the answer, and of which questions."""
    tables = [records(f"By {spoken(axis)}", rows) for axis, rows in value.items() if rows]
    words = "A flip is a run that differs from most runs of its question."
    return [*_heat_map(value.get("jitter"), decision), Block("What causes the flips", words, tables=tables)]


def _heat_map(axis: Sequence[Row] | None, decision: Decision) -> list[Block]:
    """Questions by jitters: how many runs differ from the majority."""
    details = decision.headline.get("details")
    if not isinstance(details, Mapping) or not axis:
        return []
    jitters = [str(row["jitter"]) for row in axis]
    each = {str(row["jitter"]): row["runs"] / max(row["questions"], 1) for row in axis}
    flipped = {qid: _flips(row) for qid, row in details.items()}
    order = sorted((qid for qid in details if flipped[qid]), key=lambda qid: (-sum(flipped[qid].values()), qid))
    alike: dict[tuple[int, ...], list[str]] = {}  # questions that flip alike share a row
    for qid in order:
        alike.setdefault(tuple(flipped[qid][jitter] for jitter in jitters), []).append(qid)
    rows = [
        [_alike(names), *(_heat(count, each[jitter]) for count, jitter in zip(counts, jitters, strict=True))]
        for counts, names in list(alike.items())[:MOST_QUESTIONS]
    ]
    parts = [rows[start : start + _COLUMN] for start in range(0, len(rows), _COLUMN)]
    tables = [
        Table(f"Flips by rewording, part {place}", ["question", *map(visible, jitters)], part, heat=True)
        for place, part in enumerate(parts, 1)
    ]
    left_out = sum(len(names) for names in list(alike.values())[MOST_QUESTIONS:])
    left = f" {plural(left_out, 'more question')} flip otherwise." if left_out else ""
    words = (
        f"{len(order)} of {len(details)} questions have runs that differ from the majority of their runs; "
        f"each cell counts them.{left}"
    )
    return [Block("Flips: questions by rewording", words, tables=tables)]


def _alike(names: Sequence[str]) -> TableCell:
    """`14 questions: D001, D002, D003 …`: those that share a row."""
    if len(names) == 1:
        return TableCell(visible(names[0], 60))
    return TableCell(f"{len(names)} questions: {first_few([visible(name, 30) for name in names], 3)}")


def _flips(row: Row) -> Counter[str]:
    found = (_RUN.search(str(flip.get("run", ""))) for flip in row.get("flips") or [])
    return Counter(match[1] for match in found if match)


def _heat(flips: int, runs: float) -> TableCell:
    level = min(5, round(5 * flips / runs + 0.49)) if runs and flips else 0
    return TableCell(f"{flips} of {runs:g}" if flips else "·", f"h{level}")


def by_slice(decision: Decision) -> list[Block]:
    """The gated metrics of each part of the data, such as each type of question."""
    names = views.slice_metrics(decision)
    if not names:
        return []
    rows = [
        [TableCell(visible(part, 80)), *(_sliced(name, measures, decision) for name in names)]
        for part, measures in decision.slices.items()
    ]
    table = Table("By slice", ["slice", *map(visible, names)], rows[:200], max(len(rows) - 200, 0))
    return [Block("By slice", "Red: the slice misses the threshold that applies to all questions.", tables=[table])]


def _sliced(name: str, measures: Mapping[str, Measure], decision: Decision) -> TableCell:
    measure = measures.get(name)
    if measure is None or measure.value is None:
        return TableCell("–")
    gate = next(
        (outcome for outcome in decision.outcomes if outcome.gate.metric == name and not outcome.gate.slice), None
    )
    if gate is None or gate.bound is None:
        return TableCell(str(measure))
    met = measure.value >= gate.bound if gate.gate.op == ">=" else measure.value <= gate.bound
    return TableCell(str(measure), "" if met else "bad")


def confusion(value: object, decision: Decision) -> Block | None:
    """Two validators' labels against each other: the diagonal is agreement."""
    if not isinstance(value, list) or not all(isinstance(row, Mapping) and len(row) > 1 for row in value):
        return None
    side, *columns = value[0]
    rows = [
        [
            TableCell(figure(row[side])),
            *(TableCell(figure(row.get(name, 0)), _agrees(str(row[side]), name, row.get(name))) for name in columns),
        ]
        for row in value
    ]
    words = f"Rows are the labels of the {spoken(side)}, columns those of the other rater. The diagonal is agreement."
    return Block(LABELS, words, tables=[Table("Labels", [spoken(side), *map(visible, columns)], rows)])


def _agrees(row: str, column: str, count: object) -> str:
    return "" if not count else "good" if row == column else "bad"


def comparison(value: object, decision: Decision) -> Block | None:
    """The shadow index beside the live one: by slice, by metric, and the questions that changed."""
    if not isinstance(value, Mapping) or "metrics" not in value:
        return None
    metric = str(value.get("metric", ""))
    parts = {"all": value["metrics"].get(metric) or {}, **(value.get("slices") or {})}
    rows = [(name, row.get("live"), row.get("shadow")) for name, row in list(parts.items())[:12]]
    worse, better = len(value.get("worse") or []), len(value.get("better") or [])
    words = (
        f"{plural(worse, 'question')} got worse and {better} better of {figure(value.get('pairs'))}; "
        f"{visible(metric, 60)} by slice, live hollow, shadow filled."
    )
    picture = svg.pairs(rows, "Shadow against live", words)
    tables = [
        _ranks(name, value[key], metric)
        for name, key in (("Got worse", "worse"), ("Got better", "better"))
        if value.get(key)
    ]
    return Block("Shadow against live", words, picture, tables)


def _ranks(caption: str, changed: Sequence[Row], metric: str) -> Table:
    """Question by question, where its first expected block stood and where it stands now: 1 → 7."""
    rows = []
    for row in changed[:MOST_CHANGED]:
        ranks = row.get("rank")
        shown = " → ".join(str(rank or "not found") for rank in ranks) if isinstance(ranks, list) else "–"
        rows.append(cells(row.get("qid"), shown, row.get("live"), row.get("shadow")))
    more = max(len(changed) - MOST_CHANGED, 0)
    names = ["question", "first expected at rank", *(visible(f"{metric} {side}", 60) for side in ("live", "shadow"))]
    return Table(caption, names, rows, more)


def dimensions(value: object, decision: Decision) -> Block | None:
    """The dimensions of reasoning as bars, each with the least average that is asked of it."""
    rows = _dimension_rows(value)
    if not rows:
        return None
    words = "Average score of each dimension, over the cases that require it. The mark is the threshold."
    told = [cells(spoken(name), average, least, n) for name, average, least, n in rows]
    picture = svg.bars([(spoken(name), average, least) for name, average, least, _ in rows], "Dimensions", words)
    return Block(
        "Dimensions", words, picture, [Table("Dimensions", ["dimension", "average", "at least", "cases"], told)]
    )


def _dimension_rows(value: object) -> list[tuple[str, float | None, float | None, int | None]]:
    """From a summary with averages, or from a table of dimensions."""
    if not isinstance(value, Mapping):
        return []
    if value and all(isinstance(row, Mapping) and ("average" in row or "mean" in row) for row in value.values()):
        return [
            (name, row.get("average", row.get("mean")), row.get("min", row.get("at_least")), row.get("n"))
            for name, row in value.items()
        ]
    return []


# Kinds of pictures, by the names that suites give them (Display.pictures). A section without a picture, or of another
# shape than its kind takes, becomes a table.
Draw = Callable[[Any, Decision], Block | list[Block] | None]
KINDS: dict[str, Draw] = {
    "answered or refused": refusals,
    "risk by coverage": risk_coverage,
    "speed by quality": curve,
    "flips": flips,
    "labels": confusion,
    "two sides": comparison,
    "averages": dimensions,
}


# --- earlier runs ---

MOST_RUNS = 30


class Trend(NamedTuple):
    """A metric over the last runs."""

    name: str
    svg: str
    last: str
    words: str
    table: Table


def trends(board: Board) -> list[Trend]:
    bounds: dict[str, list[tuple[str, float]]] = {}
    for decision in board.decisions:
        for outcome in decision.outcomes:
            if outcome.bound is not None:
                sign = "≥" if outcome.gate.op == ">=" else "≤"
                bounds.setdefault(f"{decision.suite} {outcome.gate.key}", []).append((sign, float(outcome.bound)))
    return [_trend(name, runs[-MOST_RUNS:], bounds.get(name, [])) for name, runs in board.trends.items() if runs]


def _trend(name: str, runs: list[Row], bounds: list[tuple[str, float]]) -> Trend:
    values = [_run_value(run) for run in runs]
    known = [value for value in values if value is not None]
    span = f"between {figure(min(known))} and {figure(max(known))}" if known else "never defined"
    words = f"{len(runs)} runs, {span}"
    shown = visible(name, 80)
    title = f"Trend of {shown}"
    drawn = trend_svg(title, values, [str(run.get("recorded_at", "")) for run in runs], bounds)
    return Trend(shown, drawn if known else "", figure(values[-1]), words, records(title, runs))


def _run_value(run: Row) -> float | None:
    value = run.get("value")
    return float(value) if isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) else None
