"""OTLP JSON: spans and log records as OpenTelemetry's file exporter and collector write them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping

from ..container import Records
from ..dialects import describe, event_content
from ..spans import Item, Late, Span
from ..values import first, last_line, nanoseconds, number, objects, text_of

_SPAN_LISTS = ("resourceSpans", "resource_spans")
_LOG_LISTS = ("resourceLogs", "resource_logs")
KEYS = (*_SPAN_LISTS, *_LOG_LISTS)
_HEX = re.compile(r"(0x)?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})")


def matches(record: Mapping[str, object]) -> bool:
    return any(isinstance(record.get(key), list) for key in KEYS)


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        for entry in _entries(
            record, _SPAN_LISTS, ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"), "spans"
        ):
            yield _span(entry, where)
        for entry in _entries(record, _LOG_LISTS, ("scopeLogs", "scope_logs"), "logRecords", "log_records"):
            yield _log(entry, where)


def _entries(
    record: Mapping[str, object], outer: tuple[str, ...], scopes: tuple[str, ...], *inner: str
) -> Iterator[Mapping[str, object]]:
    for resource in objects(first(record, outer)):
        for scope in objects(first(resource, scopes)):
            yield from objects(first(scope, inner))


def _span(entry: Mapping[str, object], where: str) -> Span:
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
