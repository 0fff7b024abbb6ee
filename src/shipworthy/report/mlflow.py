"""MLflow: metrics, parameters and tags in the form of a batch, for `MlflowClient.log_batch`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from ..core.decision import Decision, number
from ..core.metrics import Measure
from ..text import visible
from . import views
from .otlp import nanoseconds

MOST_METRICS, MOST_PARAMS = 800, 100  # a batch has at most 1,000 entries, and 100 parameters
KEY, PARAM, TAG = 250, 500, 5000  # characters


def render(shown: views.Shown) -> str:
    """`{"metrics": […], "params": […], "tags": […]}`; gated metrics first, slices last where they are too many."""
    now, several = nanoseconds() // 10**6, len(views.decisions(shown)) > 1
    found: dict[str, float] = {"ships": float(shown.verdict == "SHIP")}
    for decision in views.decisions(shown):
        for name, value in _values(decision):
            found.setdefault(_key(f"{decision.suite}.{name}" if several else name), value)
    metrics = [{"key": key, "value": value, "timestamp": now, "step": 0} for key, value in found.items()]
    left = len(metrics) - MOST_METRICS
    tags = {"shipworthy.decision": shown.verdict} | dict(_tags(views.decisions(shown)))
    if left > 0:
        tags["shipworthy.left_out"] = f"{left} metrics"
    batch = {
        "metrics": metrics[:MOST_METRICS],
        "params": [{"key": key, "value": value} for key, value in _params(views.decisions(shown))][:MOST_PARAMS],
        "tags": [{"key": _key(key), "value": visible(text, TAG)} for key, text in tags.items()],
    }
    return json.dumps(batch, indent=1) + "\n"


def _values(decision: Decision) -> Iterator[tuple[str, float]]:
    gated = {outcome.gate.metric for outcome in decision.outcomes}
    ordered = sorted(decision.measures.items(), key=lambda pair: pair[0] not in gated)
    yield from _numbers("", ordered)
    for part, measures in decision.slices.items():
        yield from _numbers(f"/{part}", sorted(measures.items(), key=lambda pair: pair[0] not in gated))


def _numbers(part: str, measures: Iterable[tuple[str, Measure]]) -> Iterator[tuple[str, float]]:
    for name, measure in measures:
        value = number(measure.value)
        if value is not None:
            yield f"{name}{part}", float(value)


def _params(decisions: Iterable[Decision]) -> Iterator[tuple[str, str]]:
    for decision in decisions:
        for name, value in decision.options.items():
            if value not in (None, [], "", False):
                yield _key(f"{decision.suite}.{name}"), visible(_written(value), PARAM)


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _tags(decisions: Iterable[Decision]) -> Iterator[tuple[str, str]]:
    for decision in decisions:
        yield f"shipworthy.{decision.suite}.reasons", "; ".join(decision.reasons)
        for name, block in decision.inputs.items():
            yield f"shipworthy.{decision.suite}.{name}.sha256", str(block.get("sha256") or "")


def _key(name: str) -> str:
    """A name of the characters that MLflow takes: recall@5 is recall_at_5, type=table is type_table."""
    return re.sub(r"[^\w./ -]", "_", name.replace("@", "_at_"), flags=re.ASCII)[:KEY]
