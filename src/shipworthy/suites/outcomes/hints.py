"""Diagnosis: the trend, the last weeks, models that differ, and what the score foresees, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ...core.metrics import Metric, decimal
from ...core.tally import Tally
from .trend import names_of, trend

WEEKS = 6  # that are named
FORESEES, FORESEES_NOTHING = Fraction(75, 100), Fraction(6, 10)


def diagnose(tally: Tally, known: Mapping[str, Metric], joined: bool) -> list[str]:
    rate = known["accept_rate"]
    hints = _trend_in_words(tally, rate)
    for field in ("model", "preset"):
        if len(names := names_of(tally, field)) > 1:
            hints.append(f"Acceptance by {field}: {_listed(tally, rate, field, names)}.")
    if joined:
        area = known["auc"].measure(tally).value
        value = "undefined" if area is None else decimal(area)
        told = f"AUC {value} over {tally['joined']} outcomes: {foresight_in_words(area)}"
        hints.append(f"Does the score predict acceptance? {told}.")
    return hints


def _trend_in_words(tally: Tally, rate: Metric) -> list[str]:
    if len(weeks := names_of(tally, "week")) < 2:
        return []
    direction = {"up": "rose", "down": "fell", "flat": "did not change beyond noise"}[trend(tally, rate)["direction"]]
    return [f"The acceptance rate {direction} in the last week: {_listed(tally, rate, 'week', weeks[-WEEKS:])}."]


def _listed(tally: Tally, rate: Metric, field: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(f"{name} {rate.measure(tally.slice(f'{field}={name}'))}" for name in names[:8]) + more


def foresight_in_words(area: Fraction | None) -> str:
    if area is None:
        return "it needs accepted and rejected answers with a score"
    if area < FORESEES_NOTHING:
        return "the score does not predict what people accept, so don't gate on it"
    return "it predicts well" if area >= FORESEES else "it predicts a little"
