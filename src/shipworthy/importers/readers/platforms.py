"""Platforms for tracing: Langfuse, LangSmith (and LangChain), MLflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..container import Records
from ..dialects import describe, kind_of
from ..spans import ExpectedAnswer, Item, Late, Score, Span
from ..values import first, given, last_line, loosened, mapping, nanoseconds, number, objects, sequence, text_of
from .telemetry import error_of, events_of, status_of

# Langfuse: trace downloads, observations of the API and of blob exports, and scores

_TRACE = ("traceId", "trace_id")
_TYPES = {"SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}


def matches_langfuse(record: Mapping[str, object]) -> bool:
    trace = record.get("trace")
    download = isinstance(trace, Mapping) and isinstance(record.get("observations"), list)
    return download or _is_trace(record) or _is_observation(record) or _is_listing(record)


def matches_scores(record: Mapping[str, object]) -> bool:
    return _is_score(record) or any(_is_score(part) for part in _posted(record))


def _is_trace(record: Mapping[str, object]) -> bool:
    """A trace with its observations, or, as in a list of traces, with their ids or without them."""
    known = "projectId" in record or "project_id" in record or "htmlPath" in record
    whole = isinstance(record.get("observations"), list) or ("input" in record and "output" in record)
    return known and whole and "timestamp" in record and first(record, _TRACE) is None


def _is_observation(record: Mapping[str, object]) -> bool:
    kind = record.get("type")  # Opik, which is alike, writes its types in small letters
    return first(record, _TRACE) is not None and isinstance(kind, str) and kind in _TYPES


def _is_listing(record: Mapping[str, object]) -> bool:
    """An answer of the API: a page of observations or of traces."""
    data = record.get("data")
    page = data[0] if isinstance(data, list) and data else None
    return isinstance(page, Mapping) and (_is_observation(page) or _is_trace(page))


def _is_score(record: object) -> bool:
    if not isinstance(record, Mapping) or first(record, _TRACE) is None or "name" not in record:
        return False
    return first(record, ("value", "stringValue", "string_value")) is not None and "type" not in record


def _posted(record: Mapping[str, object]) -> list[object]:
    """The scores of an API answer, or of a request to the ingestion API."""
    listed = first(record, ("body", "batch", "data"))
    listed = listed if isinstance(listed, list) else []
    return [part.get("body", part) if isinstance(part, Mapping) else part for part in listed]


def read_langfuse(records: Records) -> Iterator[Item]:
    for where, record in records:
        for entry in objects(record["data"]) if _is_listing(record) else [record]:
            yield from [_observation(entry, where)] if _is_observation(entry) else _download(entry, where)


def read_scores(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield from (_late(entry, where) for entry in objects([record] if _is_score(record) else _posted(record)))


def _download(record: Mapping[str, object], where: str) -> Iterator[Item]:
    """A trace stands above its observations: what went in and came out of the whole run is said there."""
    trace = mapping(record.get("trace")) or dict(record)
    name = text_of(trace.get("id"))
    top = Span(name, where, f"trace:{name}", name=text_of(trace.get("name")), kind="chain", root=True)
    top.inputs, top.outputs = _given(trace, "input"), _given(trace, "output")
    top.meta = _metadata(trace)
    top.start = nanoseconds(trace.get("timestamp"))
    latency = number(trace.get("latency"))
    top.end = None if latency is None or top.start is None else top.start + round(latency * 1e9)
    observations = objects(record.get("observations"))
    known = {text_of(part.get("id")) for part in observations}
    for part in observations:
        span = _observation(part, where)
        span.parent = span.parent if span.parent in known else top.id
        top.error = top.error or (span.error if span.parent == top.id and not top.outputs else "")
        yield span
    yield top
    for score in [*objects(trace.get("scores")), *objects(record.get("scores") if "trace" in record else None)]:
        yield _late(score, where)


def _observation(entry: Mapping[str, object], where: str) -> Span:
    usage = mapping(first(entry, ("usageDetails", "usage_details", "usage")))
    costs = mapping(first(entry, ("costDetails", "cost_details")))
    failed = text_of(entry.get("level")).upper() == "ERROR"
    return Span(
        trace=text_of(first(entry, _TRACE)),
        where=where,
        id=text_of(entry.get("id")),
        parent=text_of(first(entry, ("parentObservationId", "parent_observation_id"))),
        name=text_of(entry.get("name")),
        kind=kind_of(entry.get("type")),
        root=first(entry, ("isRootObservation", "is_root_observation", "isAppRoot", "is_app_root")) is True,
        start=nanoseconds(first(entry, ("startTime", "start_time"))),
        end=nanoseconds(first(entry, ("endTime", "end_time"))),
        error=(text_of(first(entry, ("statusMessage", "status_message"))) or "failed") if failed else "",
        inputs=_given(entry, "input"),
        outputs=_given(entry, "output"),
        meta=_metadata(entry),
        model=text_of(first(entry, ("model", "providedModelName", "provided_model_name"))),
        tokens_in=number(first(usage, ("input", "promptTokens"))),
        tokens_out=number(first(usage, ("output", "completionTokens"))),
        cost=number(first(entry, ("totalCost", "total_cost")) or costs.get("total")),
    )


def _given(entry: Mapping[str, object], name: str) -> list[object]:
    value = loosened(entry.get(name))
    return [] if value is None or value == "" else [value]


def _metadata(entry: Mapping[str, object]) -> dict[str, object]:
    return {key: loosened(value) for key, value in mapping(entry.get("metadata")).items()}


def _late(entry: Mapping[str, object], where: str) -> Late:
    label = first(entry, ("stringValue", "string_value"))
    value = number(entry.get("value"))
    boolean = text_of(first(entry, ("dataType", "data_type"))) == "BOOLEAN" and value is not None
    scored = bool(value) if boolean else value if value is not None else label
    scored = entry.get("value") if scored is None and isinstance(entry.get("value"), (str, bool)) else scored
    kind = {"EVAL": "LLM", "ANNOTATION": "HUMAN", "API": "CODE"}.get(text_of(entry.get("source")), "")
    scores = [Score(text_of(entry.get("name")), scored, kind)] if isinstance(scored, (float, int, bool, str)) else []
    span = text_of(first(entry, ("observationId", "observation_id")))
    return Late(text_of(first(entry, _TRACE)), where, span, scores)


# LangSmith and LangChain: runs as they are listed, posted or collected


def matches_langsmith(record: Mapping[str, object]) -> bool:
    return "run_type" in record and ("inputs" in record or "outputs" in record or "trace_id" in record)


def matches_events(record: Mapping[str, object]) -> bool:
    return text_of(record.get("event")).startswith("on_") and "run_id" in record


def read_langsmith(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield from _langsmith_spans(record, where, "")


def _langsmith_spans(run: Mapping[str, object], where: str, trace: str) -> Iterator[Span]:
    """A run, and those that it holds where they are nested."""
    span = _langsmith_span(run, where, trace)
    yield span
    for child in objects(run.get("child_runs")):
        for below in _langsmith_spans(child, where, span.trace):
            below.parent = below.parent or span.id
            yield below


def _langsmith_span(run: Mapping[str, object], where: str, trace: str) -> Span:
    extra = mapping(run.get("extra"))
    outputs, inputs = run.get("outputs"), run.get("inputs")
    failed = text_of(run.get("error")) or ("failed" if run.get("status") == "error" else "")
    example = text_of(run.get("reference_example_id"))
    span = Span(
        trace=text_of(run.get("trace_id")) or trace or text_of(run.get("id")),
        where=where,
        id=text_of(run.get("id")),
        parent=text_of(run.get("parent_run_id")),
        name=text_of(run.get("name")),
        kind=kind_of(run.get("run_type")),
        start=nanoseconds(run.get("start_time")),
        end=nanoseconds(run.get("end_time")),
        error=last_line(failed),
        inputs=[inputs] if inputs else [],
        outputs=[outputs] if outputs else [],
        names=[example] if example else [],
        tokens_in=number(run.get("prompt_tokens")),
        tokens_out=number(run.get("completion_tokens")),
        cost=number(run.get("total_cost")),
        scores=list(_feedback(run)),
    )
    metadata = mapping(extra.get("metadata"))
    # Of the metadata only what the assembler asks for: it also holds environment variables of the machine.
    span.meta = {
        key: value for key, value in metadata.items() if not key.upper().startswith(("LANGSMITH_", "LANGCHAIN_"))
    }
    span.model = text_of(first(metadata, ("ls_model_name", "model_name")))
    return span


def _feedback(run: Mapping[str, object]) -> Iterator[Score]:
    for name, stats in mapping(run.get("feedback_stats")).items():
        value = number(stats.get("avg")) if isinstance(stats, Mapping) else None
        if value is not None:
            yield Score(name, value)


# MLflow: traces as JSON, as rows of search_traces, and evaluation datasets

MLFLOW_VERSIONS = ("2", "3")


def matches_mlflow(record: Mapping[str, object]) -> bool:
    return _trace(record) is not None


def matches_dataset(record: Mapping[str, object]) -> bool:
    return isinstance(record.get("inputs"), Mapping) and isinstance(record.get("expectations"), Mapping)


def version_mlflow(record: Mapping[str, object]) -> str:
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


def read_mlflow(records: Records) -> Iterator[Item]:
    for where, record in records:
        yield from _mlflow_spans(_trace(record) or {}, where)


def read_dataset(records: Records) -> Iterator[Item]:
    for where, record in records:
        span = Span("", where, inputs=[record.get("inputs")], dataset="outputs" not in record)
        span.outputs = given(record.get("outputs"))
        span.meta = mapping(record.get("tags"))
        span.expected = _expectations(mapping(record.get("expectations")))
        yield span


def _mlflow_spans(trace: Mapping[str, object], where: str) -> Iterator[Span]:
    info = mapping(trace.get("info"))
    name = text_of(first(info, ("trace_id", "request_id")))
    assessments = objects(info.get("assessments"))
    tags = {key: value for key, value in mapping(info.get("tags")).items() if not key.startswith("mlflow.")}
    for entry in objects(mapping(trace.get("data")).get("spans")):
        span = _mlflow_span(entry, name, where)
        if not span.parent:
            span.meta = {**tags, **span.meta}
            span.scores = [score for part in assessments for score in _score(part)]
            span.expected = _expected(assessments)
        yield span


def _mlflow_span(entry: Mapping[str, object], trace: str, where: str) -> Span:
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
