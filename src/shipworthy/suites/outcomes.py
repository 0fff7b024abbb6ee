"""Outcomes: what people did with the answers, week by week, and whether the score foresaw it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from shipworthy.jsonl import Problem, Problems, Reader
from shipworthy.stats import auc, wilson

NAME = "outcomes"
REQUIRED = ("timestamp", "prompt_id", "accepted_without_edits", "action_taken")
FLAGS = ("accepted_without_edits", "action_taken", "edited", "useful")
# name of the gate → its default
GATES: dict[str, Fraction] = {
    "min_samples": Fraction(20),
    "min_accept_rate": Fraction(70, 100),
    "min_action_rate": Fraction(55, 100),
    "min_useful_rate": Fraction(65, 100),
}
BANDS = 5  # of the calibration table
_YES = (1, "1", "true", "yes", "y")  # 1 equals true
_NO = (0, "0", "false", "no", "n")


@dataclass(frozen=True)
class Outcome:
    """One answer in the hands of one person."""

    timestamp: str
    prompt_id: str
    accepted: bool
    acted: bool
    edited: bool | None = None
    useful: bool | None = None
    model: str | None = None
    preset: str | None = None
    run_id: str | None = None
    week: str = ""


@dataclass(frozen=True)
class Rate:
    """A count among a number, with its interval; undefined among none."""

    count: int
    among: int

    @property
    def value(self) -> Fraction | None:
        return Fraction(self.count, self.among) if self.among else None

    def shown(self) -> dict[str, Any]:
        bounds = wilson(self.count, self.among)
        value = self.value
        return {
            "count": self.count,
            "n": self.among,
            "rate": None if value is None else float(value),
            "interval": None if bounds is None else list(bounds),
        }


@dataclass(frozen=True)
class Rows:
    """The outcomes of a file, identical rows once."""

    outcomes: tuple[Outcome, ...]
    read: int
    repeated: int


def read_outcomes(path: str | Path) -> Rows:
    """The rows of an outcomes file; all bad rows are raised together, each with its line."""
    problems = Problems()
    seen: dict[str, Outcome] = {}
    read = 0
    for number, row in Reader(path, dict, problems):
        found = _problems(row, str(path), number)
        for problem in found:
            problems.add(problem)
        read += 1
        if not found:
            seen.setdefault(json.dumps(row, sort_keys=True, ensure_ascii=False), _outcome(row))
    problems.raise_any()
    return Rows(tuple(seen.values()), read, read - len(seen))


def accept_rate(rows: Iterable[Outcome]) -> Rate:
    values = [row.accepted for row in rows]
    return Rate(sum(values), len(values))


def action_rate(rows: Iterable[Outcome]) -> Rate:
    values = [row.acted for row in rows]
    return Rate(sum(values), len(values))


def useful_rate(rows: Iterable[Outcome]) -> Rate:
    """Over the rows that say."""
    values = [row.useful for row in rows if row.useful is not None]
    return Rate(sum(values), len(values))


def edited_rate(rows: Iterable[Outcome]) -> Rate:
    values = [row.edited for row in rows if row.edited is not None]
    return Rate(sum(values), len(values))


RATES: dict[str, Callable[[Iterable[Outcome]], Rate]] = {
    "accept_rate": accept_rate,
    "action_rate": action_rate,
    "useful_rate": useful_rate,
    "edited_rate": edited_rate,
}


def summarise(
    rows: Rows, gates: Mapping[str, Fraction] | None = None, report: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Rates, weeks, trend, groups, gates and, with an evaluation report, how well its score foresaw acceptance."""
    outcomes = rows.outcomes
    checks = check(outcomes, dict(gates or {}))
    return {
        "format": 1,
        "suite": NAME,
        "samples": len(outcomes),
        "rows": rows.read,
        "repeated_rows": rows.repeated,
        "rates": {name: rate(outcomes).shown() for name, rate in RATES.items()},
        "weeks": weeks(outcomes),
        "trend": trend(outcomes),
        "by_model": _by(outcomes, lambda row: row.model),
        "by_preset": _by(outcomes, lambda row: row.preset),
        "gates": checks,
        "calibration": None if report is None else calibrate(outcomes, report),
        "passed": all(gate["holds"] for gate in checks),
    }


def check(outcomes: Sequence[Outcome], given: Mapping[str, Fraction]) -> list[dict[str, Any]]:
    """Each gate compared exactly.

    A rate that no row speaks of is undefined and fails, save the useful rate where nobody asked for that gate.
    """
    gates = GATES | dict(given)
    measured: dict[str, tuple[Fraction | None, int]] = {"min_samples": (Fraction(len(outcomes)), len(outcomes))}
    for name in ("accept_rate", "action_rate", "useful_rate"):
        rate = RATES[name](outcomes)
        measured[f"min_{name}"] = (rate.value, rate.among)
    return [
        {
            "gate": f"{name.removeprefix('min_')} >= {float(gates[name]):g}",
            "value": None if value is None else float(value),
            "n": n,
            "holds": value >= gates[name] if value is not None else name == "min_useful_rate" and name not in given,
        }
        for name, (value, n) in measured.items()
    ]


def weeks(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A line for each ISO week, oldest first."""
    return [
        {"week": week, "n": len(rows)} | {name: rate(rows).shown() for name, rate in RATES.items()}
        for week, rows in _grouped(outcomes, lambda row: row.week).items()
    ]


def trend(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The last week's accept rate against all weeks before; it moved if the two intervals don't touch."""
    by_week = _grouped(outcomes, lambda row: row.week)
    if len(by_week) < 2:
        return {"direction": "undefined", "why": "there are fewer than two weeks"}
    *_, last = by_week
    now = accept_rate(by_week[last])
    before = accept_rate([row for week, rows in by_week.items() if week != last for row in rows])
    change = Fraction(now.count, now.among) - Fraction(before.count, before.among)
    now_low, now_high = wilson(now.count, now.among) or (0.0, 1.0)
    before_low, before_high = wilson(before.count, before.among) or (0.0, 1.0)
    moved = now_low > before_high or now_high < before_low
    direction = "flat" if not moved else "up" if change > 0 else "down"
    return {
        "direction": direction,
        "week": last,
        "change": float(change),
        "last": now.shown(),
        "before": before.shown(),
    }


def calibrate(outcomes: Sequence[Outcome], report: Mapping[str, Any]) -> dict[str, Any]:
    """Scores of a report beside what people accepted, joined by prompt_id and, where both have one, run_id."""
    run_id = report.get("run_id")
    scores = {
        str(result.get("id")): score
        for result in report.get("results", ())
        if (score := _score(result.get("overall_score"))) is not None
    }
    same_run = [row for row in outcomes if run_id is None or row.run_id is None or row.run_id == str(run_id)]
    joined = [(scores[row.prompt_id], row.accepted) for row in same_run if row.prompt_id in scores]
    area = auc([s for s, accepted in joined if accepted], [s for s, accepted in joined if not accepted])
    return {
        "joined": len(joined),
        "not_joined": len(outcomes) - len(joined),
        "auc": None if area is None else float(area),
        "says": _foresight(area),
        "table": _calibration_table(joined),
    }


def _calibration_table(joined: Sequence[tuple[Fraction, bool]]) -> list[dict[str, Any]]:
    bands: dict[int, list[tuple[Fraction, bool]]] = {band: [] for band in range(BANDS)}
    for score, accepted in joined:
        bands[min(BANDS - 1, max(0, int(score * BANDS)))].append((score, accepted))
    return [
        {
            "from": band / BANDS,
            "to": (band + 1) / BANDS,
            "mean_score": float(sum((s for s, _ in pairs), Fraction(0)) / len(pairs)),
            "accept_rate": Rate(sum(accepted for _, accepted in pairs), len(pairs)).shown(),
        }
        for band, pairs in bands.items()
        if pairs
    ]


def _foresight(area: Fraction | None) -> str:
    if area is None:
        return "undefined: it takes accepted and unaccepted answers with a score"
    if area < Fraction(6, 10):
        return "the score does not foresee what people accept and should not gate"
    return "the score foresees what people accept" if area >= Fraction(75, 100) else "the score foresees a little"


def _by(outcomes: Sequence[Outcome], key: Callable[[Outcome], str | None]) -> dict[str, Any]:
    return {
        name: {"n": len(rows)} | {rate_name: rate(rows).shown() for rate_name, rate in RATES.items()}
        for name, rows in _grouped(outcomes, lambda row: key(row) or "(none)").items()
    }


def _grouped(outcomes: Iterable[Outcome], key: Callable[[Outcome], str]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for row in outcomes:
        groups.setdefault(key(row), []).append(row)
    return dict(sorted(groups.items()))


def _problems(row: Mapping[str, Any], path: str, line: int) -> list[Problem]:
    """Everything wrong with one row."""
    found = [
        Problem(path, line, f"{name} is missing", "Add it to the row.", "outcome-missing")
        for name in REQUIRED
        if row.get(name) is None
    ]
    if row.get("timestamp") is not None and _moment(row["timestamp"]) is None:
        what = f"timestamp {str(row['timestamp'])[:40]!r} is not a date"
        found.append(Problem(path, line, what, "Write ISO-8601, as 2025-03-11T09:30:00Z.", "outcome-date"))
    if row.get("prompt_id") is not None and (not _is_name(row["prompt_id"]) or not str(row["prompt_id"]).strip()):
        found.append(Problem(path, line, "prompt_id is not text", "Write the id of the prompt.", "outcome-field"))
    for name in FLAGS:
        if row.get(name) is not None and _flag(row[name]) is None:
            what = f"{name} is {str(row[name])[:40]!r}, neither yes nor no"
            found.append(Problem(path, line, what, "Write true or false (or 1/0, yes/no, y/n).", "outcome-flag"))
    return found


def _outcome(row: Mapping[str, Any]) -> Outcome:
    moment = _moment(row["timestamp"])
    assert moment is not None
    year, week, _ = moment.isocalendar()
    return Outcome(
        timestamp=row["timestamp"],
        prompt_id=str(row["prompt_id"]),
        accepted=bool(_flag(row["accepted_without_edits"])),
        acted=bool(_flag(row["action_taken"])),
        edited=_flag(row.get("edited")),
        useful=_flag(row.get("useful")),
        model=_text(row.get("model")),
        preset=_text(row.get("preset")),
        run_id=_text(row.get("run_id")),
        week=f"{year:04d}-W{week:02d}",
    )


def _moment(value: Any) -> datetime | None:
    """A date in the zone it was written in, so that its week is the writer's week."""
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError:
        return None


def _flag(value: Any) -> bool | None:
    if isinstance(value, str):
        value = value.strip().lower()
    elif not isinstance(value, bool | int | float):
        return None
    return True if value in _YES else False if value in _NO else None


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _score(value: Any) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)
