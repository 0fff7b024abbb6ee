"""Spans as SDKs print them and as Phoenix gives them back: one object a span, attributes by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...text import visible
from ..container import Records
from ..dialects import below, describe, evaluation, kind_of
from ..spans import Item, Late, Score, Span
from ..values import column, first, mapping, nanoseconds, objects, text_of
from .otlp import attributes_of, error_of, events_of, hex_id, status_of

_NESTED = ("input", "output", "llm", "retrieval", "reranker", "openinference", "gen_ai", "traceloop", "langfuse")
_CONTEXTS = ("context", "spanContext", "span_context")


def matches(record: Mapping[str, object]) -> bool:
    """The console exporters of the SDKs, Phoenix's client, and Phoenix's DataFrame with its dotted columns."""
    context = first(record, _CONTEXTS)
    nested = isinstance(context, Mapping) and first(context, ("trace_id", "traceId")) is not None
    return (nested and "attributes" in record) or ("context.trace_id" in record and "context.span_id" in record)


def matches_annotation(record: Mapping[str, object]) -> bool:
    return "span_id" in record and "annotator_kind" in record and "name" in record


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield _span(_structured(record, where, records.shape == "table"), where)


def read_annotations(records: Records) -> Iterator[Item]:
    """Phoenix keeps annotations in a file of their own; they are joined by span."""
    for where, record in records:
        yield Late("", where, hex_id(record.get("span_id")), _scores([record]))


def _scores(annotations: list[Mapping[str, object]]) -> list[Score]:
    return [score for one in annotations for score in evaluation({**one, **mapping(one.get("result"))}, "", "score")]


def _structured(record: dict[str, object], where: str, in_table: bool) -> dict[str, object]:
    """A row of a DataFrame as a span; the lists in a CSV's cells are Python literals, if they can be read at all."""
    if "context.trace_id" not in record:
        return record
    cells, hint = dict(record), "Write the DataFrame with to_parquet or to_json."
    for name, value in record.items() if in_table else ():
        if not name.endswith((".value", "status_message")):
            cells[name] = column(value, f"column {visible(name, 60)}", where, hint)
    attributes = {name: value for name, value in below(cells, "attributes").items() if value is not None}
    return {**cells, "context": below(cells, "context"), "attributes": attributes}


def flattened(attributes: Mapping[str, object]) -> dict[str, object]:
    """Attributes by dotted names, also where a tool nests them: `{"input": {"value": …}}`."""
    flat: dict[str, object] = {}
    for name, value in attributes.items():
        if isinstance(value, Mapping) and name in _NESTED:
            flat |= {f"{name}.{below}": part for below, part in _below(value).items()}
        else:
            flat[name] = value
    return flat


def _below(value: Mapping[str, object]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, part in value.items():
        if isinstance(part, Mapping):
            flat |= {f"{name}.{below}": inner for below, inner in _below(part).items()}
        else:
            flat[name] = part
    return flat


def _span(record: Mapping[str, object], where: str) -> Span:
    context = mapping(first(record, _CONTEXTS))
    parent = mapping(first(record, ("parentSpanContext", "parent_span_context", "parent")))
    attributes = flattened(attributes_of(record))
    events = events_of(record)
    span = Span(
        trace=hex_id(first(context, ("trace_id", "traceId"))),
        where=where,
        id=hex_id(first(context, ("span_id", "spanId"))),
        parent=hex_id(first(record, ("parent_id", "parentSpanId", "parentId")) or first(parent, ("span_id", "spanId"))),
        name=text_of(record.get("name")),
        kind=kind_of(record.get("span_kind")),
        start=nanoseconds(first(record, ("start_time", "startTime"))),
        end=nanoseconds(first(record, ("end_time", "endTime"))),
        error=error_of(status_of(record), events),
    )
    describe(span, attributes, events)
    span.scores = [*span.scores, *_scores(objects(record.get("annotations")))]  # as they are pulled from Phoenix
    return span
