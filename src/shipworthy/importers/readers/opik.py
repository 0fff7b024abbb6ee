"""Opik: traces and their spans, in one file or in two, and feedback scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..container import Records
from ..dialects import kind_of
from ..spans import Item, Late, Score, Span
from ..values import first, mapping, nanoseconds, number, objects, text_of


def matches(record: Mapping[str, object]) -> bool:
    trace = record.get("trace")
    export = isinstance(trace, Mapping) and isinstance(record.get("spans"), list) and "start_time" in trace
    return export or _is_trace(record) or _is_span(record)


def matches_scores(record: Mapping[str, object]) -> bool:
    return {"name", "value", "source", "id"} <= set(record) and "category_name" in record


def _is_trace(record: Mapping[str, object]) -> bool:
    known = "project_name" in record or "project_id" in record
    return (
        known and "start_time" in record and "input" in record and "trace_id" not in record and "run_type" not in record
    )


def _is_span(record: Mapping[str, object]) -> bool:
    known = "project_name" in record or "project_id" in record
    return known and "trace_id" in record and "type" in record and "start_time" in record and "op_name" not in record


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        if isinstance(record.get("trace"), Mapping):
            yield _trace(record["trace"], where)
            yield from (_span(part, where) for part in objects(record.get("spans")))
        else:
            yield _span(record, where) if "trace_id" in record else _trace(record, where)


def read_scores(records: Records) -> Iterator[Item]:
    for where, record in records:
        name = text_of(record.get("id"))
        yield Late(name, where, name, list(_scores([record])))


def _trace(trace: Mapping[str, object], where: str) -> Span:
    """A trace stands above its spans; it has an id of another kind than theirs."""
    span = _step(trace, where)
    span.trace, span.id, span.root = span.id, f"trace:{span.id}", True
    return span


def _span(entry: Mapping[str, object], where: str) -> Span:
    span = _step(entry, where)
    span.trace = text_of(entry.get("trace_id"))
    span.parent = text_of(entry.get("parent_span_id")) or f"trace:{span.trace}"
    span.kind = kind_of(entry.get("type")) if entry.get("type") != "general" else ""
    return span


def _step(entry: Mapping[str, object], where: str) -> Span:
    usage, failure = mapping(entry.get("usage")), mapping(entry.get("error_info"))
    given, gave = entry.get("input"), entry.get("output")
    return Span(
        trace="",
        where=where,
        id=text_of(entry.get("id")),
        name=text_of(entry.get("name")),
        start=nanoseconds(entry.get("start_time")),
        end=nanoseconds(entry.get("end_time")),
        error=(text_of(first(failure, ("message", "exception_type"))) or "failed") if failure else "",
        inputs=[given] if given else [],
        outputs=[gave] if gave else [],
        meta=mapping(entry.get("metadata")),
        model=text_of(entry.get("model")),
        tokens_in=number(usage.get("prompt_tokens")),
        tokens_out=number(usage.get("completion_tokens")),
        cost=number(first(entry, ("total_estimated_cost", "total_cost"))),
        scores=list(_scores(objects(entry.get("feedback_scores")))),
    )


def _scores(entries: Iterable[Mapping[str, object]]) -> Iterator[Score]:
    for entry in entries:
        if (value := number(entry.get("value"))) is not None:
            kind = {"ui": "HUMAN", "online_scoring": "LLM"}.get(text_of(entry.get("source")), "")
            yield Score(text_of(entry.get("name")), value, kind)
