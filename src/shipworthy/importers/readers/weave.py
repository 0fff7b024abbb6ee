"""Weave: calls. They have no kinds; the assembler knows a retriever by its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..dialects import kind_of
from ..spans import Item, Score, Span
from ..values import loosened, mapping, nanoseconds, number, text_of


def matches(record: Mapping[str, object]) -> bool:
    return "op_name" in record and "started_at" in record


def read(records: Records) -> Iterator[Item]:
    for line, record in records:
        yield _span(record, f"{records.path}:{line}")


def _span(call: Mapping[str, object], where: str) -> Span:
    attributes, summary = mapping(call.get("attributes")), mapping(call.get("summary"))
    inputs, output = call.get("inputs"), call.get("output")
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
        outputs=[] if output is None else [output],
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
    weave = mapping(summary.get("weave"))
    entries = weave.get("feedback")
    for entry in entries if isinstance(entries, list) else ():
        payload = mapping(entry.get("payload")) if isinstance(entry, Mapping) else {}
        value = payload.get("output", payload.get("value"))
        name = text_of(entry.get("feedback_type")).rsplit(".", 1)[-1] if isinstance(entry, Mapping) else ""
        scored = value if isinstance(value, (bool, str)) else number(value)
        if name and scored is not None:
            yield Score(name, scored)
