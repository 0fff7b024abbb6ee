"""Weave: calls. They have no kinds; the assembler knows a retriever by its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..dialects import kind_of
from ..spans import Item, Score, Span
from ..values import given, loosened, mapping, nanoseconds, number, objects, text_of


def matches(record: Mapping[str, object]) -> bool:
    return "op_name" in record and "started_at" in record


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield _span(record, where)


def _span(call: Mapping[str, object], where: str) -> Span:
    attributes, summary = mapping(call.get("attributes")), mapping(call.get("summary"))
    inputs = call.get("inputs")
    span = Span(
        trace=text_of(call.get("trace_id")),
        where=where,
        id=text_of(call.get("id")),
        parent=text_of(call.get("parent_id")),
        name=text_of(call.get("op_name")),
        kind=kind_of(attributes.get("kind")),
        start=nanoseconds(call.get("started_at")),
        end=nanoseconds(call.get("ended_at")),
        error=_failure(call.get("exception")),
        inputs=[inputs] if inputs else [],
        outputs=given(call.get("output")),
        meta={key: value for key, value in attributes.items() if key != "weave"},
        scores=list(_feedback(summary)),
    )
    for model, usage in mapping(summary.get("usage")).items():
        counts = mapping(usage)
        span.model = span.model or model
        span.tokens_in = number(counts.get("prompt_tokens") or counts.get("input_tokens"))
        span.tokens_out = number(counts.get("completion_tokens") or counts.get("output_tokens"))
    return span


def _failure(exception: object) -> str:
    told = loosened(exception)
    if isinstance(told, Mapping):
        return text_of(told.get("message")) or text_of(told.get("type")) or "failed"
    return text_of(told)


def _feedback(summary: Mapping[str, object]) -> Iterator[Score]:
    for entry in objects(mapping(summary.get("weave")).get("feedback")):
        payload = mapping(entry.get("payload"))
        value = payload.get("output", payload.get("value"))
        name = text_of(entry.get("feedback_type")).rsplit(".", 1)[-1]
        scored = value if isinstance(value, (bool, str)) else number(value)
        if name and scored is not None:
            yield Score(name, scored)
