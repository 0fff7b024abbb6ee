"""What a report says about outcomes: rates by week, model and preset, the trend, the prompts that people reject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ... import stats
from ...decision import number
from ...gates import Outcome as Compared
from ...metrics import Measure, decimal
from ...tally import Tally
from .facts import RATES, metrics
from .read import Outcome, Rows

BANDS = 5  # of the calibration table
WEEKS = 6  # of the words below
FORESEES, FORESEES_NOTHING = Fraction(75, 100), Fraction(6, 10)
Scores = Mapping[str, Fraction]


def headline(
    rows: Rows, tally: Tally, measures: Mapping[str, Measure], compared: Iterable[Compared], ships: bool
) -> dict[str, Any]:
    return {
        "samples": tally["items"],
        "rows": rows.source.records,
        "repeated_rows": rows.repeated,
        "rates": _rates(measures),
        "gates": [
            {"gate": str(one.gate), "value": number(one.measure.value), "n": one.measure.n, "holds": one.holds}
            for one in compared
        ],
        "passed": ships,
    }


def sections(tally: Tally, joined: bool) -> dict[str, Any]:
    """Everything by ISO week, by model and by preset, from the slices of the tally."""
    return {
        "weeks": [{"week": name, **group} for name, group in _groups(tally, "week").items()],
        "trend": trend(tally),
        "by_model": _groups(tally, "model"),
        "by_preset": _groups(tally, "preset"),
        "calibration": calibration(tally) if joined else None,
    }


def trend(tally: Tally) -> dict[str, Any]:
    """The last week's accept rate against all weeks before; it moved if the two intervals don't touch."""
    weeks = _names(tally, "week")
    if len(weeks) < 2:
        return {"direction": "undefined", "why": "there are fewer than two weeks"}
    last, before = tally.slice(f"week={weeks[-1]}"), Tally()
    for week in weeks[:-1]:
        before += tally.slice(f"week={week}")
    now, then = (metrics()["accept_rate"].measure(part) for part in (last, before))
    assert now.value is not None and then.value is not None and now.interval and then.interval
    moved = now.interval[0] > then.interval[1] or now.interval[1] < then.interval[0]
    change = now.value - then.value
    direction = "flat" if not moved else "up" if change > 0 else "down"
    return {
        "direction": direction,
        "week": weeks[-1],
        "change": float(change),
        "last": _shown(now),
        "before": _shown(then),
    }


def calibration(tally: Tally) -> dict[str, Any]:
    """Scores of a report beside what people accepted."""
    area = metrics()["auc"].measure(tally).value
    return {
        "joined": tally["joined"],
        "not_joined": tally["items"] - tally["joined"],
        "auc": number(area),
        "says": _foresight(area),
        "table": _bands(tally),
    }


def _bands(tally: Tally) -> list[dict[str, Any]]:
    """For each band of scores that has any: the mean score beside the accept rate."""
    accepted, unaccepted = tally.values("score_accepted"), tally.values("score_unaccepted")
    found = []
    for band in range(BANDS):
        inside = [s for s in {**accepted, **unaccepted} if min(BANDS - 1, max(0, int(s * BANDS))) == band]
        taken = sum(accepted.get(score, 0) for score in inside)
        among = taken + sum(unaccepted.get(score, 0) for score in inside)
        if among:
            total = sum((s * (accepted.get(s, 0) + unaccepted.get(s, 0)) for s in inside), Fraction(0))
            rate = Measure("", "rate", Fraction(taken, among), among, taken, stats.wilson(taken, among))
            found.append({"from": band / BANDS, "to": (band + 1) / BANDS, "mean_score": float(total / among),
                          "accept_rate": _shown(rate)})  # fmt: skip
    return found


def items(outcomes: Iterable[Outcome], scores: Scores) -> list[dict[str, Any]]:
    """One row a prompt; it fails where fewer than half of its answers were accepted."""
    by_prompt: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_prompt.setdefault(outcome.prompt_id, []).append(outcome)
    return [_item(name, by_prompt[name], scores.get(name)) for name in sorted(by_prompt)]


def _item(name: str, rows: Sequence[Outcome], score: Fraction | None) -> dict[str, Any]:
    accepted = sum(row.accepted for row in rows)
    return {
        "qid": name, "n": len(rows), "accepted": accepted, "acted": sum(row.acted for row in rows),
        "edited": sum(bool(row.edited) for row in rows), "useful": sum(bool(row.useful) for row in rows),
        "score": number(score), "reason": "unaccepted" if 2 * accepted < len(rows) else "",
    }  # fmt: skip


def offenders(items: Iterable[Mapping[str, Any]], most: int) -> list[dict[str, Any]]:
    """The prompts whose answers people don't accept, the most often asked first."""
    bad = sorted((row for row in items if row["reason"]), key=lambda row: (row["accepted"] - row["n"], row["qid"]))
    return [
        {"qid": row["qid"], "reason": row["reason"], "score": row["score"],
         "says": f"accepted {row['accepted']} of {row['n']}, acted on {row['acted']}, edited {row['edited']}"}
        for row in bad[:most]
    ]  # fmt: skip


def diagnose(tally: Tally, joined: bool) -> list[str]:
    """The trend, the last weeks, models that differ, and what the score foresees, in words."""
    hints = _trend_words(tally)
    for field in ("model", "preset"):
        if len(names := _names(tally, field)) > 1:
            hints.append(f"Accepted by {field}: {_listed(tally, field, names)}.")
    if joined:
        area = metrics()["auc"].measure(tally)
        shown = "undefined" if area.value is None else decimal(area.value)
        hints.append(
            f"Score against acceptance: AUC {shown} over {tally['joined']} outcomes; {_foresight(area.value)}."
        )
    return hints


def _trend_words(tally: Tally) -> list[str]:
    if len(weeks := _names(tally, "week")) < 2:
        return []
    direction = {"up": "rose", "down": "fell", "flat": "did not move beyond noise"}[trend(tally)["direction"]]
    return [f"The accept rate {direction} in the last week: {_listed(tally, 'week', weeks[-WEEKS:])}."]


def _listed(tally: Tally, field: str, names: Sequence[str]) -> str:
    rate = metrics()["accept_rate"]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(f"{name} {rate.measure(tally.slice(f'{field}={name}'))}" for name in names[:8]) + more


def _foresight(area: Fraction | None) -> str:
    if area is None:
        return "undefined: it takes accepted and unaccepted answers with a score"
    if area < FORESEES_NOTHING:
        return "the score does not foresee what people accept and should not gate"
    return "the score foresees what people accept" if area >= FORESEES else "the score foresees a little"


def _names(tally: Tally, field: str) -> list[str]:
    return sorted(name.partition("=")[2] for name in tally.slices if name.startswith(f"{field}="))


def _groups(tally: Tally, field: str) -> dict[str, Any]:
    known = metrics()
    parts = {name: tally.slice(f"{field}={name}") for name in _names(tally, field)}
    return {
        name: {"n": part["items"], **_rates({rate: known[rate].measure(part) for rate in RATES})}
        for name, part in parts.items()
    }


def _rates(measures: Mapping[str, Measure]) -> dict[str, Any]:
    return {name: _shown(measures[name]) for name in RATES}


def _shown(measure: Measure) -> dict[str, Any]:
    interval = None if measure.interval is None else list(measure.interval)
    return {"count": measure.k, "n": measure.n, "rate": number(measure.value), "interval": interval}
