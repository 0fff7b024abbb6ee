"""MLflow: traces as JSON, as rows of search_traces, and evaluation datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..dialects import describe
from ..spans import ExpectedAnswer, Item, Score, Span
from ..values import first, given, loosened, mapping, nanoseconds, number, objects, sequence, text_of
from .otlp import error_of, events_of, status_of

KNOWN_VERSIONS = ("2", "3")


def matches(record: Mapping[str, object]) -> bool:
    return _trace(record) is not None


def matches_dataset(record: Mapping[str, object]) -> bool:
    return isinstance(record.get("inputs"), Mapping) and isinstance(record.get("expectations"), Mapping)


def version(record: Mapping[str, object]) -> str:
    info = mapping((_trace(record) or {}).get("info"))
    details = mapping(first(info, ("trace_metadata", "request_metadata")))
    return text_of(details.get("mlflow.trace_schema.version"))


def _trace(record: Mapping[str, object]) -> dict[str, object] | None:
    """The trace itself, or the one in the column `trace` of a table."""
    held = mapping(record.get("trace")) if isinstance(record.get("trace"), (str, Mapping)) else {}
    for candidate in (dict(record), held):
        if isinstance(candidate.get("info"), Mapping) and "spans" in mapping(candidate.get("data")):
            return candidate
    return None


def read(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield from _spans(_trace(record) or {}, where)


def read_dataset(records: Records) -> Iterator[Item]:
    for where, record in records:
        span = Span("", where, inputs=[record.get("inputs")], dataset="outputs" not in record)
        span.outputs = given(record.get("outputs"))
        span.meta = mapping(record.get("tags"))
        span.expected = _expectations(mapping(record.get("expectations")))
        yield span


def _spans(trace: Mapping[str, object], where: str) -> Iterator[Span]:
    info = mapping(trace.get("info"))
    name = text_of(first(info, ("trace_id", "request_id")))
    assessments = objects(info.get("assessments"))
    tags = {key: value for key, value in mapping(info.get("tags")).items() if not key.startswith("mlflow.")}
    for entry in objects(mapping(trace.get("data")).get("spans")):
        span = _span(entry, name, where)
        if not span.parent:
            span.meta = {**tags, **span.meta}
            span.scores = [score for part in assessments for score in _score(part)]
            span.expected = _expected(assessments)
        yield span


def _span(entry: Mapping[str, object], trace: str, where: str) -> Span:
    context = mapping(entry.get("context"))
    attributes = mapping(entry.get("attributes"))
    events = events_of(entry)
    span = Span(
        trace=trace,
        where=where,
        id=text_of(entry.get("span_id")) or text_of(context.get("span_id")),
        parent=text_of(first(entry, ("parent_span_id", "parent_id"))),
        name=text_of(entry.get("name")),
        start=nanoseconds(first(entry, ("start_time_unix_nano", "start_time"))),
        end=nanoseconds(first(entry, ("end_time_unix_nano", "end_time"))),
        error=error_of(status_of(entry), events),
    )
    describe(span, attributes, events)
    return span


def _score(assessment: Mapping[str, object]) -> Iterator[Score]:
    value = mapping(assessment.get("feedback")).get("value")
    source = text_of(mapping(assessment.get("source")).get("source_type"))
    kind = {"LLM_JUDGE": "LLM", "AI_JUDGE": "LLM"}.get(source, source)
    scored = value if isinstance(value, (bool, str)) else number(value)
    if scored is not None:
        yield Score(text_of(first(assessment, ("assessment_name", "name"))), scored, kind)


def _expected(assessments: list[Mapping[str, object]]) -> ExpectedAnswer | None:
    told: dict[str, object] = {}
    for part in assessments:
        expectation = mapping(part.get("expectation"))
        value = first(expectation, ("value",))
        if value is None:
            value = loosened(mapping(expectation.get("serialized_value")).get("value"))
        if value is not None:
            told[text_of(first(part, ("assessment_name", "name")))] = value
    return _expectations(told) if told else None


def _expectations(told: Mapping[str, object]) -> ExpectedAnswer:
    facts = [text for text in map(text_of, sequence(told.get("expected_facts"))) if text]
    cited = [
        text
        for text in map(text_of, sequence(first(told, ("retrieved_context", "expected_retrieved_context"))))
        if text
    ]
    return ExpectedAnswer(facts, cited, text_of(told.get("expected_response")), match="all" if len(facts) > 1 else "")
