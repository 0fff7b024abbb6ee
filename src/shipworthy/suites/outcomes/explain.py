"""What a report says about outcomes: rates by week, model and preset, the trend, the prompts that people reject."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ... import stats
from ...core.decision import number
from ...core.evidence import Judged, Order, Row
from ...core.join import Case
from ...core.metrics import Measure, Metric, Words
from ...core.suite import Explanation, Findings
from ...core.tally import Tally
from ...text import plural
from .hints import diagnose, foresight_in_words
from .judge import Context, Verdict, verdict_on
from .metrics import counts_of
from .trend import names_of, shown, trend

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


# --- one row a prompt, and those that people reject ---


def judge(case: Case, context: Context) -> tuple[Judged]:
    """Of prompts whose answers people don't accept, those that are asked most often are the worst."""
    verdict = verdict_on(case, context)
    worst = (("", (verdict.accepted - len(verdict.rows), case.key)),) if verdict.reason else ()
    return (Judged(row(verdict), tuple(counts_of(verdict)), (case.key,), worst),)


def row(verdict: Verdict) -> Row:
    given = verdict.rows
    return {
        "qid": verdict.prompt_id,
        "n": len(given),
        "accepted": verdict.accepted,
        "acted": sum(one.acted for one in given),
        "edited": sum(bool(one.edited) for one in given),
        "useful": sum(bool(one.useful) for one in given),
        "score": number(verdict.score),
        "reason": verdict.reason,
    }


def card(case: Case, context: Context, kind: str, order: Order) -> Row:
    shown = row(verdict_on(case, context))
    return {
        "qid": shown["qid"],
        "reason": shown["reason"],
        "score": shown["score"],
        "says": "accepted {accepted} of {n}, acted on {acted}, edited {edited}".format_map(shown),
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
