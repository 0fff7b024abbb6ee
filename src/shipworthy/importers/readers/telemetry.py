"""OpenTelemetry: spans and log records as OTLP JSON, as SDKs print them, and as Phoenix gives them back."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping

from ...text import visible
from ..container import Records
from ..dialects import below, describe, evaluation, event_content, kind_of
from ..spans import Item, Late, Score, Span
from ..values import column, first, last_line, mapping, nanoseconds, number, objects, text_of

# OTLP JSON

_SPAN_LISTS = ("resourceSpans", "resource_spans")
_LOG_LISTS = ("resourceLogs", "resource_logs")
KEYS = (*_SPAN_LISTS, *_LOG_LISTS)
_HEX = re.compile(r"(0x)?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})")


def matches_otlp(record: Mapping[str, object]) -> bool:
    return any(isinstance(record.get(key), list) for key in KEYS)


def read_otlp(records: Records) -> Iterator[Item]:
    for where, record in records:
        for entry in _entries(
            record, _SPAN_LISTS, ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"), "spans"
        ):
            yield _otlp_span(entry, where)
        for entry in _entries(record, _LOG_LISTS, ("scopeLogs", "scope_logs"), "logRecords", "log_records"):
            yield _log(entry, where)


def _entries(
    record: Mapping[str, object], outer: tuple[str, ...], scopes: tuple[str, ...], *inner: str
) -> Iterator[Mapping[str, object]]:
    for resource in objects(first(record, outer)):
        for scope in objects(first(resource, scopes)):
            yield from objects(first(scope, inner))


def _otlp_span(entry: Mapping[str, object], where: str) -> Span:
    events = events_of(entry)
    span = Span(
        trace=hex_id(first(entry, ("traceId", "trace_id"))),
        where=where,
        id=hex_id(first(entry, ("spanId", "span_id"))),
        parent=hex_id(first(entry, ("parentSpanId", "parent_span_id"))),
        name=text_of(entry.get("name")),
        start=nanoseconds(first(entry, ("startTimeUnixNano", "start_time_unix_nano"))),
        end=nanoseconds(first(entry, ("endTimeUnixNano", "end_time_unix_nano"))),
    )
    span.error = error_of(entry.get("status") if isinstance(entry.get("status"), Mapping) else {}, events)
    describe(span, attributes_of(entry), events)
    return span


def events_of(entry: Mapping[str, object]) -> list[tuple[str, dict[str, object]]]:
    """The events of a span: name and attributes."""
    return [(text_of(event.get("name")), attributes_of(event)) for event in objects(entry.get("events"))]


def status_of(entry: Mapping[str, object]) -> object:
    """The status of a span, also where it stands in two fields: Phoenix, MLflow before version 3."""
    told = {"code": entry.get("status_code"), "message": entry.get("status_message")}
    return entry["status"] if entry.get("status") is not None else told


def error_of(status: object, events: list[tuple[str, dict[str, object]]]) -> str:
    """The message of a failed span: of its status, else of the exception that it recorded."""
    code = text_of(first(status, ("code", "status_code"))) if isinstance(status, Mapping) else text_of(status)
    if code.upper() not in ("2", "ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR"):
        return ""
    message = text_of(first(status, ("message", "description"))) if isinstance(status, Mapping) else ""
    raised = [text_of(content.get("exception.message")) for name, content in events if name == "exception"]
    return last_line(message) or next(filter(None, raised), "") or "failed"


def _log(entry: Mapping[str, object], where: str) -> Item:
    content = attributes_of(entry)
    name = text_of(first(entry, ("eventName", "event_name"))) or text_of(content.get("event.name"))
    body = value_of(entry.get("body"))
    if isinstance(body, Mapping):
        content = {**content, **body}
    elif isinstance(body, str) and body:
        content = {**content, "content": body}
    received, said, scores = event_content(name, content)
    return Late(
        trace=hex_id(first(entry, ("traceId", "trace_id"))),
        where=where,
        span=hex_id(first(entry, ("spanId", "span_id"))),
        scores=scores,
        inputs=received,
        outputs=said,
        kind="llm" if received or said else "",
        time=nanoseconds(first(entry, ("timeUnixNano", "observedTimeUnixNano", "time_unix_nano"))),
    )


def hex_id(value: object) -> str:
    """An id in hexadecimal; protobuf's own JSON writes bytes in base64, consoles a 0x before them."""
    text = text_of(value)
    if match := _HEX.fullmatch(text):
        return match[2].lower()
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text
    return decoded.hex() if len(decoded) in (8, 16) else text


def attributes_of(entry: Mapping[str, object]) -> dict[str, object]:
    """Attributes as an object, from OTLP's list of keys and values or from a plain object."""
    listed = entry.get("attributes")
    if isinstance(listed, Mapping):
        return dict(listed)
    return {text_of(pair.get("key")): value_of(pair.get("value")) for pair in objects(listed)}


def value_of(value: object) -> object:
    """An OTLP value as a plain one."""
    if not isinstance(value, Mapping):
        return value
    if isinstance(array := first(value, ("arrayValue", "array_value")), Mapping):
        listed = array.get("values")
        return [value_of(part) for part in listed] if isinstance(listed, list) else []
    if isinstance(pairs := first(value, ("kvlistValue", "kvlist_value")), Mapping):
        return {text_of(pair.get("key")): value_of(pair.get("value")) for pair in objects(pairs.get("values"))}
    whole = number(first(value, ("intValue", "int_value")))
    if whole is not None:
        return int(whole)
    names = ("stringValue", "string_value", "boolValue", "bool_value", "doubleValue", "double_value", "bytesValue")
    return first(value, names)


# Spans as SDKs print them and as Phoenix gives them back: one object a span, attributes by name

_NESTED = ("input", "output", "llm", "retrieval", "reranker", "openinference", "gen_ai", "traceloop", "langfuse")
_CONTEXTS = ("context", "spanContext", "span_context")


def matches_sdk(record: Mapping[str, object]) -> bool:
    """The console exporters of the SDKs, Phoenix's client, and Phoenix's DataFrame with its dotted columns."""
    context = first(record, _CONTEXTS)
    nested = isinstance(context, Mapping) and first(context, ("trace_id", "traceId")) is not None
    return (nested and "attributes" in record) or ("context.trace_id" in record and "context.span_id" in record)


def matches_annotation(record: Mapping[str, object]) -> bool:
    return "span_id" in record and "annotator_kind" in record and "name" in record


def read_sdk(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield _sdk_span(_structured(record, where, records.shape == "table"), where)


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


def _sdk_span(record: Mapping[str, object], where: str) -> Span:
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
