"""Outcomes: what people did with the answers against its bars, and the score of a report beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ... import stats
from ...core.decision import Display, number
from ...core.evidence import Row
from ...core.metrics import Measure, Metric, Words, decimal
from ...core.sources import Input
from ...core.suite import Explanation, Findings, InputSpec, Material, Sources, Suite
from ...core.tally import Tally
from ...text import plural
from .judge import Context, Options, card, judge, run_id_of, scores_of, stream_feedback
from .metrics import aliases, fact_names, facts, gates, metrics, wanted

if TYPE_CHECKING:
    from ..guard.results import Report


def read(sources: Sources, options: Options) -> Material:
    """Rows as a stream, and the scores of a report where there is one."""
    rows = Input()
    reads = {"outcomes": rows}
    report = _report(sources, reads)
    return Material(
        context=Context(options=options, scores=scores_of(report), run_id=run_id_of(report), joined="report" in reads),
        streams={"outcomes": stream_feedback(sources["outcomes"], rows)},
        reads=reads,
    )


def _report(sources: Sources, reads: dict[str, Input]) -> Report:
    source = sources.get("report")
    if source is None:
        return {}
    reads["report"] = Input(path="<report>")
    if isinstance(source, Mapping):
        return source
    from ..guard.results import load_reasoning_report

    return load_reasoning_report(source, reads["report"])


RATES = ("accept_rate", "action_rate", "useful_rate", "edited_rate")
REASONS = {
    "unaccepted": Words("mostly not accepted", "People accepted fewer than half of its answers."),
}
BANDS = 5  # of the calibration table


def explain(findings: Findings) -> Explanation:
    tally, context = findings.tally, findings.context
    return Explanation(
        counts={
            "samples": tally["items"],
            "rows": findings.material.reads["outcomes"].records,
            "repeated": tally["repeated"],
            "joined": tally["joined"],
        },
        diagnosis=diagnose(tally, findings.known, context.joined),
        offenders=findings.evidence.offenders(),
        sections=sections(tally, findings.known, context.joined),
        headline=headline(findings),
        warnings=remarks(tally),
        slices={},  # `weeks`, `by_model` and `by_preset` have them
    )


def remarks(tally: Tally) -> list[str]:
    if not (undated := tally["undated"]):
        return []
    return [f"{plural(undated, 'row')} without a timestamp: counted in every rate, but not by week or in the trend"]


def options_shown(context: Context) -> dict[str, object]:
    return {"require_useful": context.options.require_useful}


def headline(findings: Findings) -> dict[str, object]:
    tally = findings.tally
    return {
        "samples": tally["items"],
        "rows": findings.material.reads["outcomes"].records,
        "repeated_rows": tally["repeated"],
        "undated_rows": tally["undated"],
        "rates": _rates(findings.measures),
        "gates": [
            {"gate": str(one.gate), "value": number(one.measure.value), "n": one.measure.n, "holds": one.holds}
            for one in findings.outcomes
        ],
        "passed": findings.ships,
    }


# --- sections ---


def sections(tally: Tally, known: Mapping[str, Metric], joined: bool) -> dict[str, object]:
    """Everything by ISO week, by model and by preset, from the slices of the tally."""
    return {
        "weeks": [{"week": name, **group} for name, group in _groups(tally, known, "week").items()],
        "trend": trend(tally, known["accept_rate"]),
        "by_model": _groups(tally, known, "model"),
        "by_preset": _groups(tally, known, "preset"),
        "calibration": calibration(tally, known["auc"]) if joined else None,
    }


def calibration(tally: Tally, auc: Metric) -> dict[str, object]:
    """Scores of a report beside what people accepted."""
    area = auc.measure(tally).value
    return {
        "joined": tally["joined"],
        "not_joined": tally["items"] - tally["joined"],
        "auc": number(area),
        "says": foresight_in_words(area),
        "table": [band for band in (_band(tally, which) for which in range(BANDS)) if band],
    }


def _band(tally: Tally, band: int) -> dict[str, object] | None:
    """The mean score of a band beside its accept rate; None where no score is in it."""
    accepted, unaccepted = tally.values("score_accepted"), tally.values("score_unaccepted")
    inside = [score for score in {**accepted, **unaccepted} if min(BANDS - 1, max(0, int(score * BANDS))) == band]
    taken = sum(accepted.get(score, 0) for score in inside)
    among = taken + sum(unaccepted.get(score, 0) for score in inside)
    if not among:
        return None
    total = sum((s * (accepted.get(s, 0) + unaccepted.get(s, 0)) for s in inside), Fraction(0))
    rate = Measure("", "rate", Fraction(taken, among), among, taken, stats.wilson(taken, among))
    return {
        "from": band / BANDS,
        "to": (band + 1) / BANDS,
        "mean_score": float(total / among),
        "accept_rate": shown(rate),
    }


def _groups(tally: Tally, known: Mapping[str, Metric], field: str) -> dict[str, Row]:
    parts = {name: tally.slice(f"{field}={name}") for name in names_of(tally, field)}
    return {
        name: {"n": part["items"], **_rates({rate: known[rate].measure(part) for rate in RATES})}
        for name, part in parts.items()
    }


def _rates(measures: Mapping[str, Measure]) -> dict[str, object]:
    return {name: shown(measures[name]) for name in RATES}


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


# --- diagnosis: the trend, the last weeks, models that differ, and what the score foresees, in words ---

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


SUITE = Suite(
    name="outcomes",
    description="Did people accept the answers and act on them? By week, model and preset.",
    inputs=(
        InputSpec("outcomes", "Outcomes, one JSON object per line.", flags=("--input",), many=True),
        InputSpec("report", "Evaluation report: does its score predict what people accept?", False),
    ),
    options=Options,
    read=read,
    judge=judge,
    card=card,
    fact_names=fact_names,
    facts=facts,
    metrics=metrics,
    aliases=aliases,
    gates=gates,
    wanted=wanted,
    explain=explain,
    shown=options_shown,
    display=Display(reasons=REASONS, production=True),
)
