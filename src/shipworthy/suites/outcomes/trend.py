"""The trend: the last week beside all weeks before."""

from __future__ import annotations

from ...core.decision import number
from ...core.evidence import Row
from ...core.metrics import Measure, Metric
from ...core.tally import Tally


def trend(tally: Tally, accept_rate: Metric) -> Row:
    """The last week's accept rate against all weeks before; it moved if the two intervals don't touch."""
    weeks = names_of(tally, "week")
    if len(weeks) < 2:
        return {"direction": "undefined", "why": "fewer than two weeks of data"}
    last, before = tally.slice(f"week={weeks[-1]}"), Tally()
    for week in weeks[:-1]:
        before += tally.slice(f"week={week}")
    now, then = accept_rate.measure(last), accept_rate.measure(before)
    assert now.value is not None and then.value is not None and now.interval and then.interval
    moved = now.interval[0] > then.interval[1] or now.interval[1] < then.interval[0]
    change = now.value - then.value
    return {
        "direction": "flat" if not moved else "up" if change > 0 else "down",
        "week": weeks[-1],
        "change": float(change),
        "last": shown(now),
        "before": shown(then),
    }


def names_of(tally: Tally, field: str) -> list[str]:
    """The values of a field by which rows are grouped."""
    return sorted(name.partition("=")[2] for name in tally.slices if name.startswith(f"{field}="))


def shown(measure: Measure) -> Row:
    interval = None if measure.interval is None else list(measure.interval)
    return {"count": measure.k, "n": measure.n, "rate": number(measure.value), "interval": interval}
