"""OpenTelemetry: results as `gen_ai.evaluation.result` events, OTLP JSON of log records for any collector."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from .._version import __version__
from ..core.decision import Decision, number
from ..core.evidence import Row
from ..text import visible
from . import views
from .clock import nanoseconds

EVENT = "gen_ai.evaluation.result"
_INFO, _WARN = 9, 13  # severity numbers of OpenTelemetry


def render(shown: views.Shown) -> str:
    """One event for each decision, gate, metric and item."""
    now = str(nanoseconds())
    records = [_record(event, now) for decision in views.decisions(shown) for event in _events(decision)]
    scope = {"scope": {"name": "shipworthy", "version": __version__}, "logRecords": records}
    resource = {"attributes": _attributes({"service.name": "shipworthy"})}
    return json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}, indent=1) + "\n"


def _events(decision: Decision) -> Iterator[dict[str, object]]:
    suite = decision.suite
    yield _event(suite, suite, int(decision.ships), decision.verdict, "; ".join(decision.reasons))
    for outcome in decision.outcomes:
        words = {"shipworthy.gate": str(outcome.gate), "shipworthy.severity": outcome.gate.severity}
        yield _event(f"{suite}.gate", suite, int(outcome.holds), outcome.state, "") | words
    for name, measure in decision.measures.items():
        value = number(measure.value)
        if value is not None:
            yield _event(f"{suite}.{name}", suite, value, "", "") | {"shipworthy.n": measure.n}
    for item in decision.items:
        yield from _of_item(decision, item)


def _of_item(decision: Decision, item: Row) -> Iterator[dict[str, object]]:
    passes = decision.display.passes(item)
    about = {"shipworthy.qid": views.name_of(item)}
    why = str(item.get("reason") or "")
    yield _event(f"{decision.suite}.item", decision.suite, int(passes), "pass" if passes else "fail", why) | about
    for name in decision.options.get("custom_metrics", ()):
        value = item.get(name)
        if value is not None:
            label = ("pass" if value else "fail") if isinstance(value, bool) else ""
            yield _event(f"{decision.suite}.item.{name}", decision.suite, float(value), label, "") | about


def _event(name: str, suite: str, value: float, label: str, explanation: str) -> dict[str, object]:
    told = {"gen_ai.evaluation.score.label": label, "gen_ai.evaluation.explanation": explanation}
    return {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.value": float(value),
        **{key: text for key, text in told.items() if text},
        "shipworthy.suite": suite,
    }


def _record(event: Mapping[str, object], now: str) -> dict[str, object]:
    failed = event.get("gen_ai.evaluation.score.label") in ("fail", "FAIL", "NO-SHIP", "NO VERDICT", "NO-DATA")
    return {
        "timeUnixNano": now,
        "observedTimeUnixNano": now,
        "severityNumber": _WARN if failed else _INFO,
        "eventName": EVENT,
        "attributes": _attributes(event),
    }


def _attributes(values: Mapping[str, object]) -> list[dict[str, object]]:
    return [{"key": key, "value": _any_value(value)} for key, value in values.items()]


def _any_value(value: object) -> dict[str, object]:
    """A value as OTLP JSON has it: whole numbers are texts there."""
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": visible(str(value), 4000)}
