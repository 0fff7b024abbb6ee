"""TruLens: the event table of its OpenTelemetry spans, and the table of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...text import visible
from ..container import Records
from ..dialects import describe
from ..spans import ExpectedAnswer, Item, Late, Score, Span
from ..values import column, first, given, mapping, nanoseconds, number, text_of
from .otlp import error_of, events_of

_OWN = "ai.observability."
_RECORD_KEYS = {"record_id", "input", "output", "app_id"}
_RECORD_NUMBERS = {
    "latency",
    "total_tokens",
    "total_cost",
    "eval_cost",
    "eval_cost_snowflake",
    "num_events",
    "ts",
    "sample_rate",
}


def matches(record: Mapping[str, object]) -> bool:
    lower = {key.casefold(): value for key, value in record.items()}
    held = lower.get("record_attributes")
    return _OWN in (held if isinstance(held, str) else " ".join(held) if isinstance(held, Mapping) else "")


def matches_records(record: Mapping[str, object]) -> bool:
    return set(record) >= _RECORD_KEYS


def read(records: Records) -> Iterator[Item]:
    hint = "Write the event table as JSON."
    for where, record in records:
        row = {
            key.casefold(): column(value, f"column {visible(key, 60)}", where, hint) for key, value in record.items()
        }
        attributes = mapping(row.get("record_attributes"))
        if text_of(attributes.get(f"{_OWN}span_type")) in ("eval", "eval_root"):
            yield from _judged(attributes, where)
        else:
            yield _span(row, attributes, where)


def _judged(attributes: Mapping[str, object], where: str) -> Iterator[Item]:
    """A span of a feedback function is no step of the run: it carries the score."""
    name = text_of(first(attributes, (f"{_OWN}eval_root.metric_name", f"{_OWN}eval.metric_name")))
    value = number(attributes.get(f"{_OWN}eval_root.score"))
    record = text_of(first(attributes, (f"{_OWN}eval.target_record_id", f"{_OWN}record_id")))
    if name and value is not None:
        kind = "LLM" if f"{_OWN}eval.llm_judge_name" in attributes else ""
        yield Late(record, where, scores=[Score(name, value, kind)])


def _span(row: Mapping[str, object], attributes: Mapping[str, object], where: str) -> Span:
    record, trace = mapping(row.get("record")), mapping(row.get("trace"))
    events = events_of(record)
    span = Span(
        trace=text_of(attributes.get(f"{_OWN}record_id")) or text_of(trace.get("trace_id")),
        where=where,
        id=text_of(trace.get("span_id")) or text_of(row.get("event_id")),
        parent=text_of(first(record, ("parent_span_id",))) or text_of(trace.get("parent_id")),
        name=text_of(record.get("name")),
        root=attributes.get(f"{_OWN}span_type") == "record_root",
        start=nanoseconds(row.get("start_timestamp")),
        end=nanoseconds(row.get("timestamp")),
        error=error_of({"code": record.get("status")}, events),
    )
    describe(span, attributes, events)
    if truth := text_of(attributes.get(f"{_OWN}record_root.ground_truth_output")):
        span.expected = ExpectedAnswer(reference=truth)
    return span


def read_records(records: Records) -> Iterator[Item]:
    """The table of records has no contexts: what was retrieved is not in it."""
    for where, record in records:
        span = Span("", where, inputs=given(record.get("input")), outputs=given(record.get("output")))
        span.names = [name for name in [text_of(record.get("input_id"))] if name]
        spent = number(record.get("latency"))
        span.e2e_ms = None if spent is None else spent * 1000
        span.cost = number(record.get("total_cost"))
        span.start = nanoseconds(record.get("ts"))
        span.scores = [
            Score(name, value)
            for name, value in record.items()
            if isinstance(value, float) and name not in _RECORD_NUMBERS and not name.endswith((" cost", "_cost"))
        ]
        yield span
